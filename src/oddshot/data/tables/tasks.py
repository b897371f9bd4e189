"""Files with labelled rows become tasks: one a file, or one for each value of a column."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from oddshot.data.tables.cells import Place, distinct
from oddshot.data.tables.frames import listed, select_columns
from oddshot.data.tables.labels import Labels, parse_labels, spelling, values_seen
from oddshot.data.tables.readers import read_table
from oddshot.data.tables.stacking import stack
from oddshot.data.task import ANOMALY, Task
from oddshot.errors import InputError

AnyPath = str | PathLike[str]


def read_tasks(
    paths: AnyPath | Iterable[AnyPath], label: str, task: str | None = None, anomaly_value: object = None
) -> list[Task]:
    """Tasks from files: one a file, named after it, or with `task` one for each value of that column.

    paths: a path, a pattern such as fleet/*.csv, or several. label: the column of labels, see parse_labels. The rows X
    of each task are an Arrow table of the other columns, in the order of the first file.
    """
    if label == task:
        raise InputError(f"column {label!r} cannot hold both the labels and the tasks")
    files = find_files(paths)
    tables = _read_alike(files, [label] if task is None else [label, task])
    labels = [
        parse_labels(table[label], anomaly_value, str(path), label) for path, table in zip(files, tables, strict=True)
    ]
    if anomaly_value is not None and not any((y == ANOMALY).any() for y in labels):
        where = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        raise InputError(_no_anomaly(where, label, anomaly_value, tables))
    rows = [table.drop_columns([label]) for table in tables]
    if task is None:
        return [Task(name, X, y) for name, X, y in zip(_names(files), rows, labels, strict=True)]
    return _group(rows, labels, [Place(str(path), task) for path in files])


def read_support(path: AnyPath, label: str, anomaly_value: object = None) -> tuple[Any, Labels]:
    """The labelled rows of one task: an Arrow table of n rows without the labels, and the labels: [n]."""
    path = Path(path)
    (table,) = _read_alike([path], [label])
    y = parse_labels(table[label], anomaly_value, str(path), label)
    if anomaly_value is not None and not (y == ANOMALY).any():  # normal rows alone are a legal support
        warnings.warn(_no_anomaly(str(path), label, anomaly_value, [table]), stacklevel=2)
    return table.drop_columns([label]), y


def find_files(paths: AnyPath | Iterable[AnyPath]) -> list[Path]:
    """The files that paths and patterns name, each once, those of a pattern in alphabetical order."""
    found: dict[Path, None] = {}
    for path in [paths] if isinstance(paths, str | PathLike) else paths:
        text = fspath(path)
        is_pattern = has_magic(text) and not Path(text).exists()
        matches = sorted(glob(text, recursive=True)) if is_pattern else [text]
        if not matches:
            raise InputError(f"no file matches {text!r}")
        found.update(dict.fromkeys(map(Path, matches)))
    for path in found:
        if path.is_dir():
            raise InputError(f"{path}: a folder; expected files, such as {str(path / '*.csv')!r}")
    if not found:
        raise InputError("no files given")
    return list(found)


def _read_alike(files: Sequence[Path], special: Sequence[str]) -> list[Any]:
    """The files' tables with the columns of the first; the special columns, labels and tasks, as written."""
    tables: list[Any] = []
    for path in files:
        table = read_table(path, text=special)
        for name in special:
            if name not in table.column_names:
                raise InputError(f"{path}: no column {name!r}; its columns are {listed(table.column_names, 20)}")
        if len(table.column_names) == len(special):
            raise InputError(f"{path}: no columns other than {listed(special)}")
        tables.append(select_columns(table, tables[0].column_names, str(path)) if tables else table)
    return tables


def _names(files: Sequence[Path]) -> list[str]:
    stems = [path.stem for path in files]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in files]


def _group(tables: Sequence[Any], labels: Sequence[Labels], places: Sequence[Place]) -> list[Task]:
    """A task for each value of the tables' task columns, which the places name; in order of appearance."""
    parts: dict[str, list[tuple[Any, Labels]]] = {}
    for table, y, place in zip(tables, labels, places, strict=True):
        for name, X, y_part in _split(table, y, place):
            parts.setdefault(name, []).append((X, y_part))
    return [
        Task(name, stack([X for X, _ in found]), np.concatenate([y for _, y in found])) for name, found in parts.items()
    ]


def _split(table: Any, y: Labels, place: Place) -> Iterator[tuple[str, Any, Labels]]:
    """The rows of each task in a table and their labels, tasks in order of appearance."""
    codes, values = distinct(table[place.column])
    names = [value.strip() if isinstance(value, str) else spelling(value) for value in values.to_pylist()]
    known = np.array([*(name != "" for name in names), False])[codes]
    if not known.all():
        raise place.error(int(known.argmin()), "", "is no task; each row needs one")
    order = np.argsort(codes, kind="stable")
    rows, y = table.drop_columns([place.column]).take(order), y[order]
    ends = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    for name, start, end in zip(names, [0, *ends], ends, strict=False):
        yield name, rows.slice(start, end - start), y[start:end]


def _no_anomaly(where: str, label: str, anomaly_value: object, tables: Sequence[Any]) -> str:
    seen = list(dict.fromkeys(value for table in tables for value in values_seen(table[label])))
    return f"{where}: no row has {label!r} = {str(anomaly_value)!r}; values seen: {listed(seen)}"
