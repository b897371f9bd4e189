"""Records what the package does, and compares: the proof that a change of its insides changes nothing outside.

    python -m tests.golden.behaviour record FILE
    python -m tests.golden.behaviour compare FILE

Only public names, commands and HTTP are used: `python -m oddshot` in this process for commands that end, and in
processes of their own for the two servers. All have one thread, so that the same machine gives the same numbers.
"""

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.golden.comparing import SAME_MACHINE, Tolerance, differences, plain, to_text

MAX_LINES = 50
LIBRARIES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "typer", "catboost", "xgboost-cpu")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def record() -> dict[str, Any]:
    """Everything, by part."""
    os.environ.update(dict.fromkeys(THREADS, "1"), CUDA_VISIBLE_DEVICES="", COLUMNS="100")  # before torch is imported
    import torch

    torch.set_num_threads(1)
    from tests.golden import of_app, of_commands, of_files, of_methods, of_service, of_shipped
    from tests.golden.processes import Server, environment

    # Training the methods takes as long as all other parts together: a process of its own does it beside them.
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(1, get_context("spawn")) as pool:
        place, methods = Path(name), pool.submit(of_methods.record_methods)
        servers = []
        try:
            for part in (of_service, of_app):
                home = place / part.ARGUMENTS[0]
                home.mkdir()
                servers.append(Server(part.ARGUMENTS, home, environment(home)))
            found = {
                "commands": of_commands.record_commands(place, environment(place / "home")),
                "service": of_service.record_service(servers[0]),
                "app": of_app.record_app(servers[1]),
                "shipped": of_shipped.record_shipped(),
                "files": of_files.record_files(),
                "methods": methods.result(),
            }
        finally:
            for server in servers:
                server.stop()
    return plain({"versions": {name: _version(name) for name in LIBRARIES}, **found})


def compare(expected: dict[str, Any], found: dict[str, Any], tolerance: Tolerance) -> list[str]:
    """MAX_LINES lines at most that tell where they differ, and where they do, which libraries do; [] for the same."""
    before, now = (one.get("versions", {}) for one in (expected, found))
    lines = list(differences({**expected, "versions": None}, {**found, "versions": None}, tolerance))
    if not lines:
        return []
    libraries = [f"recorded with {name} {before[name]}, here {now.get(name)}" for name in before]
    libraries = [line for name, line in zip(before, libraries, strict=True) if before[name] != now.get(name)]
    room = MAX_LINES - len(libraries)
    if len(lines) > room:
        lines[room - 1 :] = [f"... and {len(lines) - room + 1} more"]
    return lines + libraries


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "missing"


def main(arguments: list[str] | None = None) -> int:
    """The command line; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.behaviour", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("record", "compare", "files"))
    parser.add_argument("file", type=Path, nargs="?", help="the recording; not for `files`, which makes old files anew")
    parser.add_argument("--rtol", type=float, default=SAME_MACHINE.relative, help="of floats, for `compare`")
    given = parser.parse_args(arguments)
    import oddshot

    print(f"oddshot of {oddshot.__file__}", file=sys.stderr)
    if given.command == "files":
        from tests.golden.of_files import make_files

        make_files()
        return 0
    if given.file is None:
        parser.error("which file?")
    if given.command == "record":
        given.file.write_text(to_text(record()) + "\n", encoding="utf-8")
        return 0
    lines = compare(
        json.loads(given.file.read_text(encoding="utf-8")), record(), SAME_MACHINE._replace(relative=given.rtol)
    )
    print("\n".join(lines) or "nothing differs")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
