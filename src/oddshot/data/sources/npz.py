"""Read a dataset from a .npz file without pickles: X, y and, for several tasks, `task` and optionally `task_names`."""

from errno import EINVAL
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.sources.arrays import DatasetArrays
from oddshot.errors import InputError, file_error


def read_npz(path: Path) -> DatasetArrays:
    """Return the arrays of a file, checked."""
    content = _load(path)
    for name in ("X", "y"):
        if name not in content:
            raise InputError(f"{path}: no array {name}; expected X [n, M] and y [n]")
    X, y = content["X"], content["y"]
    if X.ndim != 2 or y.shape != X.shape[:1] or X.size == 0:
        raise InputError(f"{path}: X has shape {X.shape} and y {y.shape}; expected [n, M] and [n]")
    if X.dtype.kind not in "fiub" or not np.isfinite(X).all():
        raise InputError(f"{path}: X ({X.dtype}) holds other things than finite numbers")
    if y.dtype.kind not in "fiub" or not np.isin(y, (0, 1)).all():
        raise InputError(f"{path}: y ({y.dtype}) holds labels other than 1 (anomaly) and 0 (normal)")
    task, names = _number_tasks(content, path, len(X)) if "task" in content else (None, ())
    return DatasetArrays(X.astype(np.float64), y.astype(np.int8), task, names)


def _number_tasks(content: dict[str, NDArray[Any]], path: Path, n: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the index of each row's task, [n], and the names of the tasks if the file has any."""
    task = content["task"]
    if task.shape != (n,) or task.dtype.kind not in "iuU":
        raise InputError(
            f"{path}: task ({task.dtype}) has shape {task.shape}; expected a number or a name a row, [{n}]"
        )
    if "task_names" in content:
        names = tuple(str(name) for name in content["task_names"].ravel())
        if task.dtype.kind == "U" or task.min() < 0 or task.max() >= len(names):
            raise InputError(f"{path}: task does not number the {len(names)} task_names from 0")
        return task.astype(np.int64), names
    values, numbers = np.unique(task, return_inverse=True)
    return numbers.astype(np.int64), tuple(str(value) for value in values) if task.dtype.kind == "U" else ()


def _load(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # zipfile and NumPy raise exceptions of nearly every class for a damaged file
        if isinstance(error, OSError) and error.errno not in (None, EINVAL):  # EINVAL: a wrong offset in the file
            raise file_error("read", path, error) from error
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: damaged, or no .npz file of plain arrays ({reason})") from error
