"""The routes of the learning loop, of time and of groups."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from oddshot.app.learning import second_detector
from oddshot.storage import model_file
from oddshot.universal.shipped import load_universal
from tests.app.samples import as_csv, make_client, two_kinds, upload
from tests.app.test_routes import refused


def frame(n=300, seed=0):
    """Machines with two kinds of normal rows; for a tenth of the time their rows lie between the two."""
    rng, y = np.random.default_rng(seed), np.zeros(n, np.int8)
    y[n // 2 : n // 2 + n // 10] = 1
    X = 0.6 * rng.normal(size=(n, 5))
    X[y == 0, :2] += rng.choice([-3.0, 3.0], (n - y.sum(), 1))
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    table.insert(0, "time", pd.date_range("2024-03-01", periods=n, freq="h"))
    table["machine"] = np.where(np.arange(n) % 3 == 0, "press", np.where(np.arange(n) % 3 == 1, "saw", "lathe"))
    return table, y


@pytest.fixture
def client():
    client = make_client()
    table, y = frame()
    upload(client, table.to_csv(index=False).encode(), "machines.csv")
    client.y = y
    return client


def label(client, row, name=None):
    name = name or ["normal", "anomaly"][client.y[row]]
    answer = client.post("/api/this/label", json={"row": int(row), "label": name})
    assert answer.status_code == 200
    return answer.json()


@pytest.fixture
def labelled(client):
    for row in [*np.flatnonzero(client.y == 0)[:50:10], *np.flatnonzero(client.y == 1)[:3]]:
        label(client, row)
    return client


def test_a_label_says_what_it_changed(client):
    assert client.get("/api/this/change").json()["change"] is None
    label(client, 0)
    label(client, 10)
    change = client.get("/api/this/change").json()["change"]
    assert change["flagged"]["added"] is None  # the first detector
    state = label(client, int(np.flatnonzero(client.y)[0]))
    answer = client.get("/api/this/change").json()
    assert answer["turn"] == state["turn"]
    assert answer["change"]["flagged"]["now"] == state["threshold"]["above"]
    assert answer["change"]["rose"]
    labelled = set(map(int, state["labels"]["rows"]))
    assert not labelled & {row["row"] for row in (*answer["change"]["rose"], *answer["change"]["fell"])}


def test_the_change_is_that_of_the_label_and_not_of_the_rows_scored_later():
    client = make_client()
    X, client.y = two_kinds(12_000)
    upload(client, as_csv(X.round(3)))
    for row in range(4):
        label(client, row)
    client.app.state.workspace.sessions[0].wait_until_scored()
    label(client, 5)
    first = client.get("/api/this/change").json()
    client.app.state.workspace.sessions[0].wait_until_scored()
    last = client.get("/api/this/change").json()
    assert first["change"]["compared"] <= last["change"]["compared"] == 12_000
    assert last["change"]["flagged"]["added"] is not None


def test_certainty(client, labelled):
    found = labelled.get("/api/this/certainty").json()
    assert found["pairs"] == 15
    assert 0 < found["low"] <= found["auc"] <= found["high"] <= 1
    label(labelled, int(np.flatnonzero(client.y == 0)[0]), "anomaly")
    assert "1 more normal row" in labelled.get("/api/this/certainty").json()["missing"]


def test_the_queue_changes_with_labels(labelled):
    rows = labelled.get("/api/this/queue").json()["rows"]
    assert len(set(rows)) == 10
    for row in rows:
        label(labelled, row)
    assert not set(rows) & set(labelled.get("/api/this/queue").json()["rows"])


def test_simple_methods(client, labelled):
    assert labelled.get("/api/this/simple-methods").json() is None
    labelled.post("/api/this/simple-methods")
    labelled.app.state.workspace.sessions[0].current.simple_methods.wait()
    found = labelled.get("/api/this/simple-methods").json()
    assert len(found["methods"]) == 5
    assert not found["outdated"]
    label(labelled, 200)
    assert labelled.get("/api/this/simple-methods").json()["outdated"]


def test_simple_methods_need_labels(client):
    refused(client.post("/api/this/simple-methods"), words="no detector")
    label(client, 0)
    label(client, 1)
    refused(client.post("/api/this/simple-methods"), words="3 more normal rows and 2 more anomalies")


def test_a_second_detector(labelled):
    assert labelled.get("/api/this/second").json() is None
    own = labelled.get("/api/this/export/detector.safetensors").content
    found = labelled.put("/api/this/second?name=own.safetensors", content=own).json()
    assert found["name"] == "own.safetensors"
    assert found["correlation"] == pytest.approx(1)
    assert found["compared"] == 300
    label(labelled, 200)
    label(labelled, 170, "normal")
    changed = labelled.get("/api/this/second").json()
    assert changed["correlation"] < 1
    assert changed["rows"][0]["first"] != changed["rows"][0]["second"]
    assert labelled.delete("/api/this/second").status_code == 200
    assert labelled.get("/api/this/second").json() is None


def test_a_model_waits_for_labels(labelled):
    model = model_file.to_bytes(load_universal())
    assert labelled.put("/api/this/second?name=m.safetensors", content=model).json()["is_model"]
    labelled.put("/api/this/labels", content=b"row,label\n1,anomaly\n")
    found = labelled.get("/api/this/second").json()
    assert found["name"] == "m.safetensors"
    assert "normal" in found["error"]


def test_a_wrong_second_detector_is_one_sentence(labelled, monkeypatch):
    refused(labelled.put("/api/this/second?name=a.bin", content=b"nothing"), words="a.bin: not an oddshot")
    other = make_client()
    X, other.y = two_kinds()
    upload(other, as_csv(X, [f"z{j}" for j in range(5)]))
    label(other, 0)
    label(other, 1)
    wrong = other.get("/api/this/export/detector.safetensors").content
    refused(labelled.put("/api/this/second", content=wrong), words="z0")
    assert labelled.get("/api/this/second").json() is None
    monkeypatch.setattr(second_detector, "MAX_SUPPORT_ROWS", 3)
    refused(labelled.put("/api/this/second", content=wrong), words="at most 3")


def test_time(labelled):
    found = labelled.get("/api/this/time?bins=50").json()
    assert found["columns"] == ["time"]
    assert found["kind"] == "date"
    assert len(found["x"]) == 50
    assert found["rows_in_span"] == 300
    state = labelled.get("/api/this/state").json()
    assert sum(found["flagged"]) == found["flagged_in_span"] == state["threshold"]["above"]
    run = found["beginning"]["run"]
    assert abs(run["row"] - 150) <= 5
    assert pd.Timestamp(run["begin"], unit="s") == frame()[0]["time"][run["row"]]
    part = labelled.get(f"/api/this/time?bins=50&start={found['start']}&end={found['start'] + 36000}").json()
    assert part["rows_in_span"] == 11
    assert part["zoomed"]
    refused(labelled.get("/api/this/time?start=5&end=5"), words="later end")
    refused(labelled.get("/api/this/time?column=x0"), words="no time column 'x0'")
    assert labelled.get("/api/this/time?bins=0").status_code == 422
    assert labelled.get("/api/this/time?start=nan&end=5").status_code == 422


def test_groups(labelled):
    found = labelled.get("/api/this/groups").json()
    assert found["column"] == "machine"
    assert sum(group["rows"] for group in found["groups"]) == 300
    scores = pd.read_csv(io.BytesIO(labelled.get("/api/this/export/scores.csv").content))
    by_machine = scores.groupby("machine")
    for group in found["groups"]:
        own = by_machine.get_group(group["name"])
        assert group["flagged"] == own["anomaly"].sum()
        assert group["median"] == pytest.approx(own["score"].median())
        assert group["highest_row"] == own["score"].idxmax()
    refused(labelled.get("/api/this/groups?column=x1"), words="'x1' does not hold 2 to 50 groups")


def test_a_table_without_time_and_groups():
    client = make_client()
    upload(client, as_csv(two_kinds()[0]))
    assert client.get("/api/this/time").json()["columns"] == []
    found = client.get("/api/this/groups").json()
    assert found["columns"] == found["groups"] == []


def test_names_of_rows(client):
    assert client.post("/api/this/names", json={"rows": [3, 0]}).json() == {"names": [None, None]}
    client.post("/api/this/id-column", json={"name": "time"})
    names = client.post("/api/this/names", json={"rows": [3, 0]}).json()["names"]
    assert names == ["2024-03-01 03:00:00", "2024-03-01 00:00:00"]
    refused(client.post("/api/this/names", json={"rows": [300]}), words="row 301 is not in the table")


def test_the_rows_of_a_group(client):
    def found(**wanted):
        filters = json.dumps([{"kind": "group", **wanted}])
        return client.get("/api/this/rows", params={"filters": filters, "by": "row"})

    rows = [row["row"] for row in found(column="machine", name="saw").json()["rows"]]
    assert rows == list(range(1, 150, 3))
    refused(found(column="machine", name="drill"), words="column 'machine' has no group 'drill'")
    refused(found(column="x0", name="1"), words="column 'x0' does not hold 2 to 50 groups")


def test_a_second_detector_stays_when_a_column_changes(labelled):
    detector = labelled.get("/api/this/export/detector.safetensors").content
    assert labelled.put("/api/this/second", params={"name": "own"}, content=detector).status_code == 200
    labelled.post("/api/this/column", json={"name": "x4", "used": False})
    second = labelled.get("/api/this/second").json()
    assert second["name"] == "own"
    assert second["correlation"] < 1
    labelled.post("/api/this/undo")
    assert labelled.get("/api/this/second").json()["correlation"] == pytest.approx(1)
