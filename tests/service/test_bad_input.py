"""Whatever a client sends, the response is a 4xx with one sentence: never a 5xx, never a traceback."""

import json
import socket
from decimal import Decimal

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from oddshot.data.tables.ipc import to_ipc
from oddshot.service.limits import ServiceLimits
from oddshot.service.requests import ARROW, JSON
from tests.fleets import labels, numbers
from tests.service.samples import NAMES, adapted, number_support, post_arrow, post_json, service, table
from tests.web.servers import connection, read_all, running

LIMITS = ServiceLimits(max_rows=200, max_columns=50, max_cells=1000, max_labelled_rows=30)


@pytest.fixture(scope="module")
def client():
    with running(service(limits=LIMITS)) as url, httpx.Client(base_url=url, timeout=30) as one:
        yield one


@pytest.fixture(scope="module")
def name(client):
    return adapted(client)


def sentence(answer, status=422):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == JSON
    body = answer.json()
    assert list(body) == ["error"]
    assert "\n" not in body["error"]
    for trace in ("Traceback", ".py", "Error(", "object at 0x"):
        assert trace not in body["error"]
    return body["error"]


def row(**cells):
    return {"a": 1.0, "b": 2.0, "c": 3.0, **cells}


ROWS = {
    "text": ([row(a="x")], "row 1, column 'a': 'x' is not a number"),
    "1e308": (
        [row(), row(b=1e308)],
        "row 2, column 'b': 1e+308 is too large (beyond ±1e18); 1 of 2 cells of this column",
    ),
    "-1e19": ([row(c=-1e19)], "row 1, column 'c': -1e+19 is too large"),
    "a huge whole number": ([row(c=10**40)], "row 1, column 'c': 1e+40 is too large"),
    "a list": ([row(a=[1])], "row 1, column 'a': a list; expected a number, text, true, false or null"),
    "an object": ([row(a={})], "row 1, column 'a': an object; expected"),
    "a column too few": ([{"a": 1, "b": 2}], "column 'c' is missing"),
    "a column too many": ([row(d=1)], "the support had no column 'd'"),
    "a column renamed": ([{"a": 1, "b": 2, "C": 3}], "column 'c' is missing (renamed to 'C'?)"),
    "rows that differ": ([row(), {"a": 1, "b": 2}], "row 2 has 2 columns, row 1 has 3"),
    "rows with other names": ([row(), {"a": 1, "b": 2, "d": 3}], "row 2 has no column 'c'"),
    "no rows": ([], "no rows; expected at least one"),
    "an empty row": ([{}], "no columns; expected at least one"),
    "no list": ("x", "rows: text; expected a list of rows"),
    "null": (None, "rows: null; expected a list of rows"),
    "a number for a row": ([1], "row 1 is a number; expected an object"),
    "a list for a row": ([[1, 2, 3]], "row 1 is a list; expected an object, or columns beside rows"),
    "too many rows": ([row()] * 201, "201 rows; at most 200 are taken at a time"),
    "HTML": ([row(a="<script>alert(1)</script>")], "is not a number"),
    "HTML in a name": ([row(**{"<img src=x onerror=alert(1)>": 1})], "the support had no column"),
    "a path in a name": ([row(**{"../../etc/passwd": 1})], "the support had no column '../../etc/passwd'"),
    "a zero in a name": ([row(**{"\0": 1})], "the support had no column '\\x00'"),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows(client, name, case):
    rows, expected = ROWS[case]
    assert expected in sentence(post_json(client, "/v1/score", {"id": name, "rows": rows}))


BODIES = {
    "empty": (b"", "the body is empty"),
    "NaN": (b'{"rows": [{"a": NaN}], "labels": [0]}', "NaN and Infinity are not JSON"),
    "Infinity": (b'{"rows": [{"a": -Infinity}], "labels": [0]}', "NaN and Infinity are not JSON"),
    "1e999": (b'{"rows": [{"a": 1e999}, {"a": 1e999}], "labels": [0, 1]}', "no column is of use"),
    "half": (b'{"rows": [{"a"', "is not JSON"),
    "bytes": (b"\xff\xfe\x00", "is not JSON"),
    "a lone surrogate": (b'{"rows": [{"\\ud800": 1}], "labels": [0]}', "is not JSON"),
    "deep": (b"[" * 100_000, "is not JSON"),
    "a number": (b"1", "is not a JSON object"),
    "null": (b"null", "is not a JSON object"),
    "nothing in it": (b"{}", "rows is missing"),
    "an unknown field": (b'{"rows": [], "lables": []}', "unknown field 'lables'; expected rows, columns, labels"),
    "no labels": (b'{"rows": [{"a": 1}]}', "labels is missing"),
    "labels are no list": (b'{"rows": [{"a": 1}], "labels": 0}', "labels is not a list"),
    "too few labels": (b'{"rows": [{"a": 1}], "labels": []}', "there are 1 rows and 0 labels"),
    "a wrong label": (b'{"rows": [{"a": 1}], "labels": [2]}', "label 1 is not 1 (anomaly)"),
    "a label in words": (b'{"rows": [{"a": 1}], "labels": ["normal"]}', "label 1 is not 1 (anomaly)"),
    "true for a label": (b'{"rows": [{"a": 1}], "labels": [true]}', "label 1 is not 1 (anomaly)"),
    "no normal row": (b'{"rows": [{"a": 1}], "labels": [1]}', "no row is labelled normal"),
    "nothing but nulls": (b'{"rows": [{"a": null}], "labels": [0]}', "no column is of use"),
    "a wrong rate": (b'{"rows": [{"a": 1}], "labels": [0], "false_positive_rate": 2}', "from 0.001 to 0.5"),
    "a rate in words": (b'{"rows": [{"a": 1}], "labels": [0], "false_positive_rate": "x"}', "from 0.001 to 0.5"),
    "true for a rate": (b'{"rows": [{"a": 1}], "labels": [0], "false_positive_rate": true}', "must be a number"),
    "null for columns": (b'{"rows": [[1]], "columns": null, "labels": [0]}', "columns is null"),
    "columns are no names": (b'{"rows": [[1]], "columns": [1], "labels": [0]}', "columns is not a list of names"),
    "a name twice": (b'{"rows": [[1, 2]], "columns": ["a", "a"], "labels": [0]}', "two columns are called 'a'"),
    "a wrong width": (b'{"rows": [[1]], "columns": ["a", "b"], "labels": [0]}', "row 1 has 1 cells; there are 2"),
    "an object for a row": (b'{"rows": [{"a": 1}], "columns": ["a"], "labels": [0]}', "row 1 is an object"),
}


@pytest.mark.parametrize("case", BODIES)
def test_bodies(client, case):
    body, expected = BODIES[case]
    assert expected in sentence(post_json(client, "/v1/adapt", body))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"rows": [row()]}, "expected id, of a detector that was adapted, or support"),
        ({"id": "x", "support": number_support(), "rows": [row()]}, "one of the two"),
        ({"id": "x"}, "rows is missing"),
        ({"id": 1, "rows": [row()]}, "id is not text"),
        ({"support": [], "rows": [row()]}, "support is not an object"),
        ({"support": {"rows": [row()]}, "rows": [row()]}, "labels is missing"),
    ],
)
def test_what_to_score_by(client, content, expected):
    assert expected in sentence(post_json(client, "/v1/score", content))


