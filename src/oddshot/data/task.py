"""A task: one machine, site or customer, with its rows and labels."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED, without_gaps
from oddshot.errors import InputError, require_type

__all__ = ["ANOMALY", "NORMAL", "UNLABELLED", "Task"]


@dataclass(frozen=True)
class Task:
    """The rows of one task and their labels.

    Parameters
    ----------
    name : str
        The name of the task in messages.
    X : array or table of shape (n, M)
        An array of numbers, or a pandas, polars or Arrow table or a dict of columns, which may be of any kind.
    y : array-like of shape (n,)
        1 for an anomaly, 0 for a normal row, -1, NaN or None for an unlabelled row, or booleans; stored as int8.

    Raises
    ------
    InputError
        If the number of labels is not that of the rows, or a label is not 1, 0 or -1.

    Examples
    --------
    >>> from oddshot import Task
    >>> task = Task("press 1", [[0.1], [0.2], [9.0]], [0, -1, 1])
    >>> task.y
    array([ 0, -1,  1], dtype=int8)
    """

    name: str
    X: Any
    y: NDArray[np.int8] = field(repr=False)

    def __post_init__(self) -> None:
        from oddshot.data.tables.conversion import count_rows

        require_type("name of the task", self.name, str, "text")
        where = f"task {self.name!r}"
        n_rows, y = count_rows(self.X, where), _as_array(self.y, where)
        if y.shape != (n_rows,):
            raise InputError(f"{where}: {n_rows} rows but labels of shape {y.shape}")
        y = without_gaps(y)
        is_label = np.isin(y, (NORMAL, ANOMALY, UNLABELLED))
        if not is_label.all():
            wrong = y[~is_label].tolist()[0]
            raise InputError(f"{where}: label {wrong!r}; labels are 1 (anomaly), 0 (normal), -1 (unlabelled)")
        object.__setattr__(self, "y", y.astype(np.int8))

    @classmethod
    def from_frame(
        cls, name: str, frame: Any, label: str, anomaly_value: object = None, normal_value: object = None
    ) -> "Task":
        """Make a task of a table one of whose columns holds the labels.

        Parameters
        ----------
        name : str
            The name of the task in messages.
        frame : pandas or polars frame, Arrow table or dict of columns
            The rows, with their labels.
        label : str
            The column of labels, as in `read_tasks`: 1, true (anomaly), 0, false (normal), -1 or missing (unlabelled).
        anomaly_value : object or list of objects, optional
            The label that means anomaly, or several such labels; every other one then means normal, and a missing one
            is unlabelled.
        normal_value : object or list of objects, optional
            The opposite: the label or labels that mean normal; every other one then means anomaly.

        Returns
        -------
        Task

        Raises
        ------
        InputError
            If there is no such column, or it holds something else than labels.

        Examples
        --------
        >>> import pandas as pd
        >>> from oddshot import Task
        >>> frame = pd.DataFrame({"load": [0.1, 0.2, 9.0], "state": ["ok", None, "broken"]})
        >>> Task.from_frame("press 1", frame, label="state", anomaly_value="broken").y
        array([ 0, -1,  1], dtype=int8)
        """
        from oddshot.data.tables.conversion import as_table
        from oddshot.data.tables.label_meaning import LabelMeaning
        from oddshot.data.tables.labels import check_named_values, distinct_cells, parse_labels

        where = f"task {name!r}"
        require_type("label", label, str, "the name of a column")
        table = as_table(frame, where)
        if label not in table.column_names:
            raise InputError(f"{where}: no column {label!r}; its columns are {', '.join(table.column_names[:20])}")
        meaning = LabelMeaning.of(anomaly_value, normal_value)
        labels = parse_labels(table[label], meaning, where, label)
        for notice in check_named_values(distinct_cells([table[label]]), meaning, where, label):
            warnings.warn(notice, stacklevel=2)
        return cls(name, table.drop_columns([label]), labels)


def _as_array(y: Any, where: str) -> NDArray[Any]:
    try:
        return np.asarray(y)
    except ValueError:
        raise InputError(f"{where}: y is not a list of labels, one for each row") from None
