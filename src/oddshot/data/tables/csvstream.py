"""CSV files in chunks: constant memory, however long the file is."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oddshot.data.tables import parsing
from oddshot.data.tables.cells import Place, parse_text
from oddshot.data.tables.csvfile import explain, read_blocks
from oddshot.data.tables.csvformat import CsvFormat, detect_format

_TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "category": pa.dictionary(pa.int32(), pa.string())}


def stream_csv(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Tables of chunk_rows rows, the last shorter; columns have the type of their kind, without a known one text."""
    form = detect_format(path)
    n_given = 0
    for types in (_TYPES, {}):  # Arrow's parser is fast; ours accepts more, and names the cell that it refuses
        columns = {name: types.get(kinds.get(name, ""), pa.string()) for name in form.columns}
        n_read = 0
        try:
            for chunk in _rechunk(read_blocks(path, form, columns), chunk_rows):
                n_read += len(chunk)
                if n_read > n_given:
                    yield chunk if types else _parse(chunk, form, kinds, str(path), n_given + 1)
                    n_given = n_read
            return
        except pa.ArrowInvalid as error:
            if not types:
                raise explain(path, form, error) from error


def _rechunk(tables: Iterable[Any], chunk_rows: int) -> Iterator[Any]:
    """The same rows in tables of chunk_rows rows, the last one shorter."""
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) < chunk_rows:
            continue
        joined = pa.concat_tables(waiting)
        full = len(joined) // chunk_rows * chunk_rows
        for start in range(0, full, chunk_rows):
            yield joined.slice(start, chunk_rows)
        waiting = [joined.slice(full)]
    if any(map(len, waiting)):
        yield pa.concat_tables(waiting)


def _parse(chunk: Any, form: CsvFormat, kinds: Mapping[str, str], where: str, first_row: int) -> Any:
    """A chunk of text with the types of the columns' kinds."""

    def doubles(text: Any) -> Any:
        return parsing.doubles(pc.replace_substring(text, ",", ".") if form.decimal == "," else text)

    for j, name in enumerate(chunk.column_names):
        kind, column, place = kinds.get(name), chunk[name], Place(where, name, first_row)
        if kind == "number":
            column = parse_text(column, doubles, place, "a number")
        elif kind == "boolean":
            column = parse_text(column, parsing.booleans, place, "true or false")
        elif kind == "category":
            column = column.dictionary_encode()
        chunk = chunk.set_column(j, name, column)
    return chunk
