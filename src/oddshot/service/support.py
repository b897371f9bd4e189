"""The support of a task: the rows and labels that a detector is adapted to, and the id derived from them."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.task import sample_unlabelled
from oddshot.data.encoding import ColumnChoice
from oddshot.data.tables.ipc import to_ipc
from oddshot.data.task import NORMAL, UNLABELLED
from oddshot.decisions.calibration import check_rate
from oddshot.errors import InputError
from oddshot.service.limits import ServiceLimits
from oddshot.service.rows import RequestRows


@dataclass(frozen=True)
class Support:
    """An Arrow table of n rows and their labels, [n]: 1 = anomaly, 0 = normal, -1 = unlabelled.

    notes: what is to be said of the labels as the request has them.
    """

    table: Any
    labels: NDArray[np.int8]
    false_positive_rate: float | None = None
    columns: ColumnChoice = field(default_factory=ColumnChoice)
    notes: tuple[str, ...] = ()

    def detector_id(self, model_digest: str) -> str:
        """Hash of the model, the support, the rate and the kinds: the same request always gets the same id."""
        kinds = [dict(sorted(self.columns.kinds.items()))] if self.columns else []
        header = json.dumps([model_digest, self.false_positive_rate, self.labels.tolist(), *kinds])
        return hashlib.sha256(header.encode() + to_ipc(self.table)).hexdigest()[:32]


def make_support(
    rows: RequestRows, labels: NDArray[np.int8], rate: Any, limits: ServiceLimits, kinds: Any = None
) -> Support:
    """Check the rows and labels, [n], of a support, and drop the unlabelled rows that detectors do not use.

    rate, kinds: the false positive rate and the kinds of columns of the request, of any type; None for none.
    """
    n_labelled = int((labels != UNLABELLED).sum())
    if n_labelled > limits.max_labelled_rows:
        raise InputError(f"support: {n_labelled:,} labelled rows; at most {limits.max_labelled_rows:,} are taken")
    if not (labels == NORMAL).any():
        raise InputError("support: no row is labelled normal (0); at least one is needed")
    if isinstance(rate, bool):
        raise InputError("false_positive_rate is true or false; it must be a number")
    used = np.sort(np.append(np.flatnonzero(labels != UNLABELLED), sample_unlabelled(labels)))
    if kinds is not None and not isinstance(kinds, dict):
        raise InputError("kinds is not an object with the kinds of some columns by their names")
    choice = ColumnChoice.of(kinds)
    if choice.intervals:
        raise InputError(f"column {choice.intervals[0]!r}: the kind interval needs the row before; send the difference")
    choice.check_names(rows.names, "support")
    return Support(rows.table().take(used).combine_chunks(), labels[used], check_rate(rate), choice)
