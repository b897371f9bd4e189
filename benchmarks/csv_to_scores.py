"""A large CSV file of mixed columns to a file of scores, from a cold start, against pandas and IsolationForest.

Theirs is what one would write: `pandas.read_csv`, gaps filled with the median, a category as its code, true and false
as 1 and 0, a date as its seconds; IsolationForest of 100 trees, fitted to the file and scoring all of it; `to_csv`.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.encoding import mixed_table, write_csv
from benchmarks.timing import Verdict

N_ROWS, N_LABELLED, REPEATS = 1_000_000, 60, 2
PEAK = """
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
OURS = """
import sys
from oddshot.cli import main
options = ["--support=labelled.csv", "--label=fault", "--out=ours.csv", "--quiet"]
sys.argv = ["oddshot", "score", "new.csv", *options]
try:
    main()
except SystemExit as ended:
    assert ended.code == 0
"""
THEIRS = """
import pandas as pd
from sklearn.ensemble import IsolationForest
rows = pd.read_csv("new.csv")
rows["when"] = pd.to_datetime(rows["when"]).astype("int64")
for name in rows.columns[~rows.dtypes.map(pd.api.types.is_numeric_dtype)]:
    rows[name] = rows[name].astype("category").cat.codes
rows = rows.fillna(rows.median())
scores = IsolationForest(n_estimators=100, random_state=0).fit(rows).score_samples(rows)
pd.DataFrame({"score": scores}).to_csv("theirs.csv")
"""


class Cost(NamedTuple):
    """What a process took: seconds of CPU time and by the clock, and the most memory in GB."""

    cpu: float
    wall: float
    gb: float


def measure(code: str, folder: str) -> Cost:
    """The cost of a program in a process of its own, in this folder."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-c", code + PEAK]
    shown = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Cost(cpu, wall, int(shown.splitlines()[-1]) * 1024 / 1e9)


def write_files(folder: Path) -> None:
    table = mixed_table(N_ROWS)
    labels = (np.arange(N_LABELLED) % 10 == 9).astype(np.int8)
    write_csv(table, folder / "new.csv")
    write_csv(table.slice(0, N_LABELLED).append_column("fault", pa.array(labels)), folder / "labelled.csv")


def run() -> list[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        rounds = [(measure(OURS, folder), measure(THEIRS, folder)) for _ in range(REPEATS)]  # in turn
    ours, theirs = (Cost(*np.min(costs, axis=0).tolist()) for costs in zip(*rounds, strict=True))
    cpu, wall = theirs.cpu / ours.cpu, theirs.wall / ours.wall
    what = f"oddshot score of a CSV file of {N_ROWS:,} rows and 20 mixed columns"
    opponent = "pandas.read_csv and IsolationForest(100 trees)"
    return [
        Verdict(f"{what}: times the speed of {opponent}, by CPU time", cpu, 1.0, cpu >= 1.0),
        Verdict(f"{what}: times the speed of {opponent}, by the clock", wall, 1.0, wall >= 1.0),
        Verdict(f"{what}: peak GB", ours.gb, 1.0, ours.gb <= 1.0),
    ]
