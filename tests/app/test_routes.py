"""The routes of the app: what a browser asks for, what it exports, and requests that are refused."""

import decimal
import gzip
import io
import json
import re
import socket
import tempfile
import threading
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from oddshot import load_detector
from oddshot.app import uploads, workspace
from oddshot.data.tables.readers import FORMATS, FileFormat
from oddshot.web.address import listen
from oddshot.web.serving import make_server
from tests.app.samples import as_csv, make_client, two_kinds, upload

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def client():
    return make_client()


@pytest.fixture
def labelled(client):
    """A table of which six rows have labels."""
    X, y = two_kinds()
    upload(client, as_csv(X))
    for row in [*np.flatnonzero(y == 0)[:5], np.flatnonzero(y == 1)[0]]:
        client.post("/api/this/label", json={"row": int(row), "label": ["normal", "anomaly"][y[row]]})
    return client


def refused(answer, status=422, words=""):
    """One sentence and no trace."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    sentence = answer.json()["error"]
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    assert re.search(words, sentence), sentence
    return sentence


def test_the_page_and_its_parts_are_there_with_a_strict_policy(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|https?://", page.text)
    for name in re.findall(r'(?:src|href)="([\w.]+)"', page.text):
        assert client.get(f"/{name}").status_code == 200


def test_labels_change_the_ranking(client):
    X, y = two_kinds()
    state = upload(client, as_csv(X), "machines.csv")
    assert state["table"]["name"] == "machines.csv"
    assert state["table"]["rows"] == 300
    assert state["adapted"] is False
    normal, anomaly = np.flatnonzero(y == 0)[:5].tolist(), np.flatnonzero(y == 1)[0].item()
    for row in normal:
        state = client.post("/api/this/label", json={"row": row, "label": "normal"}).json()
    state = client.post("/api/this/label", json={"row": anomaly, "label": "anomaly"}).json()
    assert state["labels"]["normal"] == 5
    assert state["adapted"] is True
    assert state["threshold"]["above"] == sum(
        row["score"] > state["threshold"]["value"] for row in client.get("/api/this/rows?limit=200").json()["rows"]
    )
    rows = client.get("/api/this/rows?limit=20").json()
    assert rows["total"] == 300
    assert np.mean(y[[row["row"] for row in rows["rows"]]]) > 3 * y.mean()
    back = client.post("/api/this/undo").json()
    assert back["touched"] == [anomaly]
    assert back["labels"]["anomaly"] == 0


def test_windows_in_every_order(labelled):
    rows = labelled.get("/api/this/rows?by=row&offset=298&limit=10").json()
    assert [row["row"] for row in rows["rows"]] == [298, 299]
    found = labelled.get("/api/this/rows?by=labelled").json()
    assert [row["label"] for row in found["rows"]] == [1, 0, 0, 0, 0, 0]
    assert labelled.get("/api/this/rows?offset=1000").json()["rows"] == []
    assert labelled.get("/api/this/row/7").json()["row"] == 7


def test_explanations_add_up_to_the_scores_of_rows_hidden_from_themselves(labelled, tmp_path):
    why = labelled.get("/api/this/explain?rows=3&rows=8").json()
    (tmp_path / "detector").write_bytes(labelled.get("/api/this/export/detector.safetensors").content)
    task = load_detector(tmp_path / "detector").task_
    names = [f"x{j}" for j in range(5)]
    scores = task.score_fitted(task.encode(dict(zip(names, two_kinds()[0].T, strict=True)), "table"))
    for row in why["rows"]:
        assert sum(row["added"]) == pytest.approx(scores[row["row"]] - scores[row["compared"]], rel=1e-3)


def test_plots_hold_the_labelled_rows(labelled):
    state = labelled.get("/api/this/state").json()
    for plot in ("map", "axis"):
        points = labelled.get(f"/api/this/{plot}").json()
        assert set(map(int, state["labels"]["rows"])) <= set(points["rows"])
        assert len(points["x"]) == len(points["rows"]) == len(points["position"])
    assert sum(state["ranking"]["histogram"]) == 300


def test_exported_scores(labelled):
    state = labelled.get("/api/this/state").json()
    table = pd.read_csv(io.BytesIO(labelled.get("/api/this/export/scores.csv").content))
    assert table["row"].tolist() == list(range(1, 301))
    assert table["anomaly"].sum() == state["threshold"]["above"]
    assert table["label"].count() == 6
    parquet = labelled.get("/api/this/export/scores.parquet")
    assert "attachment" in parquet.headers["content-disposition"]
    again = pyarrow.parquet.read_table(io.BytesIO(parquet.content)).to_pandas()
    np.testing.assert_array_equal(again["score"], table["score"])


def test_the_exported_detector_gives_the_same_scores(labelled, tmp_path):
    X, _ = two_kinds()
    (tmp_path / "d").write_bytes(labelled.get("/api/this/export/detector.safetensors").content)
    frame = pd.read_csv(io.BytesIO(as_csv(X)))
    table = pd.read_csv(io.BytesIO(labelled.get("/api/this/export/scores.csv").content))
    np.testing.assert_allclose(load_detector(tmp_path / "d").score_samples(frame), table["score"], rtol=1e-5)


def test_the_report_stands_alone_and_runs_nothing(client):
    X, _ = two_kinds(50)
    upload(client, as_csv(X, [HOSTILE, "x1", "x2", "x3", "x4"]), f"{HOSTILE}.csv")
    for row in range(4):
        client.post("/api/this/label", json={"row": row, "label": "normal"})
    client.post("/api/this/label", json={"row": 4, "label": "anomaly"})
    text = client.get("/api/this/export/report.html").text
    assert text.count("<svg") == 3
    assert HOSTILE not in text
    assert "&lt;img src=x" in text
    assert not re.search(r"<script|https?://(?!www.w3.org/2000/svg)", text)


def test_formulas_in_exports_are_escaped(client):
    cells = ["=1+1", "+1a", "-x", "@a", "plain", "\tq", "'=ok", "a=b"]
    lines = ["=name,score", *(f"{cell},{k}" for k, cell in enumerate(cells))]
    upload(client, "\n".join(lines).encode())
    text = client.get("/api/this/export/scores.csv").content.decode()
    table = pd.read_csv(io.StringIO(text), dtype=str)
    assert table.columns.tolist() == ["row", "label", "score", "probability", "anomaly", "'=name", "score (table)"]
    assert not table["'=name"].str.match(r"[=+\-@\t]").any()
    assert table["'=name"][0] == "'=1+1"
    assert table["'=name"][4] == "plain"


def test_saved_labels_load_again_and_unknown_ones_are_refused(labelled):
    saved = {kind: labelled.get(f"/api/this/export/labels.{kind}").content for kind in ("json", "csv")}
    for data in saved.values():
        labelled.put("/api/this/labels", content=b"row,label\n")
        assert labelled.get("/api/this/state").json()["labels"]["normal"] == 0
        assert labelled.put("/api/this/labels", content=data).json()["labels"]["normal"] == 5
    refused(labelled.put("/api/this/labels", content=b"row,label\n301,normal\n"), words="300 rows")
    refused(labelled.put("/api/this/labels", content=b"\xff"), words="no labels")


def test_labels_are_kept_for_the_same_file(tmp_path):
    data = as_csv(two_kinds()[0])
    client = make_client(tmp_path)
    upload(client, data)
    client.post("/api/this/label", json={"row": 5, "label": "anomaly"})
    client.post("/api/this/column", json={"name": "x4", "used": False})
    state = upload(make_client(tmp_path), data, "other-name.csv")
    assert state["labels"]["rows"] == {"5": 1}
    assert state["table"]["left_out"] == ["x4"]
    assert upload(make_client(tmp_path), data + b"1,1,1,1,1\n")["labels"]["rows"] == {}


def test_a_column_can_be_left_out_and_used_again(labelled):
    X, _ = two_kinds()
    labels, before = labelled.get("/api/this/export/labels.json").content, labelled.get("/api/this/rows").json()
    without = make_client()  # with a table that never had the column
    upload(without, as_csv(X[:, 1:], ["x1", "x2", "x3", "x4"]))
    without.put("/api/this/labels", content=labels)
    state = labelled.post("/api/this/column", json={"name": "x0", "used": False}).json()
    assert state["table"]["columns"][0]["kind"] == "not used"
    assert state["labels"]["normal"] == 5
    for found, expected in zip(
        *(client.get("/api/this/rows").json()["rows"] for client in (labelled, without)), strict=True
    ):
        assert (found["row"], found["score"], found["probability"]) == (
            expected["row"],
            pytest.approx(expected["score"]),
            pytest.approx(expected["probability"]),
        )
    labelled.post("/api/this/column", json={"name": "x0", "used": True})
    assert labelled.get("/api/this/rows").json() == before


def test_tables_side_by_side_have_labels_of_their_own(client):
    ids = [upload(client, as_csv(two_kinds(50, seed)[0]), f"{seed}.csv")["id"] for seed in range(3)]
    for row, table in enumerate(ids):
        client.post(f"/api/tables/{table}/label", json={"row": row, "label": "normal"})
    listed = client.get("/api/tables").json()["tables"]
    assert [(table["id"], table["name"], table["labelled"]) for table in listed] == [
        (ids[seed], f"{seed}.csv", 1) for seed in range(3)
    ]
    for row, table in enumerate(ids):
        assert client.get(f"/api/tables/{table}/state").json()["labels"]["rows"] == {str(row): 0}
    client.post(f"/api/tables/{ids[0]}/undo")
    assert [table["labelled"] for table in client.get("/api/tables").json()["tables"]] == [0, 1, 1]


def test_a_closed_table_keeps_its_labels(tmp_path):
    client, data = make_client(tmp_path), as_csv(two_kinds(50)[0])
    upload(client, data)
    client.post("/api/this/label", json={"row": 3, "label": "anomaly"})
    assert client.delete("/api/this").json() == {"tables": []}
    refused(client.delete("/api/this"), 404)
    assert upload(client, data)["labels"]["rows"] == {"3": 1}


def test_a_file_that_is_open_already_is_not_opened_twice(client):
    first = upload(client, as_csv(two_kinds(50)[0]))
    assert upload(client, as_csv(two_kinds(50)[0]), "again.csv") == first
    assert len(client.get("/api/tables").json()["tables"]) == 1


def test_too_many_or_too_large_tables_are_refused(client, monkeypatch):
    monkeypatch.setattr(workspace, "MAX_OPEN_BYTES", 20_000)
    upload(client, as_csv(two_kinds(5000)[0]), "alone.csv")  # a single one may be larger
    answer = client.put("/api/tables?name=more.csv", content=as_csv(two_kinds(50)[0]))
    refused(answer, 507, "more.csv: the open tables would take .* GiB of memory, the limit .*; close one of them first")
    monkeypatch.setattr(workspace, "MAX_TABLES", 1)
    refused(client.post("/api/example"), 507, "1 tables are open, which is the limit; close one first")
    client.delete("/api/this")
    assert client.post("/api/example").status_code == 200


def test_html_in_names_and_cells_stays_text(client):
    frame = pd.DataFrame({HOSTILE: [1.0, 2.0, 3.0], "t": [HOSTILE, "b", "c"]})
    state = upload(client, frame.to_csv(index=False).encode(), f"{HOSTILE}.csv")
    assert state["table"]["columns"][0]["name"] == HOSTILE  # the page sets it as text
    assert client.get("/api/this/row/0").json()["cells"] == [1.0, HOSTILE]
    assert client.get("/api/this/row/0").headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/tmp/x.csv", "..\\..\\x.parquet.csv", "a\nb\0c.csv", "", "é" * 300]
)
def test_names_are_never_paths(client, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = upload(client, b"a,b\n1,2\n3,4\n", name)["table"]["name"]
    assert "/" not in shown
    assert shown.isprintable()
    assert len(shown) <= 100
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["machines.csv.gz", "machines.csv", "machines"])
def test_compressed_tables_are_unpacked(client, name):
    data = as_csv(two_kinds(50)[0])
    assert upload(client, gzip.compress(data), name)["table"]["rows"] == 50
    zstd = pa.compress(data, "zstd", asbytes=True)
    assert upload(client, zstd, "again.csv.zst")["table"]["rows"] == 50


def test_labels_are_taken_from_a_column(client):
    X, y = two_kinds(60)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]).assign(state=np.where(y == 1, "Fault", "OK"))
    frame.loc[[4, 5], "state"] = ["", "tested"]
    upload(client, frame.to_csv(index=False).encode())
    before = client.get("/api/this/label-column", params={"name": "state"}).json()["values"]
    assert {one["value"]: one["label"] for one in before} == {
        "OK": "normal", "Fault": "anomaly", "tested": None, "": None,
    }  # fmt: skip
    assert sum(one["rows"] for one in before) == 60
    labels = {"OK": "normal", "Fault": "anomaly", "tested": "anomaly", "": None}
    state = client.post("/api/this/label-column", json={"name": "state", "labels": labels}).json()
    expected = {str(row): int(y[row]) for row in range(60)} | {"5": 1}
    del expected["4"]
    assert state["labels"]["rows"] == expected
    assert state["table"]["left_out"] == ["state"]
    undone = client.post("/api/this/undo").json()
    assert undone["labels"]["rows"] == {}
    assert undone["table"]["left_out"] == []
    refused(client.get("/api/this/label-column?name=x0"), words="60 different values; labels have at most 50")
    nothing = {"name": "state", "labels": {"OK": None}}
    refused(client.post("/api/this/label-column", json=nothing), words="choose what one means")


def test_json_lines_with_any_name(client):
    table = upload(client, b'{"a": 1, "b": 2}\n{"a": 3, "b": 5}\n', "rows.json")["table"]
    assert (table["rows"], [column["name"] for column in table["columns"]]) == (2, ["a", "b"])


def test_parquet_with_any_name(client):
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": [1, 2], "b": [[1], [2]]}), out)
    state = upload(client, out.getvalue(), "no-ending")
    assert [column["kind"] for column in state["table"]["columns"]] == ["number", "not used"]
    assert client.get("/api/this/export/scores.csv").status_code == 200


WRONG_TABLES = {
    "empty": (b"", "mine.csv is empty; expected a table: CSV, Parquet, Excel"),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(50), "mine.csv is an image; expected a table"),
    "photo": (b"\xff\xd8\xff\xe0" + bytes(50), "mine.csv is an image; expected a table"),
    "pdf": (b"%PDF-1.7\n1 0 obj", "mine.csv is a PDF document; expected a table"),
    "zip": (b"PK\x03\x04" + bytes(50), "mine.csv is a ZIP archive or a document; expected a table"),
    "broken gzip": (b"\x1f\x8b" + bytes(50), "mine.csv: cannot be unpacked"),
    "header only": (b"a,b\n", "no rows"),
    "one line": (b"a,b", "no rows, only a header"),
    "web page": (b"\n<!DOCTYPE html>\n<html>\n</html>\n", "mine.csv is a web page; expected a table"),
    "XML": (b"\xef\xbb\xbf<?xml version='1.0'?>\n<rows>\n</rows>\n", "mine.csv is an XML document; expected a table"),
    "JSON array": (b'[{"a": 1},\n {"a": 2}]\n', "mine.csv: not a file with one JSON object a line"),
    "zeros": (bytes(1000), "mine.csv is a binary file; expected a table"),
    "bad parquet": (b"PAR1" + bytes(100), "cannot be read"),
    "1e308": (b"a,b\n1,2\n1e308,3\n", "too large"),
    "ragged": (b"a,b\n1,2\n1,2,3\n", "row 2 has 3 fields, the header has 2"),
    "twice": (b"a,a\n1,2\n", "two columns"),
    "nothing of use": (b"a,b\n,\n,\n", "no column is of use"),
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_wrong_tables_are_one_sentence_and_the_open_one_stays(labelled, case):
    data, words = WRONG_TABLES[case]
    before = labelled.get("/api/this/state").json()
    sentence = refused(labelled.put("/api/tables?name=mine.csv", content=data), words=words)
    assert "/tmp" not in sentence
    assert labelled.get("/api/this/state").json() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("n_bytes", [10, 10**6])  # the disk is full when the file is closed, or earlier
def test_a_full_disk_during_an_upload_is_not_a_client_error(client, monkeypatch, n_bytes):
    monkeypatch.setattr(uploads, "open", lambda path, mode: open("/dev/full", mode), raising=False)  # noqa: SIM115
    answer = client.put("/api/tables?name=t.csv", content=b"1" * n_bytes)
    refused(answer, 507, "the file cannot be stored while it is read: No space left on device")


def test_a_table_that_is_too_large_is_refused():
    client = make_client(max_upload_bytes=1000)
    refused(client.put("/api/tables", content=b"a,b\n" + b"1,2\n" * 1000), 413, "larger than")
    chunks = (b"1,2\n" * 50 for _ in range(50))  # of unknown length
    refused(client.put("/api/tables", content=chunks), 413, "larger than")


WRONG_REQUESTS = [
    ("post", "/api/this/label", {"row": 300, "label": "normal"}, 422),
    ("post", "/api/this/label", {"row": -1, "label": "normal"}, 422),
    ("post", "/api/this/label", {"row": 10**30, "label": "normal"}, 422),
    ("post", "/api/this/label", {"row": 1.5, "label": "normal"}, 422),
    ("post", "/api/this/label", {"row": "1", "label": "normal"}, 422),
    ("post", "/api/this/label", {"row": 1, "label": "odd"}, 422),
    ("post", "/api/this/label", {"row": 1}, 422),
    ("post", "/api/this/label", [1], 422),
    ("post", "/api/this/threshold", {"value": "high"}, 422),
    ("post", "/api/this/column", {"name": "no such", "used": False}, 422),
    ("post", "/api/this/column", {"name": "x1", "used": "no"}, 422),
    ("post", "/api/this/column", {"name": "x1"}, 422),
    ("post", "/api/this/column", {"name": "x1", "kind": "colour"}, 422),
    ("post", "/api/this/id-column", {"name": "no such"}, 422),
    ("post", "/api/this/note", {"row": 300, "note": "beyond"}, 422),
    ("post", "/api/this/note", {"row": 3, "note": "long" * 1000}, 422),
    ("post", "/api/this/redo", {}, 422),
    ("post", "/api/this/undo", {"version": 3}, 422),
    ("get", "/api/this/rows?offset=-1", None, 422),
    ("get", "/api/this/rows?limit=100000", None, 422),
    ("get", "/api/this/rows?by=name", None, 422),
    ("get", "/api/this/row/300", None, 422),
    ("get", "/api/this/row/x", None, 422),
    ("get", "/api/this/explain", None, 422),
    ("get", "/api/this/explain?rows=999", None, 422),
    ("get", "/api/this/explain?" + "&".join(["rows=1"] * 2401), None, 422),
    ("get", "/api/nothing", None, 404),
    ("get", "/../../etc/passwd", None, 404),
    ("get", "/%2e%2e/%2e%2e/routes.py", None, 404),
    ("delete", "/api/tables", None, 405),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), WRONG_REQUESTS)
def test_wrong_requests_are_one_sentence(labelled, method, path, body, status):
    refused(labelled.request(method, path, json=body), status)


@pytest.mark.parametrize("body", [b"", b"{", b"NaN", b'{"value": NaN}', b'{"value": Infinity}', b'{"value": 1e999}'])
@pytest.mark.parametrize("path", ["label", "threshold", "column"])
def test_bodies_that_are_no_json(labelled, path, body):
    refused(labelled.post(f"/api/this/{path}", content=body, headers={"content-type": "application/json"}))


def test_far_thresholds_are_taken(labelled):
    for value, above in ((1e308, 0), (-1e308, 300)):
        state = labelled.post("/api/this/threshold", json={"value": value}).json()
        assert state["threshold"]["above"] == above
        assert labelled.get("/api/this/axis").json()["threshold"] is None  # a blended score is no distance


@pytest.mark.parametrize(
    "path", ["rows", "map", "axis", "explain?rows=1", "row/1", "export/scores.csv", "export/report.html"]
)
def test_a_table_that_is_not_open_is_not_found(client, path):
    refused(client.get(f"/api/this/{path}"), 404, "this table is not open; open its file again")
    assert client.get("/api/tables").json() == {"tables": []}


def test_without_labels_there_is_no_detector_to_export(client):
    client.table_id = client.post("/api/example").json()["id"]
    refused(client.get("/api/this/export/detector.safetensors"), words="no detector yet")


def test_foreign_pages_are_refused(client):
    refused(client.post("/api/example", headers={"origin": "http://evil.example"}), 403)
    refused(client.get("/api/this/state", headers={"host": "evil.example"}), 403)


@pytest.fixture
def listening(tmp_path, monkeypatch):
    """The app behind a real socket; uploads are kept in a folder of the test while they are read."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server = make_server(make_client().app)
    with listen("127.0.0.1", 0) as place:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        yield place.getsockname()
        server.should_exit = True
        thread.join()


