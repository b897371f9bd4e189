"""Read files with one JSON object a line as Arrow tables."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.json_structure import MAX_DEPTH, are_names_too_many, find_deep_line
from oddshot.errors import InputError

_NULL_LINE = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[^\S\r\n]*null")  # Arrow's reader crashes on some of them


def read_json_lines(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """Read the whole file. text_columns is ignored: JSON tells numbers and text apart."""
    content = path.read_bytes()
    if not content.strip():
        raise InputError(f"{path}: the file is empty")
    _check_structure(content, path)
    try:
        table = pyarrow.json.read_json(pa.BufferReader(content))
        table.validate(full=True)  # reading does not check that text is UTF-8
        return table
    except pa.ArrowInvalid as error:
        if "changed from" in str(error):
            return _read_mixed_columns(path)
        raise _format_error(path, str(error).splitlines()[0]) from error


def _check_structure(content: bytes, path: Path) -> None:
    """Refuse what Arrow's parser would crash on, or make a table of that does not fit in memory."""
    if null := _NULL_LINE.search(content):
        n_lines_above = content.count(b"\n", 0, null.end())
        raise _format_error(path, f"line {n_lines_above + 1} is none")
    if line := find_deep_line(content):
        raise InputError(f"{path}: line {line}: values are nested deeper than {MAX_DEPTH} levels")
    if are_names_too_many(content):
        raise InputError(f"{path}: nearly every line has other names; expected objects with the same names")


def _read_mixed_columns(path: Path) -> Any:
    """Read a file in which a column holds numbers and text, such as "NA": it becomes text, whose cells are parsed."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise _format_error(path, f"line {number}: {error}") from error
            if not isinstance(row, dict):
                raise _format_error(path, f"line {number} is none")
            rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return as_table({name: [row.get(name) for row in rows] for name in names}, str(path))


def _format_error(path: Path, reason: str) -> InputError:
    return InputError(f"{path}: not a file with one JSON object a line ({reason})")


def stream_json_lines(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Yield tables of at most chunk_rows rows. The file is read as a whole first, and kinds is ignored."""
    table = read_json_lines(path)
    for start in range(0, table.num_rows, chunk_rows):
        yield table.slice(start, chunk_rows)
