"""Read the ARFF files of DAMI: numeric columns, `id`, and the labels `outlier {yes,no}`."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oddshot.errors import InputError, file_error

_LABELS = {"no": 0.0, "yes": 1.0}
_NUMERIC_TYPES = ("REAL", "NUMERIC", "INTEGER")


def read_dami(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return X [n, M] without `id` and y [n] (1 = outlier).

    The rows are in the order of the file, on which the `published` protocol relies.
    """
    header, rows = _read_header_and_rows(path)
    names = _column_names(header, path)
    for number, row in enumerate(rows, 1):
        if row.startswith("{"):
            raise InputError(f"{path}: data row {number} is sparse ({{...}}); expected one value a column")
    label = names.index("outlier")
    if not rows:
        raise InputError(f"{path}: no data rows")
    try:
        # liac-arff parses the header only: loadtxt is four times as fast for the rows (6,000 rows of 79 values).
        table = np.loadtxt(
            rows, delimiter=",", comments=None, ndmin=2, converters={label: _parse_label}, encoding="utf-8"
        )
    except (ValueError, KeyError) as error:
        raise InputError(
            f"{path}: {_describe_first_error(rows, names)}; expected numbers, and yes or no as outlier"
        ) from error
    if table.shape[1] != len(names):
        raise InputError(f"{path}: rows of {table.shape[1]} values, but {len(names)} attributes are declared")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InputError(f"{path}: data row {row + 1}, column {names[column]}: not a finite number")
    kept = [j for j, name in enumerate(names) if name not in ("id", "outlier")]
    return np.ascontiguousarray(table[:, kept]), table[:, label].astype(np.int8)


def _parse_label(value: str) -> float:
    return _LABELS[value.strip(" '\"").lower()]


def _describe_first_error(rows: list[str], names: list[str]) -> str:
    """Return where the first value is that cannot be parsed, and the value."""
    for number, row in enumerate(rows, 1):
        values = row.split(",")
        if len(values) != len(names):
            return f"data row {number} has {len(values)} values for {len(names)} columns"
        for name, value in zip(names, values, strict=True):
            try:
                _parse_label(value) if name == "outlier" else float(value)
            except (KeyError, ValueError):
                return f"data row {number}, column {name}: {value.strip()!r}"
    return "values that are no numbers"


def _read_header_and_rows(path: Path) -> tuple[str, list[str]]:
    """Return the text up to and including @DATA, and the data rows."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise file_error("read", path, error) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file ({error.reason} at byte {error.start}); expected ARFF") from error
    start = next((number for number, line in enumerate(lines) if line.strip().lower() == "@data"), None)
    if start is None:
        raise InputError(f"{path}: no @DATA line; expected ARFF")
    rows = [row for line in lines[start + 1 :] if (row := line.strip()) and not row.startswith("%")]
    return "\n".join(lines[: start + 1]) + "\n", rows


def _column_names(header: str, path: Path) -> list[str]:
    """Return the column names in lower case; one must be `outlier`, and all others numeric."""
    import arff

    try:
        attributes = arff.loads(header)["attributes"]
    except (
        arff.ArffException,
        ValueError,
        LookupError,
        AttributeError,
    ) as error:  # the parser does not convert all of them
        reason = f" ({str(error).splitlines()[0]})" if isinstance(error, arff.ArffException) else ""
        raise InputError(f"{path}: the @ATTRIBUTE lines are not as in ARFF{reason}") from error
    names = [name.lower() for name, _ in attributes]
    if names.count("outlier") != 1:
        raise InputError(f"{path}: {names.count('outlier')} columns are called outlier; expected one, {{yes,no}}")
    for name, kind in attributes:
        if name.lower() == "outlier":
            if not isinstance(kind, list) or {value.lower() for value in kind} != set(_LABELS):
                raise InputError(f"{path}: column outlier is {kind}; expected {{yes,no}}")
        elif kind not in _NUMERIC_TYPES:
            kind = "nominal" if isinstance(kind, list) else f"of type {kind}"
            raise InputError(f"{path}: column {name!r} is {kind}; expected numbers (DAMI's norm and 1ofn files)")
    return names