@pytest.mark.parametrize("wrong", ["", "x", "../../etc/passwd", "%00", "'; DROP TABLE detectors; --", "é" * 5000])
def test_unknown_ids(client, wrong):
    expected = "no detector has this id"
    assert expected in sentence(post_json(client, "/v1/score", {"id": wrong, "rows": [row()]}), 404)
    if len(wrong) < 100:
        assert expected in sentence(post_arrow(client, "/v1/score", table(numbers(1)), id=wrong), 404)


X = numbers(3, 10)
TABLES = {
    "1e19": (table(np.where(np.arange(30).reshape(10, 3) == 4, 1e19, X)), "row 2, column 'b': 1e+19 is too large"),
    "text": (table(X).set_column(1, "b", pa.array(["x"] * 10)), "row 1, column 'b': 'x' is not a number"),
    "lists": (table(X).set_column(1, "b", pa.array([[1.0]] * 10)), "column 'b' holds list"),
    "structs": (table(X).set_column(1, "b", pa.array([{"x": 1}] * 10)), "column 'b' holds struct"),
    "bytes": (table(X).set_column(1, "b", pa.array([b"x"] * 10)), "column 'b' holds binary"),
    "a map": (
        table(X).set_column(1, "b", pa.array([[("a", 1)]] * 10, pa.map_(pa.string(), pa.int8()))),
        "column 'b' holds map",
    ),
    "run ends": (
        table(X).set_column(1, "b", pa.RunEndEncodedArray.from_arrays([10], [1.5])),
        "column 'b' holds run_end_encoded",
    ),
    "dates": (table(X).set_column(1, "b", pa.array([0] * 10, pa.timestamp("s"))), "expected a number"),
    "a width": (table(X).drop_columns(["c"]), "column 'c' is missing"),
    "no rows": (table(X).slice(0, 0), "no rows; expected at least one"),
    "no columns": (pa.table({}), "no rows; expected at least one"),
    "too many rows": (table(numbers(1, 201)), "201 rows; at most 200"),
    "too many columns": (pa.table({str(k): [1.0] for k in range(51)}), "51 columns; at most 50"),
    "too many cells": (pa.table({str(k): np.ones(30) for k in range(40)}), "1,200 cells; at most 1,000"),
    "a name twice": (pa.table([[1.0], [2.0]], names=["a", "a"]), "two columns are called 'a'"),
}


