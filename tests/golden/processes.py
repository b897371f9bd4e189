"""`python -m oddshot` as a user runs it: commands that end, and servers to speak HTTP with."""

import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx

import oddshot

PACKAGE_PARENT = Path(oddshot.__file__).resolve().parents[1]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
START_SECONDS = 60


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str


def environment(home: Path) -> dict[str, str]:
    """Of a user who has nothing yet, on a terminal of a fixed width; the package is the one imported here."""
    path = os.pathsep.join([str(PACKAGE_PARENT), *filter(None, [os.environ.get("PYTHONPATH")])])
    homes = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("STATE", "CACHE", "CONFIG", "DATA")}
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "PYTHONPATH": path,
        "PYTHONHASHSEED": "0",
        "COLUMNS": "100",
        "CUDA_VISIBLE_DEVICES": "",
        "ODDSHOT_DATA": str(home / "datasets"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "LANG": "C.UTF-8",
        **homes,
        **ONE_THREAD,
    }


def run_command(arguments: Sequence[str], folder: Path, env: Mapping[str, str]) -> Ended:
    """`python -m oddshot ARGUMENTS` in that folder, within this process: torch takes seconds to import."""
    before = Path.cwd(), dict(os.environ), sys.argv
    try:
        os.chdir(folder)
        _set_environment(env)
        sys.argv = ["oddshot", *arguments]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with _redirected(1, out.fileno()), _redirected(2, err.fileno()), warnings.catch_warnings():
                warnings.simplefilter("default")  # as each process does: what another command warned of is told again
                code = _run_main()
            return Ended(code, _text(out), _text(err))
    finally:
        os.chdir(before[0])
        _set_environment(before[1])
        sys.argv = before[2]


def _run_main() -> int:
    try:
        runpy.run_module("oddshot", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _set_environment(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@contextmanager
def _redirected(descriptor: int, to: int) -> Iterator[None]:
    """What is written to stdout (1) or stderr (2), by Python or by a library, goes to a file."""
    stream = (sys.stdout, sys.stderr)[descriptor - 1]
    stream.flush()
    kept = os.dup(descriptor)
    os.dup2(to, descriptor)
    try:
        yield
    finally:
        stream.flush()
        os.dup2(kept, descriptor)
        os.close(kept)


class Server:
    """A server that is started at once and asked for its address when it is needed."""

    def __init__(self, arguments: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "oddshot", *arguments]
        self._errors = open(folder / f"{arguments[0]}.log", "w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command, cwd=folder, env=dict(env), stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    @property
    def greeting(self) -> str:
        """The line that it prints when it listens."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            self._errors.seek(0)
            raise RuntimeError(f"the server did not start: {self._errors.read()}")
        return line

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(START_SECONDS)
        finally:
            self._process.kill()
            self._errors.close()
            if self._process.stdout is not None:
                self._process.stdout.close()


@contextmanager
def client_of(greeting: str, **settings: Any) -> Iterator[httpx.Client]:
    """Speaks with the server whose address is in the line that it printed."""
    url = next(word for word in greeting.split() if word.startswith("http://"))
    with httpx.Client(base_url=url, timeout=START_SECONDS, trust_env=False, **settings) as client:
        yield client
