"""Labels of requests other than 1, 0 and -1: what they mean, and messages in the words of requests."""

import httpx
import pyarrow as pa
import pytest

from tests.fleets import numbers
from tests.service.samples import NAMES, adapted, post_arrow, post_json, service, table
from tests.web.servers import running

X = numbers(1, 8)
Y = [0, 0, 0, 0, 1, 1, None, 0]
STATES = ["ok", "ok", "idle", "ok", "bearing", "leak", None, "ok"]
WAYS = [
    {"anomaly_value": ["bearing", "leak"]},
    {"normal_value": ["ok", "idle"]},
    {"normal_value": ["ok", "idle"], "anomaly_value": None},
]


@pytest.fixture(scope="module")
def client():
    with running(service()) as address, httpx.Client(base_url=address, timeout=30) as opened:
        yield opened


def support(labels=STATES, **more):
    return {"columns": NAMES, "rows": X.tolist(), "labels": labels, **more}


def refused(answer):
    assert answer.status_code == 422
    return answer.json()["error"]


@pytest.mark.parametrize("way", WAYS)
def test_several_labels_mean_anomaly_or_normal_in_json(client, way):
    expected = adapted(client, support(Y))
    answer = post_json(client, "/v1/adapt", support(**way)).json()
    assert (answer["id"], answer["anomalies"], answer["normal"], answer["unlabelled"]) == (expected, 2, 5, 1)
    scored = post_json(client, "/v1/score", {"support": support(**way), "rows": X.tolist(), "columns": NAMES})
    assert scored.json()["id"] == expected


@pytest.mark.parametrize("way", WAYS[:2])
def test_several_labels_mean_anomaly_or_normal_in_arrow(client, way):
    rows = table(X, state=pa.array(STATES))
    expected = post_arrow(client, "/v1/adapt", table(X, state=pa.array(Y)), label="state").json()["id"]
    assert post_arrow(client, "/v1/adapt", rows, label="state", **way).json()["id"] == expected
    assert post_arrow(client, "/v1/score", rows, label="state", **way).json()["id"] == expected


@pytest.mark.parametrize("labels", [[True, *[False] * 7], [7, *[3] * 7], ["7", *["ok"] * 7], [0, *[1] * 7]])
def test_labels_of_any_kind_have_a_meaning(client, labels):
    answer = post_json(client, "/v1/adapt", support(labels, anomaly_value=labels[0])).json()
    assert (answer["anomalies"], answer["normal"]) == (1, 7)


def test_a_support_may_lack_a_label_and_notes_tell_of_one_that_may_be_misspelt(client):
    fine = support(["ok", *["leak"] * 2, *["ok"] * 5], anomaly_value=["leak", "bearing"])
    assert not any("bearing" in note for note in post_json(client, "/v1/adapt", fine).json()["notes"])
    doubt = (
        "no label is 'baering'; values seen: 'ok', 'idle', 'bearing', 'leak'; taken as normal: 'ok', 'idle', 'bearing'"
    )
    misspelt = support(anomaly_value=["leak", "baering"])
    for answer in (
        post_json(client, "/v1/adapt", misspelt),
        post_json(client, "/v1/score", {"support": misspelt, "rows": X.tolist(), "columns": NAMES}),
    ):
        assert f"labels: {doubt}" in answer.json()["notes"]
    asked = {"label": "state", "anomaly_value": ["leak", "baering"]}
    notes = post_arrow(client, "/v1/adapt", table(X, state=pa.array(STATES)), **asked).json()["notes"]
    assert any("rows: no row has 'state' = 'baering'" in note for note in notes)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "label 1 is not 1 (anomaly), 0 (normal), -1 or null (unlabelled); or name the values of anomalies with "),
        ({"anomaly_value": "leek"}, "labels: no label is 'leek'; values seen: 'ok', 'idle', 'bearing', 'leak'"),
        ({"anomaly_value": []}, "the field anomaly_value is empty; expected one value of anomalies, or several"),
        ({"normal_value": {}}, "normal_value: an object; expected a label, or a list of labels"),
        ({"anomaly_value": ["leak", [1]]}, "anomaly_value: a list; expected a label, or a list of labels"),
        ({"anomaly_value": "leak", "normal_value": "ok"}, "the field anomaly_value and the field normal_value exclude"),
        (
            {"labels": [[], *STATES[1:]], "normal_value": "ok"},
            "label 1 is a list; expected text, a number, true, false",
        ),
    ],
)
def test_json_is_refused_in_words_of_json(client, more, message):
    answer = refused(post_json(client, "/v1/adapt", {**support(), **more}))
    assert answer.startswith(message)
    assert "--" not in answer


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "rows: row 1, column 'state': 'ok' is not a label; expected 1, 0, -1 or empty, or name the values of"),
        ({"anomaly_value": "leek"}, "rows: no row has 'state' = 'leek'; values seen: 'ok', 'idle', 'bearing', 'leak'"),
        (
            {"anomaly_value": ["leak"], "normal_value": "ok"},
            "the query parameter anomaly_value and the query parameter",
        ),
        ({"label": ["state", "a"]}, "query: label is given 2 times; expected one value"),
        ({"normal_value": "ok", "kinds": ["{}", "{}"]}, "query: kinds is given 2 times; expected one value"),
    ],
)
def test_arrow_is_refused_in_words_of_queries(client, more, message):
    answer = refused(post_arrow(client, "/v1/adapt", table(X, state=pa.array(STATES)), **{"label": "state", **more}))
    assert answer.startswith(message)
    assert "--" not in answer
    if not more:
        assert answer.endswith(
            "with the query parameter anomaly_value, or those of normal rows with the query parameter normal_value"
        )