def test_an_upload_that_is_broken_off_leaves_nothing_behind(listening, tmp_path):
    for part in (b"", b"a,b\n1,2\n"):
        with socket.create_connection(listening) as connection:
            connection.sendall(
                b"PUT /api/tables?name=t.csv HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n\r\n" + part
            )
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(100)
        assert not answer.startswith((b"HTTP/1.1 2", b"HTTP/1.1 5"))
    url = f"http://127.0.0.1:{listening[1]}/api/tables"
    with urllib.request.urlopen(url) as answer:
        assert json.load(answer) == {"tables": []}
    assert list(tmp_path.iterdir()) == []


def test_columns_of_every_type_are_shown_and_exported(client):
    n = 6
    when = pd.date_range("2024-01-01", periods=n, freq="h")
    table = pa.table(
        {
            "half": pa.array(np.arange(n, dtype=np.float16)),
            "huge": pa.array([2**55 + k for k in range(n)]),
            "gaps": pa.array([None, float("nan"), 1.0, 2.0, 3.0, 4.0]),
            "decimal": pa.array([decimal.Decimal(k) for k in range(n)], pa.decimal128(10, 2)),
            "duration": pa.array(np.arange(n), pa.duration("s")),
            "zoned": pa.array(when.tz_localize("Europe/Berlin")),
            "day": pa.array(when.date),
            "hour": pa.array(when.time),
            "category": pa.array(["=a", "b", None, "=a", "b", "c"]).dictionary_encode(),
            "bytes": pa.array([b"\xff"] * n),
            "list": pa.array([[1, 2]] * n),
            "struct": pa.array([{"a": 1}] * n),
            "large": pa.array(["x", "y", "x", "y", "x", "\ud7ff"], pa.large_string()),
            "flag": pa.array([True, None, False, True, False, True]),
            "nothing": pa.nulls(n),
        }
    )
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    upload(client, out.getvalue(), "every.parquet")
    for row in range(3):
        client.post("/api/this/label", json={"row": row, "label": "normal"})
    assert len(client.get("/api/this/rows").json()["rows"]) == n
    assert client.get("/api/this/row/0").json()["cells"][1] == str(2**55)
    for name in ("scores.csv", "scores.parquet", "report.html", "detector.safetensors"):
        answer = client.get(f"/api/this/export/{name}")
        assert answer.status_code == 200, answer.text
    frame = pd.read_csv(io.BytesIO(client.get("/api/this/export/scores.csv").content))
    assert frame["category"][0] == "'=a"
    exported = pyarrow.parquet.read_table(io.BytesIO(client.get("/api/this/export/scores.parquet").content))
    uploaded = pyarrow.parquet.read_table(io.BytesIO(out.getvalue())).flatten()
    assert (
        exported.select(uploaded.column_names).cast(uploaded.schema).to_pylist()[2:] == uploaded.to_pylist()[2:]
    )  # NaN


def test_a_file_of_every_known_format_is_read_by_its_suffix(client, monkeypatch):
    def read(path, text_columns=()):
        return pa.table({"x": [1.0, 2.0, 3.0], "y": [float(len(path.read_bytes())), 5.0, 6.0]})

    monkeypatch.setitem(FORMATS, ".made-up", FileFormat(read, lambda path, chunk_rows, kinds: iter(())))
    state = upload(client, b"\x00not csv\x00", "table.made-up")
    assert state["table"]["rows"] == 3
