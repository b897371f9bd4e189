"""Read CSV files in chunks, in constant memory however long the file is."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oddshot.data.tables import parsing
from oddshot.data.tables.categories import canonical_text
from oddshot.data.tables.columns import arrow_kind, try_parse_column
from oddshot.data.tables.csv_dialect import CsvDialect, detect_dialect
from oddshot.data.tables.csv_reading import describe_csv_error, parse_block, parse_blocks, parse_unsplit
from oddshot.data.tables.written_numbers import PLAIN, Notation, find_numbers, parse_written_numbers

_REPEATED_TEXT = pa.dictionary(pa.int32(), pa.string())
_ARROW_TYPES = {"number": pa.float64(), "boolean": _REPEATED_TEXT, "category": _REPEATED_TEXT}
"""The types that Arrow's CSV parser gives to columns of these kinds. Columns of other kinds are read as text."""


def stream_csv(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Yield tables of chunk_rows rows, the last one shorter; columns have the types of their kinds, else text."""
    dialect = detect_dialect(path)
    parser = _TableParser(dialect, kinds)
    is_split = dialect.splits_at_lines
    tables = parse_blocks(path, dialect, parser.parse_block) if is_split else parser.parse_unsplit(path)
    try:
        yield from _rechunk(_with_parsed_text(tables, dialect, kinds), chunk_rows)
    except pa.ArrowInvalid as error:
        raise describe_csv_error(path, dialect, error) from error


class _TableParser:
    """Parses parts of a CSV file with Arrow's own parser, which is fast.

    Numbers that it cannot parse are left as text for oddshot.data.tables.written_numbers, which accepts more. From then
    on their column is read as text. Several threads may parse blocks at the same time.
    """

    def __init__(self, dialect: CsvDialect, kinds: Mapping[str, str]) -> None:
        self._dialect = dialect
        self._types = {name: _ARROW_TYPES.get(kinds.get(name, ""), pa.string()) for name in dialect.columns}

    def parse_block(self, block: Any) -> Any:
        """Parse an Arrow buffer of whole lines."""
        try:
            return parse_block(block, self._dialect, self._types)
        except pa.ArrowInvalid:
            table = parse_block(block, self._dialect, _with_numbers_as_text(self._types))
            self._types = {name: self._type_for(name, table[name]) for name in self._types}
            return table

    def parse_unsplit(self, path: Path) -> Iterator[Any]:
        """Yield a file that cannot be split into blocks, in order."""
        n_rows = 0
        try:
            for table in parse_unsplit(path, self._dialect, self._types):
                yield table
                n_rows += len(table)
        except pa.ArrowInvalid:
            for table in parse_unsplit(path, self._dialect, _with_numbers_as_text(self._types)):
                yield table.slice(n_rows)
                n_rows = max(n_rows - len(table), 0)

    def _type_for(self, name: str, column: Any) -> Any:
        """Return the type as which to read a column, given some of its cells as text."""
        if self._types[name] == pa.float64():
            try:
                parsing.parse_numbers(column)
            except pa.ArrowInvalid:
                return pa.string()
        return self._types[name]


def _with_numbers_as_text(types: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pa.string() if one == pa.float64() else one for name, one in types.items()}


def _with_parsed_text(tables: Iterable[Any], dialect: CsvDialect, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Parse the columns of numbers and booleans that are still text, unless some of their cells are anything else."""
    notation = Notation(",", ".") if dialect.decimal == "," else PLAIN
    parsers: dict[str | None, parsing.Parser] = {
        "number": partial(parse_written_numbers, notation=notation),
        "boolean": parsing.parse_booleans,
    }
    for table in tables:
        for j, name in enumerate(table.column_names):
            if kinds.get(name) not in parsers or arrow_kind(column := table[name]) != "text":
                continue
            parsed = try_parse_column(column, parsers[kinds[name]])
            if parsed is None and kinds[name] == "number":
                parsed = _with_plain_numbers(column, notation)
            if parsed is not None:
                table = table.set_column(j, name, parsed)
        yield table


def _with_plain_numbers(column: Any, notation: Notation) -> Any:
    """Return a column of text in which the cells that are numbers are written as programs write them."""
    if notation == PLAIN:
        return column
    text = column.combine_chunks()
    is_number = pa.array(find_numbers(text, notation))
    numbers = parse_written_numbers(pc.if_else(is_number, text, pa.scalar(None, text.type)), notation)
    return pc.coalesce(canonical_text(numbers), text)


def _rechunk(tables: Iterable[Any], chunk_rows: int) -> Iterator[Any]:
    """Yield the same rows in tables of chunk_rows rows, shorter ones at the end and where a column changes its type."""
    pending: list[Any] = []
    for table in tables:
        if pending and not table.schema.equals(pending[0].schema):
            yield pa.concat_tables(pending)
            pending = []
        pending.append(table)
        if sum(map(len, pending)) < chunk_rows:
            continue
        joined = pa.concat_tables(pending)
        end = len(joined) // chunk_rows * chunk_rows
        for start in range(0, end, chunk_rows):
            yield joined.slice(start, chunk_rows)
        pending = [joined.slice(end)] if end < len(joined) else []
    if pending:
        yield pa.concat_tables(pending)
