"""Requests to the service: broken ones are refused in one sentence, and memory stays flat over thousands of tasks."""

import gc
import json
import os
from typing import Any

import numpy as np
import pyarrow as pa
from starlette.testclient import TestClient

from oddshot.data.tables.ipc import to_ipc
from oddshot.service.limits import ServiceLimits
from oddshot.service.requests import ARROW, JSON
from oddshot.service.routes import build_service
from oddshot.universal.shipped import load_universal
from tests.hostile.log import TrialLog

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1e308,
        10**400,
        float("nan"),
        float("inf"),
        "",
        "x",
        "NA",
        "1,5",
        "2024-01-01",
        "\x1b[0m",
        "=1",
    ),
    *([], [1], {}, {"a": 1}, [[1]], "9" * 500, -0.0, 5e-324, "true", "日本"),
)
FIELDS = ("rows", "labels", "columns", "false_positive_rate", "kinds", "id", "support", "nonsense")
PATHS = (
    "/v1/adapt",
    "/v1/score",
    "/v1/model",
    "/healthz",
    "/metrics",
    "/v1/adapt?label=a",
    "/v1/score?id=a",
    "/nowhere",
)
LIMITS = ServiceLimits(max_cached_bytes=64 * 2**20)
WIDTHS = (1, 3, 20, 60, 200)
N_WARM_UP = 200
MAX_GROWTH_BYTES = 64 * 2**20  # of the process beyond the cache, over all tasks


def try_requests(log: TrialLog, seed: int, n: int) -> None:
    client = _client()
    with log.door("requests") as attempt:
        for k in range(n):
            rng = np.random.default_rng([seed, k])
            body, media_type = _body(rng)
            path, method = str(rng.choice(PATHS)), "GET" if rng.random() < 0.1 else "POST"

            def send(path: str = path, method: str = method, body: bytes = body, kind: str = media_type) -> None:
                answer = client.request(method, path, content=body, headers={"content-type": kind})
                assert answer.status_code < 500, f"{answer.status_code} {answer.text[:200]}"
                if answer.status_code >= 400:
                    assert list(answer.json()) == ["error"], answer.text[:200]

            attempt(f"seed {seed}, {k}: {method} {path}", send)


def try_dictionaries(log: TrialLog, seed: int, n: int) -> None:
    """Dictionary-encoded and run-end encoded columns with null, repeated values and odd codes."""
    client = _client()
    with log.door("dictionaries") as attempt:
        for k in range(n):
            rng = np.random.default_rng([seed, k])

            def send(rng: np.random.Generator = rng) -> None:
                body = to_ipc(_encoded_table(rng))
                path = str(rng.choice(["/v1/adapt?label=label", "/v1/score?label=label"]))
                answer = client.post(path, content=body, headers={"content-type": ARROW})
                assert answer.status_code < 500, f"{answer.status_code} {answer.text[:200]}"
                if answer.status_code >= 400:
                    assert list(answer.json()) == ["error"], answer.text[:200]

            attempt(f"seed {seed}, {k}", send)


def try_many_tasks(log: TrialLog, seed: int, n: int) -> None:
    """Tasks of mixed widths, each adapted to and scored: the memory of the process stays flat."""
    client = _client()
    sizes = []
    with log.door("tasks in memory") as attempt:
        for k in range(n):
            rng = np.random.default_rng([seed, k])

            def adapt_and_score(rng: np.random.Generator = rng) -> None:
                width = int(rng.choice(WIDTHS))
                names = [f"x{j}" for j in range(width)]
                support = {"columns": names, "rows": rng.normal(size=(8, width)).tolist(), "labels": [0] * 6 + [1] * 2}
                answer = client.post("/v1/adapt", json=support)
                assert answer.status_code == 200, answer.text[:200]
                rows = {"id": answer.json()["id"], "columns": names, "rows": rng.normal(size=(70, width)).tolist()}
                answer = client.post("/v1/score", json=rows)
                assert answer.status_code == 200, answer.text[:200]

            attempt(f"seed {seed}, {k}", adapt_and_score)
            if k % N_WARM_UP == 0:
                sizes.append(_resident_bytes())
        attempt("memory", lambda: _check_growth(sizes))


def _check_growth(sizes: list[int]) -> None:
    growth = max(sizes[2:], default=0) - sizes[min(1, len(sizes) - 1)]
    allowed = LIMITS.max_cached_bytes + MAX_GROWTH_BYTES
    assert growth < allowed, f"{growth >> 20} MiB more, {allowed >> 20} are allowed"


