"""How long the command line takes to say anything at all, and to score a small file with nothing loaded yet."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.models import NAMES, support
from benchmarks.timing import Verdict, best_seconds

N_ROWS = 200
HELP_TARGET, SCORE_TARGET = 0.3, 2.0


def command_seconds(*arguments: str) -> float:
    """The shortest of several runs of a command, by the wall clock: a person waits for it.

    As where it is installed, its modules are compiled once, whatever the environment says of writing bytecode.
    """
    command = [sys.executable, "-m", "oddshot", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return best_seconds(
        lambda: subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True),
        clock=time.perf_counter,
    )


def write_files(folder: Path) -> None:
    X, y = support()
    rows = np.random.default_rng(2).normal(size=(N_ROWS, len(NAMES)))
    pyarrow.csv.write_csv(pa.table([*X.T, y], [*NAMES, "fault"]), folder / "labelled.csv")
    pyarrow.csv.write_csv(pa.table(list(rows.T), NAMES), folder / "new.csv")


def run() -> list[Verdict]:
    told = command_seconds("--help")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        options = [f"--support={folder / 'labelled.csv'}", "--label=fault", f"--out={folder / 'scores.csv'}", "--quiet"]
        scored = command_seconds("score", str(folder / "new.csv"), *options)
    what = f"oddshot score of {N_ROWS} rows with the model that ships, from a cold start: seconds"
    return [
        Verdict("oddshot --help: seconds", told, HELP_TARGET, told <= HELP_TARGET),
        Verdict(what, scored, SCORE_TARGET, scored <= SCORE_TARGET),
    ]
