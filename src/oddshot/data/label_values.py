"""What labels are as numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.missing_cells import are_missing

NORMAL, ANOMALY, UNLABELLED = 0, 1, -1


def without_gaps(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels with -1 in the place of NaN, None and pandas.NA, as numbers or text: [n]."""
    if labels.dtype.kind == "f":
        return np.where(np.isnan(labels), UNLABELLED, labels)
    if labels.dtype.kind != "O":
        return labels
    return np.array(
        [UNLABELLED if missing else cell for cell, missing in zip(labels, are_missing(labels), strict=True)]
    )
