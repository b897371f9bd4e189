"""`make bench-service`: `oddshot serve` under wrk, on loopback; writes service.json, too, beside this file.

By the wall clock, so other work on the machine shows: `load_average` in the report is from before each run, and `cpu`
the seconds of CPU time that the service itself took. wrk must be installed (apt-get install wrk).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.models import NAMES, M, support, untrained_model
from benchmarks.timing import Verdict
from oddshot.data.tables.ipc import to_ipc
from oddshot.service.requests import ARROW, JSON

REPORT, SCRIPT = Path(__file__).with_name("service.json"), Path(__file__).with_name("service.lua")
SECONDS, WARM_UP, CONNECTIONS, BODIES = 60, 10, 16, 20
WORKERS = 2
BATCH = 512  # rows: with 16 connections and 200,000 rows a second, 41 ms of waiting


class Load(NamedTuple):
    """What wrk sends. rows: in one request."""

    title: str
    kind: str
    rows: int
    target: float


LOADS = (Load("single rows in JSON", JSON, 1, 1000), Load(f"Arrow batches of {BATCH} rows", ARROW, BATCH, 200_000))


def run(seconds: int = SECONDS) -> Iterator[Verdict]:
    """Yield the verdicts on a load when it is measured."""
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    verdicts: list[Verdict] = []
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        untrained_model().save(Path(folder) / "eigen.safetensors")
        for model in ("the model that ships", "eigen"):
            arguments = [str(Path(folder) / "eigen.safetensors")] if model == "eigen" else []
            for load in LOADS:
                figures = measure(load, arguments, Path(folder), seconds)
                runs.append({"model": model, "load": load.title, **figures})
                found = judge(f"{model}, {load.title}", load, figures)
                verdicts += found
                yield from (one.titled("service") for one in found)
    content = {"seconds": seconds, "verdicts": [one._asdict() for one in verdicts], "runs": runs}
    REPORT.write_text(json.dumps(content, indent=2) + "\n")


def judge(name: str, load: Load, figures: dict[str, Any]) -> list[Verdict]:
    rate = load.rows * figures["requests"] / figures["seconds"]
    p99, errors, growth = figures["p99_ms"], figures["errors"], figures["mb_after"] / figures["mb_before"]
    return [
        Verdict(f"{name}: rows a second", rate, load.target, rate >= load.target),
        Verdict(f"{name}: 99 % of answers within ms", p99, 50, p99 < 50),
        Verdict(f"{name}: errors", errors, 0, errors == 0),
        Verdict(f"{name}: memory after / after {WARM_UP} s", growth, 1.05, growth <= 1.05),
    ]


def measure(load: Load, arguments: list[str], folder: Path, seconds: int) -> dict[str, Any]:
    """wrk's figures, and the service's memory and CPU time."""
    with serving(arguments, folder) as (url, pid):
        path, bodies = prepare(load, url, folder)
        shoot(url, path, bodies, load.kind, WARM_UP)
        before, cpu, busy = memory_mb(pid), cpu_seconds(pid), os.getloadavg()[0]
        figures = shoot(url, path, bodies, load.kind, seconds)
        spent = cpu_seconds(pid) - cpu
        return {**figures, "mb_before": before, "mb_after": memory_mb(pid), "cpu": spent, "load_average": busy}


@contextmanager
def serving(arguments: list[str], folder: Path) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "oddshot", "serve", *arguments, "--port", "0", "--workers", str(WORKERS)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1], process.pid
    finally:
        process.terminate()
        process.wait()


def prepare(load: Load, url: str, folder: Path) -> tuple[str, list[Path]]:
    """The address to shoot at, by a detector's id, and bodies of different rows."""
    X, y = support()
    content = json.dumps({"columns": NAMES, "rows": X.tolist(), "labels": y.tolist()}).encode()
    request = urllib.request.Request(f"{url}/v1/adapt", content, {"Content-Type": JSON})
    with urllib.request.urlopen(request) as answer:
        name = json.load(answer)["id"]
    rng, bodies = np.random.default_rng(2), []
    for k in range(BODIES):
        rows = rng.normal(size=(load.rows, M))
        if load.kind == JSON:
            by_name = [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]
            body = json.dumps({"id": name, "rows": by_name}).encode()
        else:
            body = to_ipc(pa.table(dict(zip(NAMES, rows.T, strict=True))))
        bodies.append(folder / f"body{k}")
        bodies[-1].write_bytes(body)
    return "/v1/score" if load.kind == JSON else f"/v1/score?id={name}", bodies


def shoot(url: str, path: str, bodies: list[Path], kind: str, seconds: int) -> dict[str, Any]:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "10s", "-s", str(SCRIPT), url]
    wanted = {"BODIES": ":".join(map(str, bodies)), "MEDIA_TYPE": kind, "TARGET": path}
    shown = subprocess.run(command, env={**os.environ, **wanted}, capture_output=True, text=True, check=True).stdout
    figures: dict[str, Any] = json.loads(shown.strip().splitlines()[-1])
    return figures


def processes(pid: int) -> list[int]:
    """The service's own process and its workers."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def memory_mb(pid: int) -> float:
    lines = [line for one in processes(pid) for line in Path(f"/proc/{one}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def cpu_seconds(pid: int) -> float:
    fields = [Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split() for one in processes(pid)]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")
