import numpy as np
import pyarrow as pa

from oddshot.adapted.result import ScoredRows

SCORES, PROBABILITIES = np.array([0.5, 2.0, 3.0]), np.array([0.1, 0.5, 0.9])


def test_rows_above_the_threshold_are_anomalies():
    rows = ScoredRows.at_threshold(SCORES, PROBABILITIES, 2.0)
    assert rows.anomalies.tolist() == [0, 0, 1]
    assert rows.anomalies.dtype == np.int8
    assert (len(rows), rows.n_anomalies) == (3, 1)
    assert ScoredRows.at_threshold(SCORES, PROBABILITIES, 0.0).n_anomalies == 3


def test_without_a_threshold_nothing_is_decided():
    rows = ScoredRows.at_threshold(SCORES, None, None)
    assert rows.anomalies is None
    assert rows.n_anomalies == 0


def test_a_table_has_the_same_columns_whatever_is_known():
    schema = pa.schema([("score", pa.float64()), ("probability", pa.float64()), ("anomaly", pa.int8())])
    full = ScoredRows.at_threshold(SCORES, PROBABILITIES, 1.0).to_table()
    assert full.schema == schema
    assert full.to_pydict() == {"score": [0.5, 2.0, 3.0], "probability": [0.1, 0.5, 0.9], "anomaly": [0, 1, 1]}
    bare = ScoredRows.at_threshold(SCORES, None, None).to_table()
    assert bare.schema == schema
    assert bare.to_pydict() == {"score": [0.5, 2.0, 3.0], "probability": [None] * 3, "anomaly": [None] * 3}


def test_lists_for_json():
    full = ScoredRows.at_threshold(SCORES, PROBABILITIES, 1.0).to_lists()
    assert full == {"scores": [0.5, 2.0, 3.0], "probabilities": [0.1, 0.5, 0.9], "anomalies": [0, 1, 1]}
    assert {type(value) for value in full["anomalies"]} == {int}
    bare = ScoredRows.at_threshold(SCORES, None, None).to_lists()
    assert bare == {"scores": [0.5, 2.0, 3.0], "probabilities": None, "anomalies": None}
