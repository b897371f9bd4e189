"""Runs as a CSV file and back: without loss, or briefly."""

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

from oddshot.bench.record import COLUMN_TYPES, COLUMNS, RunRecord
from oddshot.bench.store import read_store
from oddshot.data.files import write_bytes
from oddshot.errors import InputError


def write_runs(path: Path, records: Sequence[RunRecord], *, brief: bool = False) -> None:
    """All runs as CSV, whole or not at all.

    brief: about a sixth of the size, for the same tables: no AUC of each task, a configuration only in the first of its
    runs, nine digits a number.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    number = "{:.9g}".format if brief else repr
    for record in _shortened(records) if brief else records:
        values = (getattr(record, name) for name in COLUMNS)
        writer.writerow(
            "" if value is None else number(value) if isinstance(value, float) else value for value in values
        )
    write_bytes(path, text.getvalue().encode())


def read_runs(path: Path) -> list[RunRecord]:
    """The runs of a store, or of a CSV file exported from one."""
    if path.suffix.lower() != ".csv":
        return read_store(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            csv.field_size_limit(2**30)
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not lines or tuple(lines[0]) != COLUMNS:
        raise InputError(f"{path}: not a file of exported runs; expected the columns {', '.join(COLUMNS)}")
    return _with_configs(path, [_record(path, number, line) for number, line in enumerate(lines[1:], 2)])


def _shortened(records: Sequence[RunRecord]) -> list[RunRecord]:
    first = {record.config_hash: record.key for record in reversed(records)}
    return [
        dataclasses.replace(
            record, task_aucs="", config=record.config if first[record.config_hash] == record.key else ""
        )
        for record in records
    ]


def _with_configs(path: Path, records: Sequence[RunRecord]) -> list[RunRecord]:
    """A run without its configuration has that of another run with the same hash."""
    configs = {record.config_hash: record.config for record in records if record.config}
    for number, record in enumerate(records, 2):
        if record.config_hash not in configs:
            raise InputError(f"{path}, line {number}: no line has the configuration of {record.config_hash!r}")
    return [dataclasses.replace(record, config=configs[record.config_hash]) for record in records]


def _record(path: Path, number: int, line: list[str]) -> RunRecord:
    if len(line) != len(COLUMNS):
        raise InputError(f"{path}, line {number}: {len(line)} values; expected {len(COLUMNS)}")
    values: list[int | float | str | None] = []
    for name, text in zip(COLUMNS, line, strict=True):
        try:
            values.append(text if COLUMN_TYPES[name] is str else COLUMN_TYPES[name](text) if text else None)
        except ValueError:
            raise InputError(f"{path}, line {number}, column {name}: {text!r} is not a number") from None
    record = RunRecord(*values)  # type: ignore[arg-type]
    if record.status not in ("done", "failed"):
        raise InputError(f"{path}, line {number}, column status: {record.status!r}; expected done or failed")
    return record
