"""Rows that a person gives to an estimator as an array: what is wrong with them, in one line."""

from typing import Any

import numpy as np

from oddshot.data.missing_cells import is_series
from oddshot.errors import InputError, wrong_type

_TABLES = "a data frame, an Arrow table, a dict of columns or a 2-D array"
_NUMBERS = "an array holds numbers; give a data frame for columns of text"
_RESHAPE = "Reshape your data with .reshape(1, -1) if it is one row, or .reshape(-1, 1) if it is one column"


class WrongCell(InputError, TypeError):
    """A cell of an array that is no number. A TypeError, as scikit-learn's checks of estimators ask for."""


def as_unmasked(X: Any) -> Any:
    """A masked array of numbers with NaN for the masked ones; anything else as it is."""
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf":
        return np.where(np.ma.getmaskarray(X), np.nan, X.data)
    return X


def array_error(name: str, X: Any, error: Exception) -> InputError:
    """One line for rows that scikit-learn refused, with the words that its checks of estimators look for.

    name: of the argument.
    """
    reason = str(error).splitlines()[0].split(". The ")[0].split(". For more")[0]
    if is_series(X):
        return InputError(f"{name} is a Series; expected {_TABLES}, such as table.iloc[[i]] for row i")
    if reason.startswith("Expected 2D array, got scalar array"):
        return wrong_type(name, X, _TABLES)
    if reason.startswith(("Expected 2D array", "Expected a 2-dimensional container")):
        return InputError(f"{name} has one dimension; expected {_TABLES}. {_RESHAPE}")
    if reason.startswith(("could not convert", "dtype='numeric'")):
        return InputError(f"{name}: {reason.split('.Convert')[0]}; {_NUMBERS}")
    if reason.startswith("setting an array element with a sequence"):
        return InputError(f"{name}: rows of different lengths; expected {_TABLES}")
    if reason.startswith("X has "):
        return InputError(f"{name}{reason[1:]}")
    if reason == "Complex data not supported":
        return InputError(f"{name}: {reason}; expected real numbers")
    if "argument must be" in reason:
        return WrongCell(f"{name}: {reason}; {_NUMBERS}")
    return InputError(f"{name}: {reason}")
