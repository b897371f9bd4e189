"""Reading and encoding a large CSV file of mixed columns, against pandas.read_csv on the same file."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from benchmarks.timing import Verdict, best_seconds
from oddshot.data.encoding import Encoding
from oddshot.data.tables import read_table, stream_table

N_ROWS, REPEATS, TARGET = 1_000_000, 3, 0.8


def mixed_table(n_rows: int) -> pa.Table:
    """20 columns: 11 of decimals, one with gaps, 3 of whole numbers, 4 of categories, a boolean, a date."""
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {f"decimal{i}": rng.normal(size=n_rows) * 10.0**i for i in range(10)}
    columns["gaps"] = pa.array(rng.normal(size=n_rows), mask=rng.random(n_rows) < 0.1)
    columns |= {f"whole{i}": rng.integers(0, 1000, n_rows) for i in range(3)}
    for n_categories in (3, 5, 8, 12):
        names = np.array([f"category {i}" for i in range(n_categories)])
        columns[f"category{n_categories}"] = names[rng.integers(0, n_categories, n_rows)]
    columns["boolean"] = rng.random(n_rows) < 0.5
    columns["when"] = pa.array(rng.integers(1_500_000_000, 1_600_000_000, n_rows), pa.timestamp("s"))
    return pa.table(columns)


def write_csv(table: pa.Table, path: Path) -> None:
    """As most programs write it: no quotation marks where none are needed."""
    with open(path, "wb") as file:
        file.write((",".join(table.column_names) + "\n").encode())
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
        pyarrow.csv.write_csv(table, file, options)


def run() -> list[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.csv"
        write_csv(mixed_table(N_ROWS), path)
        encoding = Encoding.fit([read_table(path)])

        def encode() -> None:
            for chunk in stream_table(path, kinds=encoding.stored_kinds):
                encoding.transform(chunk)

        theirs = ours = float("inf")
        for _ in range(REPEATS):  # in turn, so that other work on the machine slows both
            theirs = min(theirs, best_seconds(lambda: pd.read_csv(path), repeats=1, clock=time.perf_counter))
            ours = min(ours, best_seconds(encode, repeats=1, clock=time.perf_counter))
    ratio = theirs / ours
    name = f"CSV of {N_ROWS:,} rows and 20 mixed columns, read and encoded: times the speed of pandas.read_csv"
    return [Verdict(name, ratio, TARGET, ratio >= TARGET)]
