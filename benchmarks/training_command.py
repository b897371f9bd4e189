"""`oddshot train` as people run it: a wide fleet and a long one, with all candidates compared, on all cores."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.timing import Verdict

N_ROWS = 200


class Fleet(NamedTuple):
    """How large a fleet is, and the seconds by the clock that its training may take on two cores."""

    n_tasks: int
    n_columns: int
    target: float


FLEETS = (Fleet(10, 512, 60.0), Fleet(100, 20, 30.0))


def write_fleet(folder: Path, fleet: Fleet) -> None:
    """Tables with columns that correlate otherwise in each; a tenth of the rows are off in a fifth of the columns."""
    rng, n = np.random.default_rng(0), fleet.n_columns
    y = (np.arange(N_ROWS) % 10 == 0).astype(np.int8)
    names = [*(f"x{j}" for j in range(n)), "fault"]
    for k in range(fleet.n_tasks):
        X = rng.normal(size=(N_ROWS, n)) @ rng.normal(size=(n, n)) / n**0.5
        X[y == 1] += 2 * rng.normal(size=n) * (rng.random(n) < 0.2)
        pyarrow.csv.write_csv(pa.table([*X.T, y], names), folder / f"machine{k}.csv")


def training_seconds(fleet: Fleet) -> float:
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # of `make bench`; here all cores count
    environment = {name: value for name, value in os.environ.items() if name not in one_thread}
    with tempfile.TemporaryDirectory() as folder:
        write_fleet(Path(folder), fleet)
        command = [sys.executable, "-m", "oddshot", "train", "*.csv", "--label=fault", "--out=model.safetensors"]
        started = time.perf_counter()
        subprocess.run([*command, "--quiet", "--device=cpu"], cwd=folder, env=environment, check=True)
        return time.perf_counter() - started


def run() -> list[Verdict]:
    verdicts = []
    for fleet in FLEETS:
        seconds = training_seconds(fleet)
        name = f"oddshot train of {fleet.n_tasks} tasks × {fleet.n_columns} columns, {N_ROWS} rows each: seconds"
        verdicts.append(Verdict(name, seconds, fleet.target, seconds <= fleet.target))
    return verdicts
