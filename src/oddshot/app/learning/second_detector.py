"""A second detector on the same table: a file of a detector, or of a model that adapts to the page's labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from oddshot.adapted.task import AdaptedTask, check_labels
from oddshot.app.labels import Labels
from oddshot.app.sheet import MAX_COLUMNS, Sheet
from oddshot.data.tables.concatenation import concat_tables
from oddshot.data.tables.conversion import as_table
from oddshot.data.task import UNLABELLED
from oddshot.errors import InputError, ModelFileError
from oddshot.storage import detector_file, model_file
from oddshot.storage.container import has_key
from oddshot.storage.model_file import Model

MAX_FILE_BYTES = 64 * 2**20
MAX_SUPPORT_ROWS = 5000  # labelled and unlabelled, in a file: each takes time to adapt to
N_DISAGREEMENTS = 10

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class SecondDetector:
    """name: of its file. task: of a detector's file; None for a model, which adapts to the labels of the page."""

    name: str
    model: Model
    task: AdaptedTask | None

    def adapted(self, sheet: Sheet, labels: Labels, unlabelled: IntArray) -> AdaptedTask:
        """The file's own task, or the model adapted to labelled rows and a sample of unlabelled ones of the table."""
        if self.task is not None:
            return self.task
        check_labels(labels.values)
        others = unlabelled[~np.isin(unlabelled, labels.rows)]
        rows = np.concatenate([labels.rows, others])
        return AdaptedTask.from_table(
            self.model,
            sheet.take(rows),
            np.append(labels.values, np.full(len(others), UNLABELLED)).astype(np.int8),
            columns=sheet.encoding if self.model.encoding is None else None,
        )


def read_second_detector(data: bytes, name: str) -> SecondDetector:
    """Read a file that somebody has uploaded; whatever is wrong with it is one line."""
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{name}: more than {MAX_FILE_BYTES >> 20} MiB; expected a detector or a model")
    try:
        if has_key(data, model_file.KEY):
            return SecondDetector(name, model_file.from_bytes(data), None)
        record = detector_file.from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from None
    tables = [as_table(part) for part in (record.labelled, record.unlabelled)]
    n_rows, n_columns = sum(table.num_rows for table in tables), tables[0].num_columns
    if n_rows > MAX_SUPPORT_ROWS or n_columns > MAX_COLUMNS:
        raise InputError(
            f"{name}: {n_rows:,} rows and {n_columns:,} columns to adapt to; at most {MAX_SUPPORT_ROWS:,} and "
            f"{MAX_COLUMNS:,} are taken"
        )
    labels = np.append(record.labels, np.full(tables[1].num_rows, UNLABELLED)).astype(np.int8)
    task = AdaptedTask.from_table(
        record.model, concat_tables(tables), labels, record.false_positive_rate, record.encoding
    )
    return SecondDetector(name, record.model, task)


def compare_detectors(
    first: tuple[FloatArray, float | None], second: tuple[FloatArray, float], rows: IntArray
) -> dict[str, Any]:
    """Compare scores of the same rows, [n] each, and what lies above each threshold, as JSON.

    Disagreement is the difference of ranks as shares of the rows: 1 from the top of one to the end of the other.
    """
    ranks = [rankdata(-scores) for scores, _ in (first, second)]
    apart = np.abs(ranks[0] - ranks[1]) / max(len(rows) - 1, 1)
    most = np.argsort(-apart, kind="stable")[:N_DISAGREEMENTS]
    order = [np.ceil(rank).astype(int) for rank in ranks]
    return {
        "compared": len(rows),
        "correlation": _correlation(*ranks),
        "flagged": _count_flagged(first, second),
        "rows": [
            {"row": int(rows[i]), "first": int(order[0][i]), "second": int(order[1][i])} for i in most if apart[i] > 0
        ],
    }


def _correlation(a: FloatArray, b: FloatArray) -> float | None:
    """Spearman's, from ranks; None where all scores are equal."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _count_flagged(first: tuple[FloatArray, float | None], second: tuple[FloatArray, float]) -> dict[str, int] | None:
    if first[1] is None:
        return None
    a, b = first[0] > first[1], second[0] > second[1]
    return {"both": int((a & b).sum()), "first": int((a & ~b).sum()), "second": int((b & ~a).sum())}
