"""Every answer of `oddshot serve`, in JSON and in Arrow, and what it says of wrong requests."""

import json
import re
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.ipc

from tests.golden.processes import Server, client_of
from tests.golden.samples import labels, mixed, numbers

TOKEN = "a-token-for-tests"
ARGUMENTS = ("serve", "--port", "0", "--token", TOKEN, "--store", "detectors.sqlite")
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
NAMES = ["a", "b", "c"]


def record_service(server: Server) -> dict[str, Any]:
    """All routes with right and wrong requests."""
    greeting = server.greeting
    with client_of(greeting, headers={"authorization": f"Bearer {TOKEN}"}) as client:
        out = {
            "greeting": re.sub(r":\d+", ":PORT", greeting),
            "facts": {path: answer(client.get(path)) for path in ("/v1/model", "/healthz", "/openapi.json")},
            "headers": _headers(client.get("/healthz")),
            "adapted": _adapt(client),
            "scored": _score(client),
            "refused": _refusals(client),
            "metrics": _metrics(client),
        }
    out["exit code"] = server.stop()
    return out


def answer(response: httpx.Response) -> dict[str, Any]:
    """Status, type and content; JSON and Arrow as plain values."""
    kind = response.headers.get("content-type")
    if kind == JSON:
        content: Any = response.json()
    elif kind == ARROW:
        content = as_columns(pa.ipc.open_stream(response.content).read_all())
    else:
        content = response.text.splitlines()
    return {"status": response.status_code, "type": kind, "content": content}


def as_columns(table: Any) -> dict[str, Any]:
    """The columns of an Arrow table with their types."""
    return {f"{field.name}: {field.type}": table[field.name].to_pylist() for field in table.schema}


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name != "date"}


def _support(n: int = 12) -> dict[str, Any]:
    return {"columns": NAMES, "rows": numbers(1, n).tolist(), "labels": labels(n).tolist()}


def _mixed_rows(seed: int, n: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(mixed(seed, n).to_json(orient="records", date_format="iso"))
    return rows


def _mixed_support() -> dict[str, Any]:
    return {"rows": _mixed_rows(2, 20), "labels": labels(20).tolist()}


def _table(seed: int, n: int, **more: Any) -> Any:
    X = numbers(seed, n)
    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | more)


def _post(client: httpx.Client, path: str, content: Any) -> httpx.Response:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return client.post(path, content=data, headers={"content-type": JSON})


def _post_arrow(client: httpx.Client, path: str, table: Any, accept: str = JSON, **query: Any) -> httpx.Response:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    headers = {"content-type": ARROW, "accept": accept}
    return client.post(path, content=out.getvalue().to_pybytes(), headers=headers, params=query)


def _adapt(client: httpx.Client) -> dict[str, Any]:
    path = "/v1/adapt"
    dropped = {"rows": [{"a": x, "b": None} for x in (1.0, 2.0, 9.0)], "labels": [0, 0, 1]}
    far = {**_support(20), "rows": (numbers(1, 20) * 1e9).tolist()}
    return {
        "JSON": answer(_post(client, path, _support())),
        "again": answer(_post(client, path, _support())),
        "mixed": answer(_post(client, path, _mixed_support())),
        "rate": answer(_post(client, path, {**_support(), "false_positive_rate": 0.05})),
        "normal only": answer(_post(client, path, {**_support(4), "labels": [0, 0, -1, None]})),
        "a column of no use": answer(_post(client, path, dropped)),
        "far apart": answer(_post(client, path, far)),
        "Arrow": answer(_post_arrow(client, path, _table(1, 12, fault=labels(12)), label="fault")),
        "Arrow, rate": answer(_post_arrow(client, path, _table(1, 12, label=labels(12)), false_positive_rate=0.2)),
    }


def _score(client: httpx.Client) -> dict[str, Any]:
    path, new = "/v1/score", {"columns": NAMES, "rows": numbers(7, 10).tolist()}
    known = _post(client, "/v1/adapt", _support()).json()["id"]
    by_kind = _post(client, "/v1/adapt", _mixed_support()).json()["id"]
    by_name = [dict(zip(NAMES, row, strict=True)) for row in numbers(7, 10).tolist()]
    some = pa.array(["1", "0", "", "0"] + [None] * 16)
    gaps = {**new, "rows": [[None, 1.0, 2.0], [0.5, None, None]]}
    return {
        "by id": answer(_post(client, path, {"id": known, **new})),
        "by name": answer(_post(client, path, {"id": known, "rows": by_name})),
        "by support": answer(_post(client, path, {"support": _support(), **new})),
        "by support with a rate": answer(
            _post(client, path, {"support": {**_support(), "false_positive_rate": 0.3}, **new})
        ),
        "gaps": answer(_post(client, path, {"id": known, **gaps})),
        "mixed": answer(_post(client, path, {"id": by_kind, "rows": _mixed_rows(6, 8)})),
        "Arrow to Arrow": answer(_post_arrow(client, path, _table(5, 30), ARROW, id=known)),
        "Arrow to JSON": answer(_post_arrow(client, path, _table(5, 5), id=known)),
        "JSON to Arrow": answer(
            client.post(path, json={"id": known, **new}, headers={"accept": ARROW, "content-type": JSON})
        ),
        "Arrow with labels": answer(_post_arrow(client, path, _table(3, 20, fault=some), ARROW, label="fault")),
    }


