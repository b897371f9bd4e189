"""Runs as a CSV file: a complete copy of a store, or a brief one that is enough for the tables."""

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

from oddshot.bench.record import COLUMN_TYPES, COLUMNS, RunRecord
from oddshot.bench.store import read_store
from oddshot.data.files import write_bytes
from oddshot.errors import FileError, InputError

MAX_FIELD_CHARS = 2**30  # the csv module's default of 131,072 is too small for the AUCs of many tasks


def write_runs(path: Path, records: Sequence[RunRecord], *, brief: bool = False) -> None:
    """Write all runs as CSV, atomically.

    brief: about a sixth of the size and enough for the same tables. It leaves out the AUCs of single tasks, has every
    configuration only in the first run that uses it, and rounds numbers to nine significant digits.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    format_float = "{:.9g}".format if brief else repr
    for record in _abbreviated(records) if brief else records:
        values = (getattr(record, name) for name in COLUMNS)
        writer.writerow(
            "" if value is None else format_float(value) if isinstance(value, float) else value for value in values
        )
    write_bytes(path, text.getvalue().encode())


def read_runs(path: Path) -> list[RunRecord]:
    """Read the runs of a store, or of a CSV file that was exported from one."""
    if path.suffix.lower() != ".csv":
        return read_store(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            csv.field_size_limit(MAX_FIELD_CHARS)
            rows = list(csv.reader(file))
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not rows or tuple(rows[0]) != COLUMNS:
        raise InputError(f"{path}: not a file of exported runs; expected the columns {', '.join(COLUMNS)}")
    return _restore_configs(path, [_parse_row(path, number, row) for number, row in enumerate(rows[1:], 2)])


def _abbreviated(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Copies without AUCs of single tasks, and with a configuration only in the first run that uses it."""
    first = {record.config_hash: record.key for record in reversed(records)}
    return [
        dataclasses.replace(
            record, task_aucs="", config=record.config if first[record.config_hash] == record.key else ""
        )
        for record in records
    ]


def _restore_configs(path: Path, records: Sequence[RunRecord]) -> list[RunRecord]:
    """Fill in missing configurations from other runs with the same hash."""
    configs = {record.config_hash: record.config for record in records if record.config}
    for number, record in enumerate(records, 2):
        if record.config_hash not in configs:
            raise InputError(f"{path}, line {number}: no line has the configuration of {record.config_hash!r}")
    return [dataclasses.replace(record, config=configs[record.config_hash]) for record in records]


def _parse_row(path: Path, number: int, row: list[str]) -> RunRecord:
    """One run from the row of the CSV file with this line number."""
    if len(row) != len(COLUMNS):
        raise InputError(f"{path}, line {number}: {len(row)} values; expected {len(COLUMNS)}")
    values: list[int | float | str | None] = []
    for name, text in zip(COLUMNS, row, strict=True):
        column_type = COLUMN_TYPES[name]
        try:
            values.append(text if column_type is str else column_type(text) if text else None)
        except ValueError:
            raise InputError(f"{path}, line {number}, column {name}: {text!r} is not a number") from None
    record = RunRecord(*values)  # type: ignore[arg-type]
    if record.status not in ("done", "failed"):
        raise InputError(f"{path}, line {number}, column status: {record.status!r}; expected done or failed")
    return record
