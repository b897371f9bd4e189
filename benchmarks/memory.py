"""Memory of scoring one large Parquet file: `make bench-memory`, some minutes and 2 GB of disk."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks.models import M, fitted_detector
from benchmarks.timing import Verdict

N_ROWS, FEWER_ROWS, GROUP_ROWS = 20_000_000, 2_000_000, 1_000_000
NAMES = (
    f"scoring a Parquet file of {N_ROWS:,} rows × {M}: peak GB beyond the interpreter",
    f"scoring a Parquet file of {N_ROWS:,} rows × {M}: times the peak with {FEWER_ROWS:,} rows",
)
CODE = """
def peak():  # ru_maxrss would begin at what the parent has
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

before = peak()
from benchmarks.memory import score
score({folder!r})
print(peak() - before)
"""


def write_rows(path: Path, n_rows: int) -> None:
    """Standard normal float32 columns, which do not compress."""
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(M)])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for _ in range(n_rows // GROUP_ROWS):
            rows = rng.standard_normal((M, GROUP_ROWS), dtype=np.float32)
            writer.write_table(pa.table(list(rows), schema=schema))


def score(folder: str) -> None:
    """What the measured process does."""
    from oddshot.scoring.streaming import score_files

    score_files(fitted_detector(), [Path(folder) / "rows.parquet"], Path(folder) / "scores.parquet")


def peak_gb(n_rows: int) -> float:
    """The most memory that scoring so many rows takes, the interpreter's own left out."""
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder) / "rows.parquet", n_rows)
        command = [sys.executable, "-c", CODE.format(folder=folder)]
        kilobytes = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        assert pyarrow.parquet.read_metadata(Path(folder) / "scores.parquet").num_rows == n_rows
    return int(kilobytes) * 1024 / 1e9


def run() -> list[Verdict]:
    peak = peak_gb(N_ROWS)
    growth = peak / peak_gb(FEWER_ROWS)
    return [Verdict(NAMES[0], peak, 1.5, peak <= 1.5), Verdict(NAMES[1], growth, 1.1, growth <= 1.1)]