def _refusals(client: httpx.Client) -> dict[str, Any]:
    known = _post(client, "/v1/adapt", _support()).json()["id"]
    row = {"a": 1.0, "b": 2.0, "c": 3.0}
    wrong_rows: dict[str, Any] = {
        "text": [{**row, "a": "x"}],
        "too large": [row, {**row, "b": 1e308}],
        "a list": [{**row, "a": [1]}],
        "a column too few": [{"a": 1, "b": 2}],
        "a column too many": [{**row, "d": 1}],
        "a column renamed": [{"a": 1, "b": 2, "C": 3}],
        "rows that differ": [row, {"a": 1, "b": 2}],
        "no rows": [],
        "no list": "x",
        "a row without names": [[1, 2, 3]],
    }
    wrong_supports: dict[str, bytes] = {
        "nothing": b"",
        "no JSON": b'{"rows": [',
        "NaN": b'{"rows": [{"a": NaN}], "labels": [0]}',
        "no object": b"[1]",
        "no labels": b'{"rows": [{"a": 1}]}',
        "too few labels": b'{"rows": [{"a": 1}], "labels": []}',
        "a wrong label": b'{"rows": [{"a": 1}], "labels": [2]}',
        "no normal row": b'{"rows": [{"a": 1}], "labels": [1]}',
        "no useful column": b'{"rows": [{"a": null}], "labels": [0]}',
        "a wrong rate": b'{"rows": [{"a": 1}], "labels": [0], "false_positive_rate": 2}',
        "an unknown field": b'{"rows": [], "lables": []}',
        "a name twice": b'{"rows": [[1, 2]], "columns": ["a", "a"], "labels": [0]}',
        "a wrong width": b'{"rows": [[1]], "columns": ["a", "b"], "labels": [0]}',
    }
    out = {f"rows: {name}": _post(client, "/v1/score", {"id": known, "rows": x}) for name, x in wrong_rows.items()}
    out |= {f"support: {name}": _post(client, "/v1/adapt", data) for name, data in wrong_supports.items()}
    out |= _wrong_ways(client, known)
    return {title: answer(response) for title, response in out.items()}


def _wrong_ways(client: httpx.Client, known: str) -> dict[str, httpx.Response]:
    """Requests that are wrong apart from rows and labels."""
    rows = [{"a": 1.0, "b": 2.0, "c": 3.0}]
    return {
        "no such path": client.get("/v1/nothing"),
        "no such method": client.get("/v1/score"),
        "no such id": _post(client, "/v1/score", {"id": "x", "rows": rows}),
        "neither id nor support": _post(client, "/v1/score", {"rows": rows}),
        "both": _post(client, "/v1/score", {"id": known, "support": _support(), "rows": rows}),
        "no rows": _post(client, "/v1/score", {"id": known}),
        "form": client.post("/v1/adapt", data={"a": "1"}),
        "no type": client.post("/v1/adapt", content=b"{}"),
        "no Arrow": client.post("/v1/adapt", content=b"junk", headers={"content-type": ARROW}),
        "Arrow without labels": _post_arrow(client, "/v1/adapt", _table(1, 5)),
        "Arrow, neither": _post_arrow(client, "/v1/score", _table(1, 5)),
        "Arrow, another query": _post_arrow(client, "/v1/score", _table(1, 5), id=known, colour="red"),
        "JSON with a query": client.post("/v1/adapt?x=1", json=_support()),
        "no token": client.get("/v1/model", headers={"authorization": ""}),
        "a wrong token": client.get("/v1/model", headers={"authorization": "Bearer x"}),
        "another host": client.get("/v1/model", headers={"host": "evil.example"}),
        "another origin": client.get("/v1/model", headers={"origin": "http://evil.example"}),
    }


def _metrics(client: httpx.Client) -> dict[str, Any]:
    """The names and the counts; seconds differ each time."""
    found = answer(client.get("/metrics"))
    lines = [line for line in found["content"] if line.startswith("#") or "seconds" not in line]
    return {**found, "content": [line for line in lines if "batch" not in line]}
