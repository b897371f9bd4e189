"""Scores, probabilities and decisions of rows: the one result that files, the service and the app give."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SCHEMA = pa.schema([("score", pa.float64()), ("probability", pa.float64()), ("anomaly", pa.int8())])


@dataclass(frozen=True)
class ScoredRows:
    """scores: [n], higher = more anomalous. probabilities: [n], or None without calibration. anomalies: [n] of 0 and 1,
    or None where there is no threshold."""

    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None
    anomalies: NDArray[np.int8] | None

    @classmethod
    def at_threshold(
        cls, scores: NDArray[np.float64], probabilities: NDArray[np.float64] | None, threshold: float | None
    ) -> "ScoredRows":
        """Rows above the threshold are anomalies; without one nothing is decided."""
        return cls(scores, probabilities, None if threshold is None else (scores > threshold).astype(np.int8))

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_anomalies(self) -> int:
        """How many rows are decided to be anomalies."""
        return 0 if self.anomalies is None else int(self.anomalies.sum())

    def to_table(self) -> Any:
        """Columns score, probability and anomaly; null where something is not known."""
        columns = (self.scores, self.probabilities, self.anomalies)
        arrays = [
            pa.nulls(len(self), field.type) if column is None else pa.array(column, field.type)
            for field, column in zip(SCHEMA, columns, strict=True)
        ]
        return pa.table(arrays, schema=SCHEMA)

    def to_lists(self) -> dict[str, list[float] | list[int] | None]:
        """Plain lists for JSON: scores, probabilities (None without calibration), anomalies."""
        return {
            "scores": self.scores.tolist(),
            "probabilities": None if self.probabilities is None else self.probabilities.tolist(),
            "anomalies": None if self.anomalies is None else self.anomalies.tolist(),
        }
