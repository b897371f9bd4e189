"""Commands and servers killed at random moments, or with a full disk: files are old, new or absent, never parts."""

import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from oddshot import load_model
from oddshot.bench.store import read_store
from tests.bench.samples import write_plugin
from tests.hostile.log import TrialLog
from tests.processes import started

N_ROWS = 4000
MAX_SECONDS = 240.0  # of one try, which starts processes
LIMIT_BYTES = (0, 512, 4096, 60_000)  # of files, in place of a full disk


def try_kills(log: TrialLog, seed: int, n: int) -> None:
    """n kills of each of train, score, bench, app and service."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_tables(folder)
        for door, one_kill in (
            ("train", _train),
            ("score", _score),
            ("bench", _bench),
            ("app", _app),
            ("service", _service),
        ):
            with log.door(f"kill -9 of {door}", MAX_SECONDS) as attempt:
                for k in range(n):
                    rng = np.random.default_rng([seed, k])
                    attempt(f"seed {seed}, {k}", lambda kill=one_kill, rng=rng: kill(folder, rng))


def try_signals(log: TrialLog, seed: int, n: int) -> None:
    """train and score are asked to end at random moments: nothing temporary is left, and files are old or complete."""
    with tempfile.TemporaryDirectory() as name, log.door("signals", MAX_SECONDS) as attempt:
        folder = Path(name)
        _write_tables(folder)
        for k in range(n):
            rng = np.random.default_rng([seed, k])
            attempt(f"seed {seed}, {k}", lambda rng=rng: _signal(folder, rng))


def _signal(folder: Path, rng: np.random.Generator) -> None:
    out = folder / ("signalled.csv" if rng.random() < 0.5 else "signalled.safetensors")
    out.write_text("old")
    arguments = _score_arguments(folder, out) if out.suffix == ".csv" else _train_arguments(folder, out)
    before, number = sorted(os.listdir(folder)), rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    with tempfile.TemporaryDirectory() as temporary:
        with started(_command(*arguments), env={**os.environ, "TMPDIR": temporary}) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.5, 4))
            process.send_signal(int(number))
            _, errors = process.communicate(timeout=120)
        # In the first moments Python itself starts, and the signal ends it before the command could.
        if process.returncode not in (0, 130):
            assert process.returncode == -number or "KeyboardInterrupt" in errors, errors[-300:]
        left = [name for name in os.listdir(temporary) if not name.startswith("torch")]  # which keeps a cache there
        assert not left, f"left over in the temporary folder: {left}"
    assert sorted(os.listdir(folder)) == before, "left over beside the output"
    if out.read_bytes() != b"old":
        load_model(out) if out.suffix == ".safetensors" else pd.read_csv(out)


def try_full_disk(log: TrialLog, seed: int, n: int) -> None:
    """Writing stops at some size, as on a full disk: one line, and the old file is still there."""
    with tempfile.TemporaryDirectory() as name, log.door("full disk", MAX_SECONDS) as attempt:
        folder = Path(name)
        _write_tables(folder)
        for k in range(n):
            rng = np.random.default_rng([seed, k])
            attempt(f"seed {seed}, {k}", lambda rng=rng: _write_on_full_disk(folder, rng))


def _write_on_full_disk(folder: Path, rng: np.random.Generator) -> None:
    limit = int(rng.choice(LIMIT_BYTES))
    out = folder / ("scores.csv" if rng.random() < 0.5 else "model.safetensors")
    out.write_text("old")

    def restrict() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    arguments = _score_arguments(folder, out) if out.suffix == ".csv" else _train_arguments(folder, out)
    done = subprocess.run(_command(*arguments), capture_output=True, text=True, preexec_fn=restrict, timeout=120)
    if done.returncode == 0:
        assert out.read_text(errors="replace") != "old", "nothing was written"
        return
    assert "Traceback" not in done.stderr, done.stderr[-300:]
    assert out.read_text() == "old", "the old file is lost"


def _train(folder: Path, rng: np.random.Generator) -> None:
    out = folder / "killed_model.safetensors"
    _kill(_train_arguments(folder, out), rng.uniform(0.5, 6))
    if out.exists():
        load_model(out)
    _no_leftovers_are_taken_for_results(folder, out)


def _score(folder: Path, rng: np.random.Generator) -> None:
    out = folder / "killed_scores.csv"
    out.unlink(missing_ok=True)
    _kill(_score_arguments(folder, out), rng.uniform(0.5, 4))
    if out.exists():
        assert len(pd.read_csv(out)) == N_ROWS, "a part of the rows"
    _no_leftovers_are_taken_for_results(folder, out)


def _bench(folder: Path, rng: np.random.Generator) -> None:
    store = folder / "results.db"
    arguments = ["bench", "run", "--protocol", "published", "--store", store, "--datasets", "toy", "--device", "cpu"]
    arguments += ["--methods", "quick", "--plugin", write_plugin(folder), "--splits", 200, "--set", "quick.pause=0.01"]
    told = _kill(arguments, rng.uniform(1.5, 4))
    acknowledged = set(re.findall(r"^toy split (\d+) (\w+): AUC", told, re.MULTILINE))
    kept = [(str(run.split), run.method) for run in read_store(store)] if store.exists() else []
    assert len(kept) == len(set(kept)), "a run is there twice"
    assert acknowledged <= set(kept), "an acknowledged run is lost"


def _app(folder: Path, rng: np.random.Generator) -> None:
    home = {"XDG_STATE_HOME": str(folder / "home"), "HOME": str(folder / "home")}
    arguments = ("app", folder / "support.csv", "--no-browser", "--port", 0)
    given: dict[str, int] = {}

    def label(url: str) -> None:
        table = _ask(f"{url}/api/tables")["tables"][0]["id"]
        state = _ask(f"{url}/api/tables/{table}/state")
        before.update({str(row): value for row, value in state["labels"]["rows"].items()})
        for row in rng.integers(0, 12, 8).tolist():
            name = ("normal", "anomaly")[int(rng.integers(2))]
            _ask(f"{url}/api/tables/{table}/label", {"row": row, "label": name})
            given[str(row)] = int(name == "anomaly")

    before: dict[str, int] = {}
    _kill_server(arguments, rng.uniform(0, 1.5), label, home)
    found: dict[str, int] = {}

    def look(url: str) -> None:
        table = _ask(f"{url}/api/tables")["tables"][0]["id"]
        found.update(_ask(f"{url}/api/tables/{table}/state")["labels"]["rows"])

    _kill_server(arguments, None, look, home)
    lost = {row for row, value in {**before, **given}.items() if found.get(row) != value}
    assert len(lost) <= 1, f"labels of rows {lost} are lost"  # the last may have been killed between save and answer


def _service(folder: Path, rng: np.random.Generator) -> None:
    arguments = ("serve", "--port", 0, "--store", folder / "detectors.sqlite")
    known: list[str] = []

    def adapt(url: str) -> None:
        for _ in range(20):
            rows = rng.normal(size=(6, 3)).tolist()
            body = {"columns": ["a", "b", "c"], "rows": rows, "labels": [0, 0, 0, 0, 0, 1]}
            known.append(_ask(f"{url}/v1/adapt", body)["id"])

    def score(url: str) -> None:
        for name in known:
            _ask(f"{url}/v1/score", {"id": name, "columns": ["a", "b", "c"], "rows": [[0.1, 0.2, 0.3]]})

    _kill_server(arguments, rng.uniform(0, 1), adapt)
    _kill_server(arguments, None, score)


def _kill(arguments: list[object], seconds: float) -> str:
    """Start a command, kill it and all that it started after some seconds, and return what it said."""
    process = subprocess.Popen(
        _command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[1]


def _kill_server(
    arguments: tuple[object, ...],
    seconds: float | None,
    use: Callable[[str], None],
    variables: dict[str, str] | None = None,
) -> None:
    """Start a server and kill it while it is used, after some seconds; None: when that is done."""
    command = _command(*arguments)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **(variables or {})}
    )
    assert process.stdout is not None
    found = re.search(r"http://[\w.:]+", process.stdout.readline())
    assert found is not None, "the server did not start"
    killer = None
    if seconds is not None:
        killer = subprocess.Popen(["sh", "-c", f"sleep {seconds:.3f}; kill -9 {process.pid}"])
    try:
        use(found[0])
    except (OSError, http.client.HTTPException):  # the server was killed before or within its answer
        if seconds is None:
            raise
    finally:
        if killer is not None:
            killer.wait()
        process.kill()
        process.communicate()


def _ask(url: str, body: object = None) -> dict[str, object] | object:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{error.code} {error.read()[:200]!r}") from error


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "oddshot", *map(str, arguments)]


def _write_tables(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name, n in (("support.csv", 12), ("rows.csv", N_ROWS), *((f"task{t}.csv", 60) for t in range(3))):
        frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
        if name != "rows.csv":
            frame["label"] = np.repeat([0, 1], [n - n // 6, n // 6])
        frame.to_csv(folder / name, index=False)


def _train_arguments(folder: Path, out: Path) -> list[object]:
    tables = [folder / f"task{t}.csv" for t in range(3)]
    return ["train", *tables, "--label", "label", "--method", "eigen", "--epochs", 3, "--out", out]


def _score_arguments(folder: Path, out: Path) -> list[object]:
    return ["score", folder / "rows.csv", "--support", folder / "support.csv", "--label", "label", "--out", out]


def _no_leftovers_are_taken_for_results(folder: Path, out: Path) -> None:
    """What a killed command leaves has no name that a person would take for a result."""
    others = [path.name for path in folder.glob(f"{out.stem}*") if path != out]
    assert not others, f"left over: {others}"
