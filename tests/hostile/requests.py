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
