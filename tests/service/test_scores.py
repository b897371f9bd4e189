"""The service returns the scores of the library, for every kind of request."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pyarrow as pa
import pytest

from oddshot import FewShotDetector
from oddshot.data.tables.ipc import from_ipc
from oddshot.service.requests import ARROW
from oddshot.universal.shipped import load_universal
from tests.fleets import labels, mixed, numbers, small_model
from tests.service.samples import (
    NAMES,
    adapted,
    mixed_support,
    number_support,
    post_arrow,
    post_json,
    records,
    service,
    table,
)
from tests.web.servers import running

NEW = numbers(7, 30)


@pytest.fixture(scope="module")
def client():
    with running(service()) as url, httpx.Client(base_url=url, timeout=30) as one:
        yield one


@pytest.fixture(scope="module")
def expected():
    X = table(numbers(1, 12))
    return FewShotDetector(load_universal()).fit(X, labels(12))


def close(found, detector, X):
    np.testing.assert_allclose(found, detector.score_samples(X), rtol=1e-4, atol=1e-6)


def test_kinds_of_columns(client):
    kinds = {NAMES[0]: "ignore", NAMES[1]: "category"}
    by_json = post_json(client, "/v1/adapt", {**number_support(), "kinds": kinds}).json()
    assert by_json["dropped"] == {NAMES[0]: "ignored as asked"}
    assert by_json["columns"][NAMES[1]] == "category"
    rows = table(numbers(1, 12), label=labels(12))
    by_arrow = post_arrow(client, "/v1/adapt", rows, kinds=json.dumps(kinds)).json()
    assert by_arrow["id"] == by_json["id"]
    expected = FewShotDetector(columns=kinds).fit(table(numbers(1, 12)), labels(12))
    answer = post_json(client, "/v1/score", {"id": by_json["id"], "columns": NAMES, "rows": NEW.tolist()}).json()
    close(answer["scores"], expected, table(NEW))


def test_a_column_that_repeats_the_labels_is_noted(client):
    support = {"rows": records(mixed(2, 20).assign(fault=labels(20))), "labels": labels(20).tolist()}
    notes = post_json(client, "/v1/adapt", support).json()["notes"]
    assert any("column 'fault' repeats the labels of all" in note for note in notes)
    notes = post_json(client, "/v1/adapt", {**support, "kinds": {"fault": "ignore"}}).json()["notes"]
    assert not any("repeats" in note for note in notes)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ([], "kinds is not an object"),
        ({"x": "number"}, "support: no column 'x'"),
        ({NAMES[0]: "key"}, "kind 'key'; kinds are number"),
        ({NAMES[0]: "interval"}, "column 'a': the kind interval needs the row before; send the difference"),
        ({NAMES[0]: None}, "kind 'None'; kinds are number"),
    ],
)
def test_wrong_kinds(client, kinds, message):
    answer = post_json(client, "/v1/adapt", {**number_support(), "kinds": kinds})
    assert answer.status_code == 422
    assert message in answer.json()["error"]


def test_by_id_in_order_and_by_name(client, expected):
    name = adapted(client)
    for content in (
        {"columns": NAMES, "rows": NEW.tolist()},
        {"columns": NAMES[::-1], "rows": NEW[:, ::-1].tolist()},
        {"rows": [dict(zip(NAMES, row, strict=True)) for row in NEW.tolist()]},
    ):
        answer = post_json(client, "/v1/score", {"id": name, **content}).json()
        close(answer["scores"], expected, table(NEW))
        assert answer["threshold"] == pytest.approx(expected.threshold_)
        assert answer["anomalies"] == expected.predict(table(NEW)).tolist()
        p = expected.task_.decision.probability(np.array(answer["scores"]))
        assert answer["probabilities"] == (None if p is None else pytest.approx(p.tolist()))


def test_support_inline(client, expected):
    content = {"support": number_support(), "columns": NAMES, "rows": NEW.tolist()}
    close(post_json(client, "/v1/score", content).json()["scores"], expected, table(NEW))


def test_the_same_support_has_the_same_id(client):
    first, again = adapted(client), adapted(client)
    other = adapted(client, {**number_support(), "labels": [0, *number_support()["labels"][1:]]})
    assert first == again != other
    by_name = {
        "rows": [dict(zip(NAMES, row, strict=True)) for row in number_support()["rows"]],
        "labels": number_support()["labels"],
    }
    assert adapted(client, by_name) == first
    arrow = post_arrow(client, "/v1/adapt", table(numbers(1, 12), fault=labels(12)), label="fault").json()
    assert arrow["id"] == first


@pytest.mark.parametrize("n", [1, 30, 300, 5000])
def test_arrow_in_arrow_out(client, expected, n):
    name, X = adapted(client), numbers(5, n)
    answer = post_arrow(client, "/v1/score", table(X), accept=ARROW, id=name)
    assert answer.headers["content-type"] == ARROW
    found = from_ipc(answer.content)
    assert found.schema == pa.schema([("score", pa.float64()), ("probability", pa.float64()), ("anomaly", pa.int8())])
    close(found["score"].to_numpy(), expected, table(X))
    as_json = post_arrow(client, "/v1/score", table(X), id=name).json()
    np.testing.assert_allclose(as_json["scores"], found["score"].to_numpy(), rtol=1e-6)


def test_arrow_with_the_labels_of_some_rows(client):
    X, y = numbers(3, 40), labels(40)
    some = np.where(np.arange(40) < 10, y, -1).astype(np.int8)
    detector = FewShotDetector(load_universal()).fit(table(X), some)
    answer = post_arrow(client, "/v1/score", table(X, fault=some), label="fault").json()
    close(answer["scores"], detector, table(X))
    text = pa.array(["1", "0", ""] + [None] * 37)
    answer = post_arrow(client, "/v1/score", table(X, fault=text), label="fault").json()
    close(answer["scores"], FewShotDetector(load_universal()).fit(table(X), [1, 0] + [-1] * 38), table(X))


def test_columns_of_every_kind(client):
    support = mixed_support()
    name = adapted(client, support)
    new = records(mixed(6, 10))
    answer = post_json(client, "/v1/score", {"id": name, "rows": new}).json()
    as_table = pa.table({name: [row[name] for row in support["rows"]] for name in support["rows"][0]})
    detector = FewShotDetector(load_universal()).fit(as_table, support["labels"])
    close(answer["scores"], detector, pa.table({name: [row[name] for row in new] for name in new[0]}))


def test_missing_values_in_json_and_arrow(client, expected):
    name, X = adapted(client), NEW.copy()
    X[3, 1] = np.nan
    rows = [[None if np.isnan(cell) else cell for cell in row] for row in X.tolist()]
    found = post_json(client, "/v1/score", {"id": name, "columns": NAMES, "rows": rows}).json()["scores"]
    close(found, expected, table(X))
    np.testing.assert_allclose(post_arrow(client, "/v1/score", table(X), id=name).json()["scores"], found, rtol=1e-4)
    nulls = pa.table({key: pa.array(X[:, j], from_pandas=True) for j, key in enumerate(NAMES)})
    np.testing.assert_allclose(post_arrow(client, "/v1/score", nulls, id=name).json()["scores"], found, rtol=1e-4)


def test_many_clients_at_once_get_their_own_scores(client, expected):
    name, X = adapted(client), numbers(11, 400)
    library = expected.score_samples(table(X))

    def ask(part):
        content = {"id": name, "columns": NAMES, "rows": X[part].tolist()}
        return post_json(client, "/v1/score", content).json()["scores"]

    parts = [slice(k, k + 1 + k % 40) for k in range(0, 360, 3)]
    with ThreadPoolExecutor(16) as pool:
        for part, found in zip(parts, pool.map(ask, parts), strict=True):
            np.testing.assert_allclose(found, library[part], rtol=1e-4, atol=1e-6)
    lines = client.get("/metrics").text.splitlines()
    calls = next(int(line.split()[1]) for line in lines if line.startswith("oddshot_scoring_calls_total"))
    requests = sum(int(line.split()[1]) for line in lines if 'requests_total{route="/v1/score"' in line)
    assert calls < requests  # some were scored together


def test_the_false_positive_rate_sets_the_threshold():
    model = small_model()
    assert model.calibration is not None
    X = numbers(1, 20)
    support = {"columns": ["x0", "x1", "x2"], "rows": X.tolist(), "labels": labels(20).tolist()}
    with running(service(model)) as url, httpx.Client(base_url=url) as one:
        strict = post_json(one, "/v1/adapt", {**support, "false_positive_rate": 0.001}).json()
        loose = post_json(one, "/v1/adapt", {**support, "false_positive_rate": 0.5}).json()
        frame = pa.table({f"x{j}": X[:, j] for j in range(3)})
        for summary, rate in ((strict, 0.001), (loose, 0.5)):
            expected = FewShotDetector(model, rate).fit(frame, labels(20)).threshold_
            assert summary["threshold"] == pytest.approx(expected)
        assert strict["threshold"] > loose["threshold"]
        assert (strict["false_positive_rate"], strict["calibrated"]) == (0.001, True)
        content = {"id": loose["id"], "columns": ["x0", "x1", "x2"], "rows": X.tolist()}
        answer = post_json(one, "/v1/score", content).json()
        probabilities = FewShotDetector(model, 0.5).fit(frame, labels(20)).predict_proba(frame)[:, 1]
        np.testing.assert_allclose(answer["probabilities"], probabilities, rtol=1e-3)


def test_warnings_of_the_library_become_notes(client):
    rows = numbers(1, 2).tolist()
    few = {"columns": NAMES, "rows": [*rows, rows[0]], "labels": [0, 1, 1]}
    notes = post_json(client, "/v1/adapt", few).json()["notes"]
    assert notes[0].startswith("rows 1, 3 are the same and labelled both normal and anomalous")
    assert notes[1].startswith("one normal row is too few for a threshold")


def test_labels_the_wrong_way_round_are_noted(client):
    support = {"columns": NAMES, "rows": numbers(1, 16).tolist(), "labels": [1] * 12 + [0] * 4}
    notes = post_json(client, "/v1/adapt", support).json()["notes"]
    assert any("are the labels the wrong way round?" in note for note in notes)


def test_columns_that_have_moved_are_noted(client):
    detector_id, moved = adapted(client), numbers(7, 40)
    still = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": moved.tolist()})
    assert still.json()["notes"] == []
    moved[:30, 1] += 100
    answer = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": moved.tolist()})
    (note,) = answer.json()["notes"]
    assert note.startswith("column 'b': 30 of 40 rows to score lie beyond the rows that were labelled or given")
    by_arrow = post_arrow(client, "/v1/score", table(moved), accept=ARROW, id=detector_id)
    assert json.loads(from_ipc(by_arrow.content).schema.metadata[b"notes"]) == [note]
    many = post_arrow(client, "/v1/score", table(np.tile(moved, (100, 1))), id=detector_id)  # scored in a thread
    assert many.json()["notes"] == [note.replace("30 of 40", "3,000 of 4,000")]


def test_a_threshold_that_finds_nothing_is_noted(client):
    rng = np.random.default_rng(2)
    support = {"rows": rng.normal(size=(3, 10)).tolist(), "columns": list("abcdefghij"), "labels": [0, 0, 0]}
    rows = {"columns": list("abcdefghij"), "rows": rng.normal(size=(400, 10)).tolist()}
    answer = post_json(client, "/v1/score", {"support": support, **rows}).json()
    assert sum(answer["anomalies"]) == 0
    assert answer["notes"][-1].startswith("none of 400 rows is called an anomaly, where a false-positive rate of 5 %")


def test_infinite_cells_are_missing_and_noted(client):
    detector_id, rows, gaps = adapted(client), numbers(7, 5), numbers(7, 5).tolist()
    rows[2, 1], gaps[2][1] = np.inf, None
    by_arrow = post_arrow(client, "/v1/score", table(rows), id=detector_id).json()
    by_json = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": gaps}).json()
    assert by_arrow["notes"] == ["row 3, column 'b': inf is infinite and taken as missing"]
    assert by_json["scores"] == by_arrow["scores"]
    assert by_json["notes"] == [
        "column 'b' (1 of 5 rows) has gaps in the rows to score, but none in the rows that were learned from; a gap is "
        "scored as an average value"
    ]


def test_bad_cells_are_missing_and_noted_and_too_many_are_refused(client):
    detector_id, rows, gaps = adapted(client), numbers(7, 40).tolist(), numbers(7, 40).tolist()
    rows[2][1], rows[9][1] = "error", "n.d."
    gaps[2][1] = gaps[9][1] = None
    answer = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": rows})
    assert answer.json()["notes"] == [
        "row 3, column 'b': 'error' is not a number and taken as missing (also row 10: 'n.d.')"
    ]
    same = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": gaps})
    assert answer.json()["scores"] == same.json()["scores"]
    gaps[2][1], gaps[9][1] = 1e19, 0.5
    answer = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": gaps})
    assert answer.json()["notes"] == ["row 3, column 'b': 1e+19 is too large (beyond ±1e18) and taken as missing"]
    answer = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": rows[:10]})
    assert answer.status_code == 422
    assert answer.json()["error"] == (
        "rows: row 3, column 'b': 'error' is not a number; 2 of 10 cells of this column cannot be read, and at most "
        "5 % may be taken as missing"
    )


def test_null_among_the_values_of_a_dictionary_is_a_missing_value(client):
    codes = pa.array([0, 1, 2, 0, 1] * 4, pa.int8())
    names, label = ["on", None, "off"], [0] * 6 + [1] + [None] * 13
    tables = [
        pa.table({"a": np.arange(20.0) % 7, "mode": mode, "label": label})
        for mode in (
            pa.DictionaryArray.from_arrays(codes, pa.array(names)),
            [names[code] for code in codes.to_pylist()],
        )
    ]
    answers = [post_arrow(client, "/v1/score", one, label="label") for one in tables]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["scores"] == answers[1].json()["scores"]


def test_unused_columns_are_named_and_ignored(client):
    support = {"rows": [{"a": 1.0, "b": None}, {"a": 2.0, "b": None}, {"a": 9.0, "b": None}], "labels": [0, 0, 1]}
    summary = post_json(client, "/v1/adapt", support).json()
    assert list(summary["dropped"]) == ["b"]
    detector = FewShotDetector(load_universal()).fit(pa.table({"a": [1.0, 2.0, 9.0]}), [0, 0, 1])
    for row in ({"a": 1.0}, {"a": 1.0, "b": "anything"}, {"b": 3, "a": 1.0}):
        answer = post_json(client, "/v1/score", {"id": summary["id"], "rows": [row]}).json()
        close(answer["scores"], detector, pa.table({"a": [1.0]}))


@pytest.mark.parametrize("limit", [0.0, 1e9])
def test_scores_are_the_same_in_the_event_loop_and_in_a_thread(expected, monkeypatch, limit):
    monkeypatch.setattr("oddshot.service.batching.MAX_EVENT_LOOP_SECONDS", limit)
    X = numbers(11, 400)
    library = expected.score_samples(table(X))
    with running(service()) as url, httpx.Client(base_url=url, timeout=30) as one:
        name = adapted(one)
        parts = [slice(k, k + 1 + k % 40) for k in range(0, 360, 9)]

        def ask(part):
            return post_arrow(one, "/v1/score", table(X[part]), id=name).json()["scores"]

        with ThreadPoolExecutor(8) as pool:
            for part, found in zip(parts, pool.map(ask, parts), strict=True):
                np.testing.assert_allclose(found, library[part], rtol=1e-4, atol=1e-6)
