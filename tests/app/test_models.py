"""The app with models that a user trained: columns of their own, probabilities, methods that need an anomaly."""

import dataclasses
import io
import warnings

import numpy as np
import pandas as pd
import pytest

from oddshot import load_detector
from oddshot.universal.shipped import load_universal
from tests.app.samples import as_csv, client_of, two_kinds, upload
from tests.fleets import labels, mixed, small_model


def label_some(client, n=10):
    for row, label in enumerate(labels(n)[:-1].tolist()):
        state = client.post("/api/this/label", json={"row": row, "label": ["normal", "anomaly"][label]}).json()
    return state


@pytest.mark.parametrize("method", ["eigen", "relative", "lr"])
def test_a_trained_model_ranks_with_probability_and_rate(method, tmp_path):
    client = client_of(small_model(method, mixed))
    data = mixed(9).to_csv(index=False).encode()
    kinds = {column["name"]: column["kind"] for column in upload(client, data)["table"]["columns"]}
    assert kinds == {
        "temperature": "number", "speed": "number", "mode": "category", "door": "boolean", "seen": "date",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fleet is small: such a task may be unknown
        state = label_some(client)
    rows = client.get("/api/this/rows").json()["rows"]
    (tmp_path / "d").write_bytes(client.get("/api/this/export/detector.safetensors").content)
    table = pd.read_csv(io.BytesIO(data)).iloc[[row["row"] for row in rows]]
    expected = load_detector(tmp_path / "d").predict_proba(table)[:, 1]
    np.testing.assert_allclose([row["probability"] for row in rows], expected, rtol=1e-3, atol=1e-6)
    assert 0.001 <= state["threshold"]["false_alarms"] <= 0.5
    rates = [
        client.post("/api/this/threshold", json={"value": row["score"]}).json()["threshold"]["false_alarms"]
        for row in rows
    ]
    assert (np.diff(rates) >= 0).all()
    points = client.get("/api/this/axis").json()
    assert (len(points["rows"]) == 0) == (method == "lr")  # which projects nothing
    assert client.get("/api/this/export/report.html").status_code == 200
    assert client.get("/api/this/explain?rows=11").json()["columns"] == list(kinds)


def test_a_table_with_a_bad_cell_opens_with_a_notice():
    client = client_of(small_model("eigen", mixed))
    table = pd.concat([mixed(9), mixed(8)], ignore_index=True).astype({"speed": object})
    table.loc[4, "speed"] = "fast"
    state = upload(client, table.to_csv(index=False).encode())
    assert any(
        "row 5, column 'speed': 'fast' is not a number and taken as missing" in text
        for text in state["table"]["notices"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        label_some(client)
    assert "fast" in client.get("/api/this/row/4").text
    assert client.get("/api/this/explain?rows=4").status_code == 200
    assert client.get("/api/this/export/report.html").status_code == 200


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.01, 0.45, 0.9, 1.0])
def test_the_exported_detector_flags_the_rows_that_the_page_flags(tmp_path, share):
    """Also those that the detector was fitted on."""
    client = client_of(load_universal())
    X, _ = two_kinds(10_000)
    upload(client, as_csv(X))
    label_some(client)
    scores = np.sort(pd.read_csv(io.BytesIO(client.get("/api/this/export/scores.csv").content))["score"])[::-1]
    edges = np.concatenate([[scores[0] + 1], scores, [scores[-1] - 1]])
    n_above = round(share * 10_000)
    value = edges[n_above : n_above + 2].mean()
    state = client.post("/api/this/threshold", json={"value": value}).json()["threshold"]
    assert state["above"] == n_above
    exported = pd.read_csv(io.BytesIO(client.get("/api/this/export/scores.csv").content))
    (tmp_path / "d").write_bytes(client.get("/api/this/export/detector.safetensors").content)
    detector = load_detector(tmp_path / "d")
    assert detector.threshold_ == pytest.approx(value, rel=1e-4)
    np.testing.assert_array_equal(detector.predict(pd.read_csv(io.BytesIO(as_csv(X)))), exported["anomaly"])


def test_a_threshold_at_the_score_of_a_row_is_exported_clear_of_it(tmp_path):
    """The detector may score the row in another batch, with another rounding of the last digit."""
    client = client_of(load_universal())
    X, _ = two_kinds()
    upload(client, as_csv(X))
    label_some(client)
    rows = client.get("/api/this/rows?limit=200").json()["rows"]
    table = pd.read_csv(io.BytesIO(as_csv(X)))
    for n_above in (0, 1, 50, 199):
        client.post("/api/this/threshold", json={"value": rows[n_above]["score"]})
        (tmp_path / "d").write_bytes(client.get("/api/this/export/detector.safetensors").content)
        detector = load_detector(tmp_path / "d")
        assert detector.threshold_ > rows[n_above]["score"]
        assert np.flatnonzero(detector.predict(table)).tolist() == sorted(row["row"] for row in rows[:n_above])


def test_the_threshold_of_a_model_without_calibration_is_exported(tmp_path):
    client = client_of(dataclasses.replace(load_universal(), calibration=None))
    X, _ = two_kinds()
    upload(client, as_csv(X))
    label_some(client)
    client.post("/api/this/threshold", json={"value": -0.25})
    (tmp_path / "d").write_bytes(client.get("/api/this/export/detector.safetensors").content)
    assert load_detector(tmp_path / "d").threshold_ == pytest.approx(-0.25, abs=1e-3)


def test_a_method_that_needs_an_anomaly_says_so():
    client = client_of(small_model("eigen", mixed))
    upload(client, mixed(9).to_csv(index=False).encode())
    for row in (1, 2):
        state = client.post("/api/this/label", json={"row": row, "label": "normal"}).json()
    assert state["adapted"] is False
    assert "needs at least one labelled anomaly" in state["notice"]


def test_other_columns_than_the_model_knows():
    client = client_of(small_model("eigen", mixed))
    answer = client.put("/api/tables?name=t.csv", content=mixed(9).drop(columns="mode").to_csv(index=False).encode())
    assert answer.status_code == 422
    assert answer.json()["error"] == "t.csv: column 'mode' is missing"
    more = mixed(9).assign(remark="x").to_csv(index=False).encode()
    table = upload(client, more)["table"]
    assert table["columns"][-1]["note"] == "unknown to the model"
    assert "remark" in table["notices"][0]


def test_a_number_column_that_holds_text_elsewhere_is_read_from_all_rows():
    """A sample of the rows would call this column a number and then fail on the rest."""
    client = client_of(load_universal())
    cells = [str(k % 9) for k in range(2000)]
    cells[1234] = "broken"
    table = pd.DataFrame({"a": cells, "b": np.sin(np.arange(2000.0))})
    state = upload(client, table.to_csv(index=False).encode())
    assert [column["kind"] for column in state["table"]["columns"]] == ["category", "number"]
    assert "row 1235" in state["table"]["notices"][0]
    assert label_some(client)["adapted"]
