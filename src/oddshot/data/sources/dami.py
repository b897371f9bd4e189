"""DAMI's ARFF files: numeric columns, `id`, `outlier {yes,no}`."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oddshot.errors import InputError

LABELS = {"no": 0.0, "yes": 1.0}
NUMERIC = ("REAL", "NUMERIC", "INTEGER")


def read_dami(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """X [n, M] without `id`, y [n] (1 = outlier), rows in the file's order: the `published` protocol depends on it."""
    header, rows = _split(path)
    names = _columns(header, path)
    for number, row in enumerate(rows, 1):
        if row.startswith("{"):
            raise InputError(f"{path}: data row {number} is sparse ({{...}}); expected one value a column")
    label = names.index("outlier")
    if not rows:
        raise InputError(f"{path}: no data rows")
    try:
        # liac-arff reads the header; for the rows loadtxt is four times as fast (6,000 rows of 79 values).
        table = np.loadtxt(rows, delimiter=",", comments=None, ndmin=2, converters={label: _label}, encoding="utf-8")
    except (ValueError, KeyError) as error:
        raise InputError(f"{path}: {_blame(rows, names)}; expected numbers, and yes or no as outlier") from error
    if table.shape[1] != len(names):
        raise InputError(f"{path}: rows of {table.shape[1]} values, but {len(names)} attributes are declared")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InputError(f"{path}: data row {row + 1}, column {names[column]}: not a finite number")
    kept = [place for place, name in enumerate(names) if name not in ("id", "outlier")]
    return np.ascontiguousarray(table[:, kept]), table[:, label].astype(np.int8)


def _label(value: str) -> float:
    return LABELS[value.strip(" '\"").lower()]


def _blame(rows: list[str], names: list[str]) -> str:
    """Where the first value is that makes no number."""
    for number, row in enumerate(rows, 1):
        values = row.split(",")
        if len(values) != len(names):
            return f"data row {number} has {len(values)} values for {len(names)} columns"
        for name, value in zip(names, values, strict=True):
            try:
                _label(value) if name == "outlier" else float(value)
            except (KeyError, ValueError):
                return f"data row {number}, column {name}: {value.strip()!r}"
    return "values that are no numbers"


def _split(path: Path) -> tuple[str, list[str]]:
    """The text up to and with @DATA, and the data rows."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file ({error.reason} at byte {error.start}); expected ARFF") from error
    start = next((number for number, line in enumerate(lines) if line.strip().lower() == "@data"), None)
    if start is None:
        raise InputError(f"{path}: no @DATA line; expected ARFF")
    rows = [row for line in lines[start + 1 :] if (row := line.strip()) and not row.startswith("%")]
    return "\n".join(lines[: start + 1]) + "\n", rows


def _columns(header: str, path: Path) -> list[str]:
    """Names in lower case; exactly one of them `outlier`, everything else numeric."""
    import arff

    try:
        attributes = arff.loads(header)["attributes"]
    except (arff.ArffException, ValueError, LookupError, AttributeError) as error:  # some only say "unpack 2 values"
        reason = f" ({str(error).splitlines()[0]})" if isinstance(error, arff.ArffException) else ""
        raise InputError(f"{path}: the @ATTRIBUTE lines are not as in ARFF{reason}") from error
    names = [name.lower() for name, _ in attributes]
    if names.count("outlier") != 1:
        raise InputError(f"{path}: {names.count('outlier')} columns are called outlier; expected one, {{yes,no}}")
    for name, kind in attributes:
        if name.lower() == "outlier":
            if not isinstance(kind, list) or {value.lower() for value in kind} != set(LABELS):
                raise InputError(f"{path}: column outlier is {kind}; expected {{yes,no}}")
        elif kind not in NUMERIC:
            kind = "nominal" if isinstance(kind, list) else f"of type {kind}"
            raise InputError(f"{path}: column {name!r} is {kind}; expected numbers (DAMI's norm and 1ofn files)")
    return names
