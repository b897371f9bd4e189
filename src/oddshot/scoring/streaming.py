"""Scoring of files chunk by chunk: memory does not grow with their size, and the output is written atomically."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

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
from oddshot.data.tables.skipped_cells import MAX_VALUE_CHARACTERS, N_CELLS_NAMED, BadCells
from oddshot.errors import InputError
from oddshot.scoring.kept_columns import as_first_types, check_kept_names, split_kept, without_formulas

SCHEMA = pa.schema([("file", pa.string()), ("row", pa.int64()), *RESULT_SCHEMA])

_WRITERS: dict[str, Any] = {".csv": pyarrow.csv.CSVWriter, ".parquet": pyarrow.parquet.ParquetWriter}


@dataclass(frozen=True)
class ScoringOptions:
    """keep: the names of columns to copy. is_strict: whether a bad cell is refused, and not taken as missing."""

    keep: Sequence[str] = ()
    is_strict: bool = False


class FileChunk(NamedTuple):
    """Scores of some rows of a file: a table with SCHEMA, and kept columns after the row.

    bad_cells: those of the file up to these rows.
    """

    file: str
    table: pa.Table
    bad_cells: BadCells


class ScoredChunk(NamedTuple):
    """The scores of some rows of a file, [n], their kept columns, and the bad cells of the file up to these rows."""

    scores: NDArray[np.float64]
    kept: pa.Table
    bad_cells: BadCells


ScoreFunction = Callable[[AdaptedTask, Sequence[Path], ScoringOptions], Iterator[FileChunk]]


@dataclass(frozen=True)
class ScoredCounts:
    """The number of rows that were scored, the number of anomalies among them, and the bad cells of each file."""

    rows: int
    anomalies: int
    bad_cells: Mapping[str, BadCells]

    @property
    def n_bad_cells(self) -> int:
        """How many cells are taken as missing because they are not what their column holds."""
        return sum(found.count for found in self.bad_cells.values())

    def first_bad_cells(self) -> list[dict[str, Any]]:
        """Return the first of them, in types that JSON has."""
        cells = [(file, cell) for file, found in self.bad_cells.items() for cell in found.first]
        return [
            {"file": file, "row": row, "column": column, "text": str(value)[:MAX_VALUE_CHARACTERS]}
            for file, (row, column, value) in cells[:N_CELLS_NAMED]
        ]


def score_files(
    task: AdaptedTask,
    files: Sequence[Path],
    out: Path,
    on_rows: Callable[[str, int], None] | None = None,
    score: ScoreFunction | None = None,
    options: ScoringOptions | None = None,
) -> ScoredCounts:
    """Write the scores of all rows of the files, in order, to `out` (.csv or .parquet).

    on_rows: called with the name of the file and the number of rows of each chunk. score: yields the chunks of all
    files in order; by default the files are scored in this process.
    """
    options = options or ScoringOptions()
    check_output(out)
    check_kept_names(options.keep, SCHEMA.names)
    rows = anomalies = 0
    bad_cells: dict[str, BadCells] = {}
    suffix, writer = out.suffix.lower(), None
    with (
        atomic_path(out) as temporary,
        open(temporary, "wb") as opened,  # by its path, Arrow cannot open a file in a folder whose name is not UTF-8
        ExitStack() as stack,
    ):
        for file, part, bad_cells[file] in (score or score_in_process)(task, files, options):
            if writer is None:
                schema = part.schema  # of the first file: the types of kept columns are known by now
                writer = stack.enter_context(_WRITERS[suffix](opened, schema))
            part = as_first_types(part, schema, file)
            writer.write(part if suffix == ".parquet" else _for_spreadsheets(part))
            rows += len(part)
            anomalies += int(np.sum(part["anomaly"]))
            if on_rows is not None:
                on_rows(file, len(part))
    return ScoredCounts(rows, anomalies, bad_cells)


def score_in_process(task: AdaptedTask, files: Sequence[Path], options: ScoringOptions) -> Iterator[FileChunk]:
    """Yield each file's name with each chunk of its scores, computed in this process."""
    for file in map(str, files):
        yield from file_chunks(task, score_chunks(task, file, options), file)


def score_chunks(task: AdaptedTask, file: str, options: ScoringOptions) -> Iterator[ScoredChunk]:
    """Yield the scores of a file's rows in chunks, with the columns to keep."""
    first, monitor = 1, ScoringMonitor(task, options.is_strict)
    for chunk in stream_table(file, kinds=task.encoding.stored_kinds):
        rows, kept = split_kept(chunk, options.keep, task, file)
        scores = task.score_encoded(monitor.encode(rows, file, first))
        first += len(scores)
        yield ScoredChunk(scores, kept, monitor.bad_cells)
    for notice in monitor.notices():
        warnings.warn(f"{file}: {notice}", stacklevel=2)


def file_chunks(task: AdaptedTask, chunks: Iterable[ScoredChunk], file: str) -> Iterator[FileChunk]:
    """Yield a file's name with the output rows of each chunk of its scores, which are in order."""
    first = 1
    for chunk in chunks:
        part = _to_table(task, chunk, file, first)
        yield FileChunk(file, part, chunk.bad_cells)
        first += len(part)


def _to_table(task: AdaptedTask, chunk: ScoredChunk, file: str, first: int) -> pa.Table:
    """The output rows of a chunk; the first of them belongs to row number `first` of its file, counted from 1."""
    scores, kept, _ = chunk
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
