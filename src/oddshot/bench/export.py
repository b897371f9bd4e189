"""Runs as a CSV file and back, without loss."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from oddshot.bench.record import COLUMNS, KINDS, Record
from oddshot.bench.store import read_store
from oddshot.data.files import write_bytes
from oddshot.errors import InputError


def write_runs(path: Path, records: Sequence[Record]) -> None:
    """All runs as CSV, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        values = (getattr(record, name) for name in COLUMNS)
        writer.writerow("" if value is None else repr(value) if isinstance(value, float) else value for value in values)
    write_bytes(path, text.getvalue().encode())


def read_runs(path: Path) -> list[Record]:
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
    return [_record(path, number, line) for number, line in enumerate(lines[1:], 2)]


def _record(path: Path, number: int, line: list[str]) -> Record:
    if len(line) != len(COLUMNS):
        raise InputError(f"{path}, line {number}: {len(line)} values; expected {len(COLUMNS)}")
    values: list[int | float | str | None] = []
    for name, text in zip(COLUMNS, line, strict=True):
        try:
            values.append(text if KINDS[name] is str else KINDS[name](text) if text else None)
        except ValueError:
            raise InputError(f"{path}, line {number}, column {name}: {text!r} is not a number") from None
    record = Record(*values)  # type: ignore[arg-type]
    if record.status not in ("done", "failed"):
        raise InputError(f"{path}, line {number}, column status: {record.status!r}; expected done or failed")
    return record
