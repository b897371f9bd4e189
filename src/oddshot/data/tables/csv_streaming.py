"""Read CSV files in chunks, in constant memory however long the file is."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from oddshot.data.tables import parsing
from oddshot.data.tables.columns import CellLocation, parse_text_column
from oddshot.data.tables.csv_dialect import CsvDialect, detect_dialect
from oddshot.data.tables.csv_reading import describe_csv_error, read_csv_blocks
from oddshot.data.tables.written_numbers import PLAIN, Notation, parse_written_numbers

_ARROW_TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "category": pa.dictionary(pa.int32(), pa.string())}
"""The types that Arrow's CSV parser gives to columns of these kinds. Columns of other kinds are read as text."""


def stream_csv(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Yield tables of chunk_rows rows, the last one shorter; columns have the types of their kinds, else text."""
    dialect = detect_dialect(path)
    n_yielded = 0
    # Arrow's own parser is fast. Where it fails, the chunks that are left are read as text and parsed by
    # oddshot.data.tables.parsing, which accepts more and names the cell that it refuses.
    for types_by_kind in (_ARROW_TYPES, {}):
        types = {name: types_by_kind.get(kinds.get(name, ""), pa.string()) for name in dialect.columns}
        n_read = 0
        try:
            for chunk in _rechunk(read_csv_blocks(path, dialect, types), chunk_rows):
                n_read += len(chunk)
                if n_read > n_yielded:
                    yield chunk if types_by_kind else _parse_chunk(chunk, dialect, kinds, str(path), n_yielded + 1)
                    n_yielded = n_read
            return
        except pa.ArrowInvalid as error:
            if not types_by_kind:
                raise describe_csv_error(path, dialect, error) from error


def _rechunk(tables: Iterable[Any], chunk_rows: int) -> Iterator[Any]:
    """Yield the same rows in tables of chunk_rows rows, the last one shorter."""
    pending: list[Any] = []
    for table in tables:
        pending.append(table)
        if sum(map(len, pending)) < chunk_rows:
            continue
        joined = pa.concat_tables(pending)
        end = len(joined) // chunk_rows * chunk_rows
        for start in range(0, end, chunk_rows):
            yield joined.slice(start, chunk_rows)
        pending = [joined.slice(end)]
    if any(map(len, pending)):
        yield pa.concat_tables(pending)


def _parse_chunk(chunk: Any, dialect: CsvDialect, kinds: Mapping[str, str], where: str, first_row: int) -> Any:
    """Parse a chunk of text to the types in _ARROW_TYPES."""

    notation = Notation(",", ".") if dialect.decimal == "," else PLAIN

    def parse_numbers(text: Any) -> Any:
        return parse_written_numbers(text, notation)

    for j, name in enumerate(chunk.column_names):
        kind, column, location = kinds.get(name), chunk[name], CellLocation(where, name, first_row)
        if kind == "number":
            column = parse_text_column(column, parse_numbers, location, "a number")
        elif kind == "boolean":
            column = parse_text_column(column, parsing.parse_booleans, location, "true or false")
        elif kind == "category":
            column = column.dictionary_encode()
        chunk = chunk.set_column(j, name, column)
    return chunk