@pytest.mark.parametrize("case", TABLES)
def test_arrow_tables(client, name, case):
    content, expected = TABLES[case]
    assert expected in sentence(post_arrow(client, "/v1/score", content, id=name))


STREAM = to_ipc(table(X))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "the body is empty; expected an Arrow IPC stream"),
        (b"{}", "not an Arrow IPC stream"),
        (b"\xff\xff\xff\xff\xff\xff\xff\x7f", "not an Arrow IPC stream"),
        (STREAM[: len(STREAM) // 2], "not an Arrow IPC stream"),
        (b"ARROW1" + STREAM, "expected the stream format"),
    ],
)
def test_invalid_arrow(client, name, body, expected):
    assert expected in sentence(post_arrow(client, "/v1/score", body, id=name))
    assert expected in sentence(post_arrow(client, "/v1/adapt", body))


def test_arrow_that_expands(client, name):
    null = pa.table({key: pa.nulls(10**9) for key in NAMES})
    assert "1,000,000,000 rows" in sentence(post_arrow(client, "/v1/score", null, id=name))
    long = pa.DictionaryArray.from_arrays(np.zeros(200, np.int32), ["x" * 4_000_000])
    answer = post_arrow(client, "/v1/score", pa.table({"a": long}), id=name)
    assert "more than 256 MiB, written out" in sentence(answer)
    sink = pa.BufferOutputStream()
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table(X).schema, options=packed) as writer:
        writer.write_table(table(np.zeros((10**6, 3))))
    assert "compressed" in sentence(post_arrow(client, "/v1/score", bytes(sink.getvalue()), id=name))


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/v1/score", {}, "expected id, or label"),
        ("/v1/score", {"id": "x", "label": "fault"}, "unknown query parameter 'label'; expected id"),
        ("/v1/score", {"label": "nowhere"}, "no column 'nowhere', which should hold the labels"),
        ("/v1/adapt", {"label": "a" * 10_000}, "no column 'aaa"),
        ("/v1/adapt", {}, "no column 'label'"),
        ("/v1/adapt", {"label": "a"}, "is not a label"),
        ("/v1/adapt", {"label": "fault", "false_positive_rate": "x"}, "false_positive_rate is not a number"),
        ("/v1/adapt", {"label": "fault", "false_positive_rate": "nan"}, "it must be a number from 0.001"),
        ("/v1/adapt", {"label": "fault", "lable": "x"}, "unknown query parameter 'lable'"),
    ],
)
def test_queries(client, path, query, expected):
    assert expected in sentence(post_arrow(client, path, table(X, fault=labels(10)), **query))


