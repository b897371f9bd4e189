"""A column of another kind, or left out: what that changes in the ranking, and that it can be undone."""

import numpy as np
import pandas as pd
import pytest

from tests.app.samples import make_client, two_kinds, upload


@pytest.fixture
def client():
    X, y = two_kinds(200)
    frame = pd.DataFrame(X.round(3), columns=list("abcde"))
    frame["code"] = np.random.default_rng(0).integers(1, 6, 200)
    client = make_client()
    upload(client, frame.to_csv(index=False).encode())
    for row in [*np.flatnonzero(y == 0)[:5], *np.flatnonzero(y == 1)[:2]]:
        client.post("/api/this/label", json={"row": int(row), "label": ["normal", "anomaly"][y[row]]})
    return client


def scores(client):
    rows = client.get("/api/this/rows", params={"by": "row", "limit": 200}).json()["rows"]
    return np.array([row["score"] for row in rows])


def change(client, **body):
    answer = client.post("/api/this/column", json={"name": "code", **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("body", [{"kind": "category"}, {"kind": "text"}, {"used": False}])
def test_another_kind_changes_the_ranking_and_says_how(client, body):
    before = client.get("/api/this/state").json()
    was_flagged, first = scores(client) > before["threshold"]["value"], scores(client)
    after = change(client, **body)
    is_flagged = scores(client) > after["threshold"]["value"]
    assert not np.allclose(scores(client), first)
    assert after["flags"] == {
        "entered": int((is_flagged & ~was_flagged).sum()),
        "left": int((was_flagged & ~is_flagged).sum()),
        "among": "the flagged ones",
    }
    assert after["labels"] == before["labels"]
    kinds = {column["name"]: column["kind"] for column in after["table"]["columns"]}
    assert kinds["code"] == body.get("kind", "not used")
    client.post("/api/this/undo")
    np.testing.assert_array_equal(scores(client), first)


def test_without_a_threshold_the_first_rows_are_compared():
    rng = np.random.default_rng(1)
    client = make_client()
    frame = pd.DataFrame({"code": np.r_[np.zeros(250), np.full(50, 9.0)], "x": rng.normal(size=300)})
    upload(client, frame.sample(frac=1, random_state=0).to_csv(index=False).encode())
    top = {row["row"] for row in client.get("/api/this/rows", params={"limit": 100}).json()["rows"]}
    flags = change(client, used=False)["flags"]
    now = {row["row"] for row in client.get("/api/this/rows", params={"limit": 100}).json()["rows"]}
    assert flags == {"entered": len(now - top), "left": len(top - now), "among": "the first 100"}
    assert flags["entered"] > 0


def test_columns_that_are_only_pinned_or_hidden_change_no_flags(client):
    assert change(client, pinned=True)["flags"] is None
    assert change(client, hidden=True, pinned=False)["flags"] is None


def test_a_kind_that_does_not_fit_is_one_line_and_changes_nothing(client):
    before = scores(client)
    for kind in ("colour", "boolean"):
        answer = client.post("/api/this/column", json={"name": "code", "kind": kind})
        assert answer.status_code == 422
        assert "code" in answer.json()["error"]
    np.testing.assert_array_equal(scores(client), before)
    assert client.get("/api/this/state").json()["edits"]["kinds"] == {}
