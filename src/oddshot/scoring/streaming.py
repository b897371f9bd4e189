"""Scores of whole files, a chunk at a time: constant memory, and the output whole or not at all."""

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

from oddshot.data.files import atomic_path
from oddshot.data.tables import stream_table
from oddshot.detector import FewShotDetector
from oddshot.errors import InputError

SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("row", pa.int64()),
        ("score", pa.float64()),
        ("probability", pa.float64()),  # null where the model has no calibration
        ("anomaly", pa.int8()),
    ]
)

Scored = tuple[str, pa.Table]


@dataclass(frozen=True)
class Counts:
    """What was scored."""

    rows: int
    anomalies: int


def score_files(
    detector: FewShotDetector,
    files: Sequence[Path],
    out: Path,
    on_rows: Callable[[str, int], None] | None = None,
    scored: Callable[[FewShotDetector, Sequence[Path]], Iterator[Scored]] | None = None,
) -> Counts:
    """Score every row of the files, in order, into `out` (.csv or .parquet).

    on_rows: told of each chunk. scored: gives the chunks of all files in order; without it they are scored here.
    """
    rows = anomalies = 0
    with _writer(out) as writer:
        for file, part in (scored or score_here)(detector, files):
            writer.write(part)
            rows += len(part)
            anomalies += int(np.sum(part["anomaly"]))
            if on_rows is not None:
                on_rows(file, len(part))
    return Counts(rows, anomalies)


def score_here(detector: FewShotDetector, files: Sequence[Path]) -> Iterator[Scored]:
    """Each file's name with each chunk of its scores, in this process."""
    for file in map(str, files):
        first = 1
        for scores in score_chunks(detector, file):
            yield file, score_table(detector, scores, file, first)
            first += len(scores)


def score_chunks(detector: FewShotDetector, file: str) -> Iterator[NDArray[np.float64]]:
    """The scores of a file's rows, a chunk at a time."""
    first = 1
    for chunk in stream_table(file, kinds=detector.encoding_.kinds):
        scores = detector.score_encoded(detector.encoding_.transform(chunk, where=file, first_row=first))
        first += len(scores)
        yield scores


def score_table(detector: FewShotDetector, scores: NDArray[np.float64], file: str, first: int) -> pa.Table:
    """What is written of some rows, the first of which is number `first` of its file. scores: [n]."""
    numbers = np.arange(first, first + len(scores))
    decided = (scores > detector.threshold_).astype(np.int8)
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(scores), np.int32)), [file]).cast(pa.string())
    probability = detector.probability_of(scores)
    known = pa.nulls(len(scores), pa.float64()) if probability is None else probability
    return pa.table([names, numbers, scores, known, decided], schema=SCHEMA)


@contextmanager
def _writer(out: Path) -> Iterator[Any]:
    kinds = {".csv": pyarrow.csv.CSVWriter, ".parquet": pyarrow.parquet.ParquetWriter}
    if out.suffix.lower() not in kinds:
        raise InputError(f"{out}: scores are written as .csv or .parquet, by the name's ending")
    with atomic_path(out) as temporary, kinds[out.suffix.lower()](temporary, SCHEMA) as writer:
        yield writer