def test_query_parameters_are_refused_with_json(client):
    assert "none with a JSON body" in sentence(post_json(client, "/v1/adapt?label=x", number_support()))


def test_too_many_labelled_rows(client):
    support = {"columns": ["a"], "rows": [[1.0]] * 31, "labels": [0] * 31}
    assert "31 labelled rows; at most 30" in sentence(post_json(client, "/v1/adapt", support))


ROWS_OF_FAULT = {"v": [1.0, 2.0, 3.0, 4.0]}
NO_LABELS = {
    "far timestamps": pa.array([2**63 - 1] * 4, pa.timestamp("s")),
    "timestamps in no time zone": pa.array([0] * 4, pa.timestamp("s", "No/Where")),
    "far dates": pa.array([2**31 - 1] * 4, pa.int32()).view(pa.date32()),
    "far days": pa.array([86_400_000 * 10**11] * 4, pa.int64()).view(pa.date64()),
    "long durations": pa.array([2**63 - 1] * 4, pa.duration("s")),
    "a dictionary of timestamps": pa.array([2**63 - 1] * 4, pa.timestamp("s")).dictionary_encode(),
}


@pytest.mark.parametrize("case", NO_LABELS)
def test_arrow_labels_that_python_does_not_have(client, case):
    answer = post_arrow(client, "/v1/adapt", pa.table({**ROWS_OF_FAULT, "fault": NO_LABELS[case]}), label="fault")
    assert "column 'fault' holds" in sentence(answer)


UNUSUAL = {
    "durations": pa.array([1, 2, 3, 4], pa.duration("s")),
    "views in a dictionary": pa.DictionaryArray.from_arrays([0, 1, 0, 1], pa.array(["1", "2"], pa.string_view())),
    "short decimals": pa.array([Decimal(1), Decimal(2)] * 2, pa.decimal32(5, 0)),
    "long decimals": pa.array([Decimal(10) ** 70] * 4, pa.decimal256(76, 0)),
    "a dictionary of nulls": pa.DictionaryArray.from_arrays(pa.array([0] * 4, pa.int8()), pa.nulls(1)),
    "halves": pa.array(np.array([1, 2, 3, np.inf], np.float16)),
    "an extension": pa.ExtensionArray.from_storage(pa.opaque(pa.int8(), "x", "y"), pa.array([1] * 4, pa.int8())),
    "a union": pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array([1, 2, 3, 4])]),
    "large bytes": pa.array([b"x"] * 4, pa.large_binary()),
    "a far time": pa.array([0, 1, 2, 2**63 - 1], pa.timestamp("s")),
}


