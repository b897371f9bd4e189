"""Scores of whole files, a chunk at a time: constant memory, and the output is written whole or not at all."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from oddshot.adapted.result import SCHEMA as RESULT_SCHEMA
from oddshot.adapted.task import AdaptedTask
from oddshot.data.files import atomic_path
from oddshot.data.tables import stream_table
from oddshot.errors import InputError

SCHEMA = pa.schema([("file", pa.string()), ("row", pa.int64()), *RESULT_SCHEMA])

FileChunk = tuple[str, pa.Table]  # a file's name and the scores of some of its rows, with SCHEMA


@dataclass(frozen=True)
class ScoredCounts:
    """How many rows were scored, and how many of them are anomalies."""

    rows: int
    anomalies: int


def score_files(
    task: AdaptedTask,
    files: Sequence[Path],
    out: Path,
    on_rows: Callable[[str, int], None] | None = None,
    score: Callable[[AdaptedTask, Sequence[Path]], Iterator[FileChunk]] | None = None,
) -> ScoredCounts:
    """Score every row of the files, in order, into `out` (.csv or .parquet).

    on_rows: called with the file and the number of rows of each chunk. score: yields the chunks of all files in order;
    by default they are scored in this process.
    """
    rows = anomalies = 0
    with _writer(out) as writer:
        for file, part in (score or score_here)(task, files):
            writer.write(part)
            rows += len(part)
            anomalies += int(np.sum(part["anomaly"]))
            if on_rows is not None:
                on_rows(file, len(part))
    return ScoredCounts(rows, anomalies)


def score_here(task: AdaptedTask, files: Sequence[Path]) -> Iterator[FileChunk]:
    """Each file's name with each chunk of its scores, computed in this process."""
    for file in map(str, files):
        first = 1
        for scores in score_chunks(task, file):
            yield file, score_table(task, scores, file, first)
            first += len(scores)


def score_chunks(task: AdaptedTask, file: str) -> Iterator[NDArray[np.float64]]:
    """The scores of a file's rows, a chunk at a time."""
    first = 1
    for chunk in stream_table(file, kinds=task.encoding.kinds):
        scores = task.score_encoded(task.encode(chunk, file, first))
        first += len(scores)
        yield scores


def score_table(task: AdaptedTask, scores: NDArray[np.float64], file: str, first: int) -> pa.Table:
    """What is written of some rows, of which the first is row number `first` of its file. scores: [n]."""
    numbers = pa.array(np.arange(first, first + len(scores)))
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(scores), np.int32)), [file]).cast(pa.string())
    return pa.table([names, numbers, *task.decide(scores).to_table().columns], schema=SCHEMA)


@contextmanager
def _writer(out: Path) -> Iterator[Any]:
    kinds = {".csv": pyarrow.csv.CSVWriter, ".parquet": pyarrow.parquet.ParquetWriter}
    if out.suffix.lower() not in kinds:
        raise InputError(f"{out}: scores are written as .csv or .parquet, by the name's ending")
    with atomic_path(out) as temporary, kinds[out.suffix.lower()](temporary, SCHEMA) as writer:
        yield writer
