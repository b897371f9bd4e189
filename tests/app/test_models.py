"""The app with models that a user trained: columns of their own, probabilities, methods that need an anomaly."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from oddshot import load_detector
from oddshot.app.routes import make_app
from oddshot.universal.shipped import load_universal
from tests.app.samples import as_csv, two_kinds, upload
from tests.fleets import labels, mixed, small_model


def client_of(model):
    return TestClient(make_app(model, None, "127.0.0.1", 1 << 24), base_url="http://127.0.0.1")


def label_some(client, n=10):
    for row, label in enumerate(labels(n)[:-1].tolist()):
        state = client.post("/api/label", json={"row": row, "label": ["normal", "anomaly"][label]}).json()
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
    rows = client.get("/api/rows").json()["rows"]
    (tmp_path / "d").write_bytes(client.get("/api/export/detector.safetensors").content)
    table = pd.read_csv(io.BytesIO(data)).iloc[[row["row"] for row in rows]]
    expected = load_detector(tmp_path / "d").predict_proba(table)[:, 1]
    np.testing.assert_allclose([row["probability"] for row in rows], expected, rtol=1e-3, atol=1e-6)
    assert 0.001 <= state["threshold"]["false_alarms"] <= 0.5
    rates = [
        client.post("/api/threshold", json={"value": row["score"]}).json()["threshold"]["false_alarms"] for row in rows
    ]
    assert (np.diff(rates) >= 0).all()
    points = client.get("/api/axis").json()
    assert (len(points["rows"]) == 0) == (method == "lr")  # which projects nothing
    assert client.get("/api/export/report.html").status_code == 200
    assert client.get("/api/explain?rows=11").json()["columns"] == list(kinds)


def test_the_exported_detector_decides_at_the_threshold_that_was_set(tmp_path):
    client = client_of(load_universal())
    X, _ = two_kinds()
    upload(client, as_csv(X))
    label_some(client)
    rates = {}
    for row in client.get("/api/rows?limit=200").json()["rows"]:
        state = client.post("/api/threshold", json={"value": row["score"] * 0.999}).json()["threshold"]
        rates[state["false_alarms"]] = state
    state = next((one for rate, one in rates.items() if 0.02 < rate < 0.4), None)
    assert state is not None
    client.post("/api/threshold", json={"value": state["value"]})
    (tmp_path / "d").write_bytes(client.get("/api/export/detector.safetensors").content)
    detector = load_detector(tmp_path / "d")
    assert detector.threshold_ == pytest.approx(state["value"], rel=1e-5)
    assert detector.predict(pd.read_csv(io.BytesIO(as_csv(X)))).sum() == state["above"]


def test_a_method_that_needs_an_anomaly_says_so():
    client = client_of(small_model("eigen", mixed))
    upload(client, mixed(9).to_csv(index=False).encode())
    for row in (1, 2):
        state = client.post("/api/label", json={"row": row, "label": "normal"}).json()
    assert state["adapted"] is False
    assert "needs at least one labelled anomaly" in state["notice"]


def test_other_columns_than_the_model_knows():
    client = client_of(small_model("eigen", mixed))
    answer = client.put("/api/table?name=t.csv", content=mixed(9).drop(columns="mode").to_csv(index=False).encode())
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
