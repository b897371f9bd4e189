"""Read the Landmine dataset: 29 fields in one MATLAB file with the cell arrays `feature` and `label`."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oddshot.errors import InputError


def read_landmine(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.int64]]:
    """Return X [n, 9] unscaled, y [n] (1 = mine) and task [n], the index of the field.

    Only for files with a verified checksum: on a damaged one scipy's reader may crash the interpreter.
    """
    import scipy.io

    try:
        content = scipy.io.loadmat(path, variable_names=("feature", "label"))
    except Exception as error:  # loadmat raises exceptions of nearly every class for a damaged file
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: damaged, or no MATLAB file ({reason})") from error
    missing = [name for name in ("feature", "label") if name not in content]
    if missing:
        raise InputError(f"{path}: no variable {' or '.join(missing)}; expected the cells feature and label")
    features, labels = content["feature"].ravel(), content["label"].ravel()
    if features.dtype != object or labels.dtype != object or len(features) != len(labels) or len(features) == 0:
        raise InputError(f"{path}: feature and label are not two rows of as many cells, one a field")
    for field, (rows, field_labels) in enumerate(zip(features, labels, strict=True)):
        if rows.ndim != 2 or rows.shape[1] != features[0].shape[-1] or field_labels.size != len(rows):
            raise InputError(f"{path}: field {field} has features {rows.shape} and labels {field_labels.shape}")
        if rows.dtype.kind not in "fiu" or not np.isfinite(rows).all():
            raise InputError(f"{path}: field {field} has features that are not finite numbers")
        if not np.isin(field_labels, (0, 1)).all():
            raise InputError(f"{path}: field {field} has labels other than 0 (clutter) and 1 (mine)")
    X = np.concatenate([np.asarray(rows, dtype=np.float64) for rows in features])
    y = np.concatenate([field_labels.ravel() for field_labels in labels]).astype(np.int8)
    return X, y, np.repeat(np.arange(len(features)), [len(rows) for rows in features])
