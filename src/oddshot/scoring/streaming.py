"""Scoring of files chunk by chunk: memory does not grow with their size, and the output is written atomically."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from oddshot.adapted.monitor import ScoringMonitor
from oddshot.adapted.result import SCHEMA as RESULT_SCHEMA
from oddshot.adapted.task import AdaptedTask
from oddshot.data.files import atomic_path
from oddshot.data.tables import stream_table
from oddshot.errors import InputError
from oddshot.scoring.kept_columns import as_first_types, check_kept_names, split_kept, without_formulas

SCHEMA = pa.schema([("file", pa.string()), ("row", pa.int64()), *RESULT_SCHEMA])

_WRITERS: dict[str, Any] = {".csv": pyarrow.csv.CSVWriter, ".parquet": pyarrow.parquet.ParquetWriter}

FileChunk = tuple[str, pa.Table]
"""The name of a file, and the scores of some of its rows: a table with SCHEMA, and kept columns after the row."""

ScoredChunk = tuple[NDArray[np.float64], pa.Table]
"""The scores of some rows of a file, [n], and their kept columns."""

ScoreFunction = Callable[[AdaptedTask, Sequence[Path], Sequence[str]], Iterator[FileChunk]]


@dataclass(frozen=True)
class ScoredCounts:
    """The number of rows that were scored, and the number of anomalies among them."""

    rows: int
    anomalies: int


def score_files(
    task: AdaptedTask,
    files: Sequence[Path],
    out: Path,
    on_rows: Callable[[str, int], None] | None = None,
    score: ScoreFunction | None = None,
    keep: Sequence[str] = (),
) -> ScoredCounts:
    """Write the scores of all rows of the files, in order, to `out` (.csv or .parquet).

    on_rows: called with the name of the file and the number of rows of each chunk. score: yields the chunks of all
    files in order; by default the files are scored in this process. keep: the names of columns to copy.
    """
    check_output(out)
    check_kept_names(keep, SCHEMA.names)
    rows = anomalies = 0
    suffix, writer = out.suffix.lower(), None
    with (
        atomic_path(out) as temporary,
        open(temporary, "wb") as opened,  # by its path, Arrow cannot open a file in a folder whose name is not UTF-8
        ExitStack() as stack,
    ):
        for file, part in (score or score_in_process)(task, files, keep):
            if writer is None:
                schema = part.schema  # of the first file: the types of kept columns are known by now
                writer = stack.enter_context(_WRITERS[suffix](opened, schema))
            part = as_first_types(part, schema, file)
            writer.write(part if suffix == ".parquet" else _for_spreadsheets(part))
            rows += len(part)
            anomalies += int(np.sum(part["anomaly"]))
            if on_rows is not None:
                on_rows(file, len(part))
    return ScoredCounts(rows, anomalies)


def score_in_process(task: AdaptedTask, files: Sequence[Path], keep: Sequence[str] = ()) -> Iterator[FileChunk]:
    """Yield each file's name with each chunk of its scores, computed in this process."""
    for file in map(str, files):
        yield from file_chunks(task, score_chunks(task, file, keep), file)


def score_chunks(task: AdaptedTask, file: str, keep: Sequence[str] = ()) -> Iterator[ScoredChunk]:
    """Yield the scores of a file's rows in chunks, with the columns to keep."""
    first, monitor = 1, ScoringMonitor(task)
    for chunk in stream_table(file, kinds=task.encoding.stored_kinds):
        rows, kept = split_kept(chunk, keep, task, file)
        scores = task.score_encoded(monitor.encode(rows, file, first))
        first += len(scores)
        yield scores, kept
    for notice in monitor.notices():
        warnings.warn(f"{file}: {notice}", stacklevel=2)


def file_chunks(task: AdaptedTask, chunks: Iterable[ScoredChunk], file: str) -> Iterator[FileChunk]:
    """Yield a file's name with the output rows of each chunk of its scores, which are in order."""
    first = 1
    for chunk in chunks:
        part = _to_table(task, chunk, file, first)
        yield file, part
        first += len(part)


def _to_table(task: AdaptedTask, chunk: ScoredChunk, file: str, first: int) -> pa.Table:
    """The output rows of a chunk; the first of them belongs to row number `first` of its file, counted from 1."""
    scores, kept = chunk
    row_numbers = pa.array(np.arange(first, first + len(scores)))
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(scores), np.int32)), [file]).cast(pa.string())
    fields = [*list(SCHEMA)[:2], *kept.schema, *RESULT_SCHEMA]
    columns = [names, row_numbers, *kept.columns, *task.decide(scores).to_table().columns]
    return pa.table(columns, schema=pa.schema(fields))


def _for_spreadsheets(part: pa.Table) -> pa.Table:
    """Output rows for a file that a spreadsheet may open."""
    return pa.table(list(map(without_formulas, part.columns)), schema=part.schema)


def check_output(out: Path) -> None:
    """Refuse a file whose suffix names no format of scores."""
    if out.suffix.lower() not in _WRITERS:
        raise InputError(f"{out}: scores are written as .csv or .parquet, by the name's ending")