def _resident_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _client() -> TestClient:
    app = build_service(load_universal(), "127.0.0.1", None, LIMITS)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def _body(rng: np.random.Generator) -> tuple[bytes, str]:
    if rng.random() < 0.2:
        data = bytearray(to_ipc(_odd_arrow_table(rng)))
        for _ in range(int(rng.integers(0, 3))):
            data[rng.integers(len(data))] = rng.integers(256)
        return bytes(data), ARROW
    if rng.random() < 0.1:
        return rng.bytes(int(rng.integers(0, 200))), str(rng.choice([JSON, ARROW, "text/plain", ""]))
    content: Any = {
        "rows": rng.normal(size=(6, 3)).tolist(),
        "columns": ["a", "b", "c"],
        "labels": [0, 0, 0, 0, 1, -1],
    }
    for _ in range(int(rng.integers(0, 4))):
        _change(content, rng)
    if rng.random() < 0.3:
        content = {"support": content, "rows": content.get("rows"), "columns": content.get("columns")}
    return json.dumps(content).encode(), JSON


def _change(content: dict[str, Any], rng: np.random.Generator) -> None:
    field, value = str(rng.choice(FIELDS)), VALUES[rng.integers(len(VALUES))]
    inner = content.get(field)
    if isinstance(inner, list) and inner and rng.random() < 0.7:
        at = int(rng.integers(len(inner)))
        if isinstance(inner[at], list) and inner[at] and rng.random() < 0.7:
            inner[at][int(rng.integers(len(inner[at])))] = value
        else:
            inner[at] = value
    elif rng.random() < 0.3:
        content.pop(field, None)
    else:
        content[field] = value


def _odd_arrow_table(rng: np.random.Generator) -> pa.Table:
    types = [
        *(pa.float64(), pa.float16(), pa.int64(), pa.uint64(), pa.string(), pa.large_binary(), pa.bool_(), pa.date64()),
        *(pa.timestamp("ns", "Europe/Berlin"), pa.duration("us"), pa.decimal256(60, 10), pa.time64("ns"), pa.null()),
        *(pa.list_(pa.int8()), pa.struct([("u", pa.int8())]), pa.dictionary(pa.int8(), pa.string())),
    ]
    columns = {}
    for name in ("a", "b", "label")[: int(rng.integers(1, 4))]:
        column_type = types[rng.integers(len(types))]
        whole = rng.integers(-(2**62), 2**62, 6) if rng.random() < 0.5 else rng.integers(0, 2, 6)
        try:
            columns[name] = pa.array(whole.tolist()).cast(column_type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            columns[name] = pa.nulls(6, column_type)
    return pa.table(columns)


def _encoded_table(rng: np.random.Generator) -> pa.Table:
    """Rows of which some columns are dictionaries or runs of values of any type, null among them."""
    n = int(rng.integers(8, 40))
    columns: dict[str, Any] = {"a": rng.normal(size=n), "label": pa.array([0, 0, 0, 1] + [-1] * (n - 4))}
    for name in ("b", "label")[: 1 + (rng.random() < 0.2)]:
        values = _odd_values(rng)
        if rng.random() < 0.8:
            indices = pa.array(rng.integers(0, len(values), n), mask=rng.random(n) < 0.1)
            kinds = [pa.int8(), pa.uint16(), pa.int32(), pa.int64()]
            columns[name] = pa.DictionaryArray.from_arrays(indices.cast(kinds[rng.integers(len(kinds))]), values)
        else:
            ends = np.linspace(0, n, len(values) + 1).astype(int)[1:]
            columns[name] = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), values)
    return pa.table(columns).slice(int(rng.integers(0, 2)))


def _odd_values(rng: np.random.Generator) -> Any:
    """Some values of one type, mostly with null, now and then twice the same or null alone."""
    types = [pa.float64(), pa.int64(), pa.string(), pa.large_string(), pa.string_view(), pa.bool_(), pa.date32()]
    types += [pa.timestamp("us"), pa.decimal128(12, 2), pa.binary(), pa.list_(pa.int8()), pa.duration("s")]
    kind = types[rng.integers(len(types))]
    cells: list[Any] = [[1], [2], None] if pa.types.is_list(kind) else rng.integers(0, 4, 5).tolist()
    if pa.types.is_binary(kind):
        cells = [b"a", b"b", None]
    elif pa.types.is_boolean(kind):
        cells = [True, False, None]
    elif rng.random() < 0.7 and not pa.types.is_list(kind):
        cells[int(rng.integers(len(cells)))] = None
    if rng.random() < 0.1:
        cells = [None] * 3
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if is_text:
        cells = [None if cell is None else str(cell) for cell in cells]
    return pa.array(cells, kind)
