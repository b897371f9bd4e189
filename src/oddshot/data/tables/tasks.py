"""Read files with labelled rows as tasks: one task per file, or one per value of a column."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from os import PathLike, fspath
from os.path import exists, isdir
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.files import as_path, named_path
from oddshot.data.tables.column_names import format_names, select_columns
from oddshot.data.tables.columns import CellLocation, distinct_values
from oddshot.data.tables.concatenation import concat_tables
from oddshot.data.tables.label_meaning import CONVENTION, LabelMeaning, label_text
from oddshot.data.tables.labels import check_named_values, distinct_cells, parse_labels, swapped_labels_notice
from oddshot.data.tables.packed_files import STANDARD_INPUT
from oddshot.data.tables.readers import read_table
from oddshot.data.task import Task
from oddshot.errors import FileError, InputError, as_list, require_type

FilePath = str | PathLike[str]
_MAX_COLUMNS_SHOWN = 20  # in an error message


def read_tasks(
    paths: FilePath | Iterable[FilePath],
    label: str,
    task: str | None = None,
    anomaly_value: object = None,
    normal_value: object = None,
) -> list[Task]:
    """Read labelled tasks from CSV, Parquet, ARFF, JSON-lines or Excel files.

    Parameters
    ----------
    paths : str, path or iterable of them
        Files, or patterns such as ``fleet/*.csv``. All files must have the columns of the first one; other columns are
        ignored with a warning.
    label : str
        The column of labels: 1, true (anomaly), 0, false (normal), -1 or empty (unlabelled).
    task : str, optional
        A column whose every value is a task. Without it each file is a task, named after the file.
    anomaly_value : object or list of objects, optional
        The value of `label` that means anomaly, or several such values. Every other value then means normal, and an
        empty cell is unlabelled.
    normal_value : object or list of objects, optional
        The opposite: the value or values that mean normal. Every other value then means anomaly.

    Returns
    -------
    list of Task
        The rows `X` of each task are a pyarrow.Table of the columns other than `label` and `task`, in the order of the
        first file. Tasks are in the order of the files, or of their first rows.

    Raises
    ------
    FileError
        If a file cannot be read, or no file matches a pattern.
    InputError
        If a file is damaged, a column is missing, or a cell of `label` or `task` is not valid.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oddshot import read_tasks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fleet.csv"
    ...     _ = path.write_text("machine,load,fault\\na,1.5,0\\na,9.0,1\\nb,2.5,\\n")
    ...     tasks = read_tasks(path, label="fault", task="machine")
    >>> [(task.name, task.X["load"].to_pylist(), task.y.tolist()) for task in tasks]
    [('a', [1.5, 9.0], [0, 1]), ('b', [2.5], [-1])]
    """
    return tasks_of_files(paths, label, task, LabelMeaning.of(anomaly_value, normal_value))


def tasks_of_files(
    paths: FilePath | Iterable[FilePath], label: str, task: str | None, meaning: LabelMeaning
) -> list[Task]:
    """Read labelled tasks, as read_tasks does. meaning: of the labels."""
    require_type("label", label, str, "the name of a column")
    require_type("task", task, (str, NoneType), "the name of a column")
    if label == task:
        raise InputError(f"column {label!r} cannot hold both the labels and the tasks")
    files = find_files(paths)
    tables = _read_with_same_columns(files, [label] if task is None else [label, task])
    labels = [parse_labels(table[label], meaning, str(path), label) for path, table in zip(files, tables, strict=True)]
    where = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    cells = distinct_cells(table[label] for table in tables)
    notices = check_named_values(cells, meaning, where, label, required=True)
    if notice := swapped_labels_notice(np.concatenate(labels)):
        notices.append(f"column {label!r}: {notice}")
    for notice in notices:
        warnings.warn(notice, stacklevel=3)
    rows = [table.drop_columns([label]) for table in tables]
    if task is None:
        return [Task(name, X, y) for name, X, y in zip(_task_names(files), rows, labels, strict=True)]
    return _group_by_task(rows, labels, [CellLocation(str(path), task) for path in files])


def read_support(path: FilePath, label: str, meaning: LabelMeaning = CONVENTION) -> tuple[Any, NDArray[np.int8]]:
    """Read the labelled rows of one task: a pyarrow.Table of n rows without the labels, and the labels: [n].

    Normal rows alone are allowed, and some of several values of anomalies may be missing.
    """
    path = named_path(path)
    (table,) = _read_with_same_columns([path], [label])
    y = parse_labels(table[label], meaning, str(path), label)
    for notice in check_named_values(distinct_cells([table[label]]), meaning, str(path), label):
        warnings.warn(notice, stacklevel=2)
    return table.drop_columns([label]), y


def find_files(paths: FilePath | Iterable[FilePath]) -> list[Path]:
    """Return the files that paths and patterns name, each once, those of one pattern in alphabetical order."""
    files: dict[Path, None] = {}
    given = [paths] if isinstance(paths, str | PathLike) else as_list("paths", paths, "a path, or a list of paths")
    for path in given:
        as_path(path)
        text = fspath(path)
        if not text:
            raise InputError("the name of a file is empty")
        is_pattern = text != "-" and has_magic(text) and not exists(text)
        matches = _matching_names(text) if is_pattern else [text]
        if not matches:
            raise FileError(f"no file matches {text!r}")
        for match in map(named_path, matches):
            if match in files:
                warnings.warn(f"{match}: named twice, and read once", stacklevel=2)
            files[match] = None
    for path in files:
        if isdir(path) and path != STANDARD_INPUT:
            raise FileError(f"{path}: a folder; expected files, such as {str(path / '*.csv')!r}")
    if not files:
        raise InputError("no files given")
    return list(files)


def _matching_names(pattern: str) -> list[str]:
    """Return the names of the files that match a pattern, in alphabetical order; one called - is a file."""
    return ["./-" if name == "-" else name for name in sorted(glob(pattern, recursive=True))]


def _read_with_same_columns(files: Sequence[Path], text_columns: Sequence[str]) -> list[Any]:
    """Read tables with the columns of the first; text_columns, those of labels and tasks, stay text as written."""
    tables: list[Any] = []
    for path in files:
        table = read_table(path, text_columns)
        for name in text_columns:
            if name not in table.column_names:
                columns = format_names(table.column_names, _MAX_COLUMNS_SHOWN)
                raise InputError(f"{path}: no column {name!r}; its columns are {columns}")
        if len(table.column_names) == len(text_columns):
            raise InputError(f"{path}: no columns other than {format_names(text_columns)}")
        tables.append(select_columns(table, tables[0].column_names, str(path)) if tables else table)
    return tables


def _task_names(files: Sequence[Path]) -> list[str]:
    """Name tasks after their files: without folder and suffix, unless two would have the same name."""
    stems = [path.stem for path in files]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in files]


def _group_by_task(
    tables: Sequence[Any], labels: Sequence[NDArray[np.int8]], task_columns: Sequence[CellLocation]
) -> list[Task]:
    """Make a task of each value of the task columns, one column per table; tasks are in order of appearance."""
    parts: dict[str, list[tuple[Any, NDArray[np.int8]]]] = {}
    for table, y, task_column in zip(tables, labels, task_columns, strict=True):
        for name, X, y_part in _split_by_task(table, y, task_column):
            parts.setdefault(name, []).append((X, y_part))
    return [
        Task(name, concat_tables([X for X, _ in found]), np.concatenate([y for _, y in found]))
        for name, found in parts.items()
    ]


def _split_by_task(
    table: Any, y: NDArray[np.int8], task_column: CellLocation
) -> Iterator[tuple[str, Any, NDArray[np.int8]]]:
    """Yield the name, rows and labels of each task in a table, tasks in order of appearance."""
    codes, values = distinct_values(table[task_column.column])
    names = [value.strip() if isinstance(value, str) else label_text(value) for value in values.to_pylist()]
    has_name = np.array([*(name != "" for name in names), False])[codes]
    if not has_name.all():
        raise task_column.error(int(has_name.argmin()), "", "is no task; each row needs one")
    order = np.argsort(codes, kind="stable")
    rows, y = table.drop_columns([task_column.column]).take(order), y[order]
    ends = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    for name, start, end in zip(names, [0, *ends], ends, strict=False):
        yield name, rows.slice(start, end - start), y[start:end]
