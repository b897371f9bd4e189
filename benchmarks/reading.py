"""`python -m benchmarks.reading`: what the way from a CSV file to scores costs, step by step, beside pandas and Arrow.

Seconds of CPU time of all threads for a million rows of `benchmarks.encoding.mixed_table`, the shortest of several runs
in turn.
"""

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from sklearn.ensemble import IsolationForest

from benchmarks.encoding import mixed_table, write_csv
from benchmarks.timing import in_turn
from oddshot.adapted.task import AdaptedTask
from oddshot.data.encoding import Encoding
from oddshot.data.tables import read_table, stream_table
from oddshot.universal.shipped import find_model

N_ROWS, N_SCORED, N_LABELLED, REPEATS = 200_000, 20_000, 60, 9


def hand_written(table: pa.Table) -> pa.Table:
    """The same table with yes and no for true and false, and a dash for a gap."""
    gaps = table["gaps"].cast(pa.string()).fill_null("-")
    words = pa.array(np.where(table["boolean"].to_numpy(), "yes", "no"))
    for name, column in (("gaps", gaps), ("boolean", words)):
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def arrow_type(field: pa.Field) -> pa.DataType:
    """What oddshot asks of Arrow's reader: numbers as float64, categories as dictionaries, dates as text."""
    if pa.types.is_string(field.type):
        return pa.dictionary(pa.int32(), pa.string())
    return pa.string() if pa.types.is_timestamp(field.type) else pa.float64()


def reading(table: pa.Table, path: Path, hand_written_path: Path) -> dict[str, Callable[[], object]]:
    encoding = Encoding.fit([read_table(path)])
    types = {field.name: arrow_type(field) for field in table.schema} | {"boolean": pa.bool_()}
    options = {
        "read_options": pyarrow.csv.ReadOptions(use_threads=False, block_size=1 << 20),
        "convert_options": pyarrow.csv.ConvertOptions(column_types=types, check_utf8=False),
        "parse_options": pyarrow.csv.ParseOptions(quote_char=False),
    }

    def encode(path: Path) -> None:
        for chunk in stream_table(path, kinds=encoding.stored_kinds):
            encoding.transform(chunk)

    return {
        "`pandas.read_csv`": lambda: pd.read_csv(path),
        "Arrow's reader alone, one thread, types given": lambda: pyarrow.csv.read_csv(path, **options),
        "`stream_table`": lambda: list(map(len, stream_table(path, kinds=encoding.stored_kinds))),
        "`stream_table` and `Encoding.transform`": lambda: encode(path),
        "the same, with yes and no and a dash for a gap": lambda: encode(hand_written_path),
    }


def scoring(path: Path) -> dict[str, Callable[[], object]]:
    table = read_table(path).slice(0, N_SCORED)
    labels = np.resize([0] * 9 + [1], N_LABELLED).astype(np.int8)
    task = AdaptedTask.from_table(find_model(None, "cpu"), table.slice(0, N_LABELLED), labels)
    rows = task.encode(table, "rows")
    forest = IsolationForest(n_estimators=100, random_state=0).fit(rows)
    return {
        f"scores of encoded rows, {rows.shape[1]} attributes": lambda: task.score_encoded(rows),
        "scores of `IsolationForest(100)` of the same rows": lambda: forest.score_samples(rows),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    table = mixed_table(N_ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path, hand_written_path = Path(folder) / "mixed.csv", Path(folder) / "hand_written.csv"
        write_csv(table, path)
        write_csv(hand_written(table), hand_written_path)
        print("| a million rows, 20 mixed columns | seconds |\n| --- | --- |")
        for works, n_rows in ((reading(table, path, hand_written_path), N_ROWS), (scoring(path), N_SCORED)):
            for name, seconds in zip(works, in_turn(*works.values(), repeats=REPEATS), strict=True):
                print(f"| {name} | {seconds * 1e6 / n_rows:.2f} |")


if __name__ == "__main__":
    main()