@pytest.mark.parametrize("kind", ["number", "boolean", "category", "date", "text"])
def test_unusual_arrow_columns(client, kind):
    plain = {"number": [1.0, 2.0, 3.0, 4.0], "date": ["2024-01-01", "2024-01-02"] * 2, "boolean": [True, False] * 2}
    support = pa.table({**ROWS_OF_FAULT, "x": plain.get(kind, ["a b", "c d"] * 2), "fault": [0, 0, 0, 1]})
    kinds = {"kinds": json.dumps({"x": kind})}
    name = post_arrow(client, "/v1/adapt", support, label="fault", **kinds).json()["id"]
    for case, column in UNUSUAL.items():
        rows = pa.table({**ROWS_OF_FAULT, "x": column})
        labelled = rows.append_column("fault", pa.array([0, 0, 0, 1]))
        for answer in (
            post_arrow(client, "/v1/score", rows, id=name),
            post_arrow(client, "/v1/adapt", labelled, label="fault", **kinds),
        ):
            assert answer.status_code == 200 or sentence(answer), case


@pytest.mark.parametrize("digits", [400, 4000, 10_000])
def test_numbers_of_many_digits(client, name, digits):
    number = b"9" * digits
    rate = b'{"rows": [{"a": 1}], "labels": [0], "false_positive_rate": %s}' % number
    label = b'{"rows": [{"a": 1}], "labels": [%s]}' % number
    for body in (rate, label):
        sentence(post_json(client, "/v1/adapt", body))
    cell = b'{"id": "%s", "columns": ["a", "b", "c"], "rows": [[%s, 1, 2]]}' % (name.encode(), number)
    answer = post_json(client, "/v1/score", cell)
    assert answer.status_code == 200 or sentence(answer)


def test_two_lengths_of_one_body(client):
    head = b"POST /v1/adapt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with connection(str(client.base_url)) as plain:
        plain.sendall(head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        answer = read_all(plain)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Content-Length and Transfer-Encoding together" in answer


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
@pytest.mark.parametrize("path", ["/v1/adapt", "/v1/score"])
def test_media_types(client, path, kind):
    headers = {} if kind is None else {"content-type": kind}
    answer = client.post(path, content=json.dumps(number_support()).encode(), headers=headers)
    assert f"expected {JSON} or {ARROW}" in sentence(answer, 415)


def test_a_hundred_megabytes(client):
    assert "larger than 32 MiB" in sentence(post_json(client, "/v1/adapt", bytes(100 * 10**6)), 413)
    assert "larger than 32 MiB" in sentence(
        client.post("/v1/score", content=iter([bytes(10**6)] * 100), headers={"content-type": ARROW}), 413
    )


@pytest.mark.parametrize("body", [b'{"rows": ', STREAM[:200]])
def test_half_closed_connection(client, body):
    with connection(str(client.base_url)) as plain:
        head = f"POST /v1/adapt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {JSON}\r\nContent-Length: 5000\r\n\r\n"
        plain.sendall(head.encode() + body)
        plain.shutdown(socket.SHUT_WR)
        assert b"HTTP/1.1 5" not in read_all(plain)
    assert client.get("/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/adapt/", "/v1/../../etc/passwd", "/v1/%2e%2e%2fmodel", "/docs", "/v1/score/<script>"]
)
def test_paths(client, path):
    sentence(client.get(path), 404)


@pytest.mark.parametrize("path", ["/v1/adapt", "/v1/score"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "TRACE", "NONSENSE"])
def test_methods(client, path, method):
    sentence(client.request(method, path), 405)


def test_html_is_never_sent_as_html(client):
    html = "<img src=x onerror=alert(1)>"
    support = {"rows": [{html: html, "a": 1.0}, {html: "y", "a": 2.0}, {html: "z", "a": 3.0}], "labels": [0, 0, 1]}
    answer = post_json(client, "/v1/adapt", support)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == JSON
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["columns"] == {html: "category", "a": "number"}


def test_too_many_bytes_at_once(monkeypatch):
    monkeypatch.setattr("oddshot.service.routes.MAX_CONCURRENT_BODIES", 0)
    with running(service()) as url, httpx.Client(base_url=url) as one:
        answer = post_json(one, "/v1/adapt", number_support())
        assert "try again" in sentence(answer, 429)
        assert answer.headers["retry-after"] == "1"
        assert one.get("/healthz").status_code == 200
