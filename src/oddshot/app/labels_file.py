"""Files of labels and notes, CSV and JSON, by row number or by the names of the rows."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oddshot.app.labels import LABEL_NAMES
from oddshot.app.open_table import OpenTable
from oddshot.app.row_names import find_rows
from oddshot.data.tables.spreadsheet_text import escape_formula
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

_BY_NAME = {"normal": NORMAL, "anomaly": ANOMALY, "0": NORMAL, "1": ANOMALY}
_UNLABELLED_NAMES = ("unlabelled", "-1", "")
_EXPECTED_FORMAT = 'a file that the app saved: JSON {"labels": {"12": "anomaly"}} or CSV with the columns row and label'


@dataclass(frozen=True)
class LoadedLabels:
    """Labels and notes by row, counted from 0. n_unknown: names that no row of the table has."""

    labels: Mapping[int, int]
    notes: Mapping[int, str]
    n_unknown: int = 0


@dataclass(frozen=True)
class _Line:
    row: str  # its number, counted from 1, or its name
    label: str
    note: str = ""


def labels_to_json(open_table: OpenTable) -> dict[str, Any]:
    """Names of labels, and notes if there are any, by row number, counted from 1."""
    edits = open_table.edits
    content: dict[str, Any] = {
        "table": open_table.sheet.name,
        "rows": len(open_table.sheet),
        "labels": {str(row + 1): LABEL_NAMES[label] for row, label in sorted(edits.labels.items())},
    }
    if edits.notes:
        content["notes"] = {str(row + 1): note for row, note in sorted(edits.notes.items())}
    return content


def labels_to_csv(open_table: OpenTable) -> str:
    """CSV with the columns row, counted from 1, and label; also the names of the rows and notes, if there are any."""
    edits, rows = open_table.edits, open_table.edited_rows()
    columns: dict[str, list[Any]] = {"row": (rows + 1).tolist()}
    if open_table.id_column is not None:
        columns[open_table.id_column] = [escape_formula(str(name)) for name in open_table.names(rows)]
    columns["label"] = [LABEL_NAMES[edits.labels[row]] if row in edits.labels else "" for row in rows.tolist()]
    if edits.notes:
        columns["note"] = [escape_formula(edits.notes.get(row, "")) for row in rows.tolist()]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(escape_formula, columns))
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def parse_labels_file(data: bytes, open_table: OpenTable) -> LoadedLabels:
    """Parse a file of labels, JSON or CSV. By the names of the rows where it has them, otherwise by row number."""
    try:
        text = data.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return _by_number(_json_lines(text), len(open_table.sheet))
        lines, is_named = _csv_lines(text, open_table.id_column)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"these are no labels; expected {_EXPECTED_FORMAT}") from None
    return _by_name(lines, open_table) if is_named else _by_number(lines, len(open_table.sheet))


def _by_number(lines: list[_Line], n_rows: int) -> LoadedLabels:
    for line in lines:
        if not line.row.isdecimal() or not 1 <= int(line.row[:18]) <= n_rows:
            raise InputError(f"labels: row {line.row[:20]!r} is not in the table, which has {n_rows:,} rows")
    return _loaded({line.row: int(line.row) - 1 for line in lines}, lines)


def _by_name(lines: list[_Line], open_table: OpenTable) -> LoadedLabels:
    assert open_table.id_column is not None
    names = {name for line in lines for name in (line.row, line.row.removeprefix("'"))}
    found = find_rows(open_table.sheet, open_table.id_column, names)
    rows = {line.row: found.get(line.row, found.get(line.row.removeprefix("'"))) for line in lines}
    known = {name: row for name, row in rows.items() if row is not None}
    if lines and not known:
        raise InputError(f"labels: no row of the table is named as in the column {open_table.id_column!r} of the file")
    return _loaded(known, lines)


def _loaded(rows: Mapping[str, int], lines: list[_Line]) -> LoadedLabels:
    labels, notes = {}, {}
    for line in lines:
        if line.label not in _UNLABELLED_NAMES and line.label not in _BY_NAME:
            raise InputError(f"labels: {line.label[:20]!r} in row {line.row[:20]}; a label is normal or anomaly")
        if line.row in rows and line.label in _BY_NAME:
            labels[rows[line.row]] = _BY_NAME[line.label]
        if line.row in rows and line.note:
            notes[rows[line.row]] = line.note
    return LoadedLabels(labels, notes, sum(line.row not in rows for line in lines))


def _json_lines(text: str) -> list[_Line]:
    content: Any = json.loads(text)
    labels, notes = content["labels"], content.get("notes", {})
    rows = dict.fromkeys([*labels, *notes])
    return [_Line(str(row), str(labels.get(row, "")), str(notes.get(row, ""))) for row in rows]


def _csv_lines(text: str, id_column: str | None) -> tuple[list[_Line], bool]:
    """The lines, and whether they have the names of rows and not their numbers."""
    reader = csv.DictReader(io.StringIO(text))
    header = reader.fieldnames or ()
    names = () if id_column is None else (id_column, escape_formula(id_column))
    key = next((name for name in names if name in header), "row")
    is_named = key in names
    if "label" not in header or key not in header:
        raise InputError(f"these are no labels; expected {_EXPECTED_FORMAT}")
    lines = [{name: str(line.get(name) or "").strip() for name in (key, "label", "note")} for line in reader]
    return [_Line(line[key], line["label"], line["note"].removeprefix("'")) for line in lines], is_named
