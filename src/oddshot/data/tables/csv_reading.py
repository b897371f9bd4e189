"""Read CSV files as Arrow tables."""

import csv
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from oddshot.data.tables.columns import arrow_kind
from oddshot.data.tables.csv_dialect import CsvDialect, detect_dialect, open_python_csv
from oddshot.data.tables.parsing import MISSING_VALUES
from oddshot.data.tables.written_numbers import Notation, parse_written_numbers
from oddshot.errors import InputError, one_line

_BLOCK_BYTES = 1 << 22  # given to Arrow at once; for every call it prepares all columns anew
_PARSED_BYTES = 1 << 20  # of them that Arrow parses at once: what a core keeps in its cache
_N_PROBED_CELLS = 100
_N_THREADS = min(os.cpu_count() or 1, 8)  # whatever OMP_NUM_THREADS says, which limits pyarrow.cpu_count() too
_MAX_QUEUED_BLOCKS = 2  # besides one for each thread


def read_csv(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """Read the whole file; types are inferred, except for the columns named in `text_columns`, which stay text."""
    dialect = detect_dialect(path)
    table = _read_with_dialect(path, dialect, text_columns)
    return table if dialect.decimal == "." else _with_decimal_commas(table, text_columns)


def _read_with_dialect(path: Path, dialect: CsvDialect, text_columns: Sequence[str]) -> Any:
    types = {name: pa.string() for name in (*text_columns, *dialect.hexadecimal) if name in dialect.columns}
    try:
        if dialect.splits_at_lines and path.stat().st_size > 2 * _PARSED_BYTES:
            with suppress(pa.ArrowInvalid):  # cells further down do not have the types inferred from the first ones
                parse = partial(parse_block, dialect=dialect, types=_infer_types(path, dialect, types))
                return pa.concat_tables(parse_blocks(path, dialect, parse))
        return pyarrow.csv.read_csv(path, **_arrow_options(dialect, types))
    except pa.ArrowInvalid as error:
        raise describe_csv_error(path, dialect, error) from error


def _with_decimal_commas(table: Any, text_columns: Sequence[str]) -> Any:
    """Parse the columns that Arrow leaves as text because points separate thousands, as in 1.234,5 and 1.234."""
    for j, name in enumerate(table.column_names):
        column = table[name]
        if name in text_columns or arrow_kind(column) != "text":
            continue
        text = column.cast(pa.string())
        numbers = _try_numbers(text) if _try_numbers(text[:_N_PROBED_CELLS]) is not None else None
        if numbers is not None:
            table = table.set_column(j, name, numbers)
    return table


def _try_numbers(text: Any) -> Any | None:
    try:
        return parse_written_numbers(text, Notation(",", "."))
    except pa.ArrowInvalid:
        return None


def parse_blocks(path: Path, dialect: CsvDialect, parse: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield the tables that `parse` makes of blocks of whole lines, in order; only a few are in memory at a time.

    The file must be one that can be split after any line break. The blocks are parsed in parallel threads.
    """
    pending: deque[Future[Any]] = deque()
    pool = ThreadPoolExecutor(_N_THREADS)
    try:
        for block in _split_into_blocks(path, dialect, _BLOCK_BYTES):
            pending.append(pool.submit(parse, block))
            if len(pending) > _N_THREADS + _MAX_QUEUED_BLOCKS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)  # of blocks that nobody waits for, after an error or the first rows


def parse_block(block: Any, dialect: CsvDialect, types: Mapping[str, Any]) -> Any:
    """Parse an Arrow buffer of whole lines; types: of the columns whose type is not to be inferred."""
    return pyarrow.csv.read_csv(pa.BufferReader(block), **_arrow_options(dialect, types, is_block=True))


def parse_unsplit(path: Path, dialect: CsvDialect, types: Mapping[str, Any]) -> Iterator[Any]:
    """Yield any file as tables with these types, in order; one is in memory at a time."""
    for batch in pyarrow.csv.open_csv(path, **_arrow_options(dialect, types)):
        yield pa.Table.from_batches([batch])


def describe_csv_error(path: Path, dialect: CsvDialect, error: Exception) -> InputError:
    """Find out, in a slow second pass, what is wrong with a file that Arrow cannot parse."""
    if "straddling object" in str(error):
        return InputError(f"{path}: a row is longer than {_PARSED_BYTES:,} bytes, as much as can be read")
    width = len(dialect.header)
    try:
        with open_python_csv(path, dialect) as rows:
            for i, row in enumerate(rows, start=1):
                if len(row) != width:
                    fields = f"{len(row)} field{'s' * (len(row) != 1)}"
                    hint = _width_hint(dialect.header, row, i)
                    return InputError(f"{path}: row {i} has {fields}, the header has {width}{hint}")
    except csv.Error as csv_error:
        error = csv_error
    return InputError(f"{path}: not a readable CSV file ({str(error).splitlines()[0]})")


def _width_hint(header: Sequence[str], row: Sequence[str], number: int) -> str:
    """What the reason may be that a row, of this number, has another width than the header."""
    if not any(cell.strip() for cell in row[len(header) :]) and len(row) > len(header):
        return "; delete what separates columns at its end, or name that column too"
    if not header[-1] and len(header) == len(row) + 1:
        return "; delete what separates columns at the end of the header"
    if number == 1 and len(header) == 1:
        return f"; the first line must be the header, and here it is {one_line(header[0])}"
    return ""


def _split_into_blocks(path: Path, dialect: CsvDialect, n_bytes: int) -> Iterator[Any]:
    """Yield the bytes below the header as Arrow buffers of whole lines, about n_bytes each."""
    with open(path, "rb") as file:
        for _ in range(dialect.n_lines_above + 1):
            file.readline()
        while block := file.read(n_bytes):
            end = block.rfind(b"\n") + 1
            if end == 0 or len(block) < n_bytes:
                block += file.readline()
                end = len(block)
            file.seek(end - len(block), os.SEEK_CUR)
            if not block[:1].isspace() or block[:end].strip():  # not only blank lines
                yield pa.py_buffer(block).slice(0, end)


def _infer_types(path: Path, dialect: CsvDialect, types: Mapping[str, Any]) -> dict[str, Any]:
    """Infer the types of all columns, other than those given, from the start of the file."""
    first_block = next(_split_into_blocks(path, dialect, _PARSED_BYTES))
    schema = parse_block(first_block, dialect, types).schema
    return dict(zip(schema.names, schema.types, strict=True))


def _arrow_options(dialect: CsvDialect, types: Mapping[str, Any], is_block: bool = False) -> dict[str, Any]:
    """Return the keyword arguments of pyarrow.csv's functions.

    types: of the columns whose type is not to be inferred. is_block: whether they are for a block of the file, without
    its header and in one of many threads.
    """
    used = set(dialect.columns)
    names = [name if name in used else f"\0{j}" for j, name in enumerate(dialect.header)]
    return {
        "read_options": pyarrow.csv.ReadOptions(
            use_threads=not is_block,
            block_size=_PARSED_BYTES,
            encoding="utf8" if dialect.encoding.startswith("utf-8") else dialect.encoding,
            column_names=names,
            skip_rows=0 if is_block else dialect.n_lines_above,
            skip_rows_after_names=0 if is_block else 1,
        ),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.has_quotes else False,  # faster without
            newlines_in_values=dialect.has_quotes,
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=types,
            check_utf8=not dialect.encoding.startswith("utf-8"),  # detect_dialect has checked all of the file
            include_columns=list(dialect.columns),
            null_values=MISSING_VALUES,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            strings_can_be_null=True,
            auto_dict_encode=True,
            decimal_point=dialect.decimal,
        ),
    }
