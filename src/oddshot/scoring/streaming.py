"""Scoring of files chunk by chunk: memory does not grow with their size, and the output is written atomically."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
from oddshot.data.tables.spreadsheet_text import escape_formulas
from oddshot.errors import InputError

SCHEMA = pa.schema([("file", pa.string()), ("row", pa.int64()), *RESULT_SCHEMA])

_WRITERS: dict[str, Any] = {".csv": pyarrow.csv.CSVWriter, ".parquet": pyarrow.parquet.ParquetWriter}

FileChunk = tuple[str, pa.Table]  # the name of a file, and the scores of some of its rows in a table with SCHEMA


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
    score: Callable[[AdaptedTask, Sequence[Path]], Iterator[FileChunk]] | None = None,
) -> ScoredCounts:
    """Write the scores of all rows of the files, in order, to `out` (.csv or .parquet).

    on_rows: called with the name of the file and the number of rows of each chunk. score: yields the chunks of all
    files in order; by default the files are scored in this process.
    """
    rows = anomalies = 0
    with _open_writer(out) as writer:
        for file, part in (score or score_in_process)(task, files):
            writer.write(part if out.suffix.lower() == ".parquet" else _without_formulas(part))
            rows += len(part)
            anomalies += int(np.sum(part["anomaly"]))
            if on_rows is not None:
                on_rows(file, len(part))
    return ScoredCounts(rows, anomalies)


def score_in_process(task: AdaptedTask, files: Sequence[Path]) -> Iterator[FileChunk]:
    """Yield each file's name with each chunk of its scores, computed in this process."""
    for file in map(str, files):
        yield from file_chunks(task, score_chunks(task, file), file)


def score_chunks(task: AdaptedTask, file: str) -> Iterator[NDArray[np.float64]]:
    """Yield the scores of a file's rows in chunks, [n] each."""
    first, monitor = 1, ScoringMonitor(task)
    for chunk in stream_table(file, kinds=task.encoding.stored_kinds):
        scores = task.score_encoded(monitor.encode(chunk, file, first))
        first += len(scores)
        yield scores
    for notice in monitor.notices():
        warnings.warn(f"{file}: {notice}", stacklevel=2)


def file_chunks(task: AdaptedTask, chunks: Iterable[NDArray[np.float64]], file: str) -> Iterator[FileChunk]:
    """Yield a file's name with the output rows of each chunk of its scores. chunks: [n] each, in order."""
    first = 1
    for scores in chunks:
        yield file, _to_table(task, scores, file, first)
        first += len(scores)


def _to_table(task: AdaptedTask, scores: NDArray[np.float64], file: str, first: int) -> pa.Table:
    """The output rows of scores [n]; the first of them belongs to row number `first` of its file, counted from 1."""
    row_numbers = pa.array(np.arange(first, first + len(scores)))
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(scores), np.int32)), [file]).cast(pa.string())
    return pa.table([names, row_numbers, *task.decide(scores).to_table().columns], schema=SCHEMA)


def _without_formulas(part: pa.Table) -> pa.Table:
    """Output rows for a file that a spreadsheet may open."""
    return part.set_column(0, "file", escape_formulas(part["file"]))


@contextmanager
def _open_writer(out: Path) -> Iterator[Any]:
    """An Arrow writer of the format that the file's suffix names; the file appears when the writer is closed."""
    check_output(out)
    with (
        atomic_path(out) as temporary,
        open(temporary, "wb") as file,  # by its path, Arrow cannot open a file in a folder whose name is not UTF-8
        _WRITERS[out.suffix.lower()](file, SCHEMA) as writer,
    ):
        yield writer


def check_output(out: Path) -> None:
    """Refuse a file whose suffix names no format of scores."""
    if out.suffix.lower() not in _WRITERS:
        raise InputError(f"{out}: scores are written as .csv or .parquet, by the name's ending")
