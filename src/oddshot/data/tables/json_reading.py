"""Read files with one JSON object a line as Arrow tables."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from oddshot.errors import InputError


def read_json_lines(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """Read the whole file. text_columns is ignored: JSON tells numbers and text apart."""
    if not path.read_bytes().strip():
        raise InputError(f"{path}: the file is empty")
    try:
        return pyarrow.json.read_json(path)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: not a file with one JSON object a line ({reason})") from error


def stream_json_lines(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Yield tables of at most chunk_rows rows. The file is read as a whole first, and kinds is ignored."""
    table = read_json_lines(path)
    for start in range(0, table.num_rows, chunk_rows):
        yield table.slice(start, chunk_rows)
