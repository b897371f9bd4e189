"""CSV files become Arrow tables: whole, or in chunks of constant memory."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from oddshot.data import parsing
from oddshot.data.cells import Place, parse_text
from oddshot.data.tables.csvformat import CsvFormat, detect_format, slow_rows
from oddshot.errors import InputError

_BLOCK = 4 << 20  # bytes parsed at once
_STREAM_BLOCK = 1 << 20  # the same in a stream, which reads dozens of blocks ahead


def read_csv(path: Path, text: Sequence[str] = ()) -> Any:
    """The whole file as a table; types are inferred, but the columns named in `text` stay as written."""
    form = detect_format(path)
    options = _options(form, {name: pa.string() for name in text if name in form.columns})
    try:
        return pyarrow.csv.read_csv(path, **options)
    except pa.ArrowInvalid as error:
        raise explain(path, form, error) from error


def stream_csv(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Tables of at most chunk_rows rows, with the same types in each: columns of numbers as float64, others as text."""
    form = detect_format(path)
    options = _options(form, dict.fromkeys(form.columns, pa.string()), _STREAM_BLOCK)
    first_row = 1
    try:
        for chunk in _rechunk(pyarrow.csv.open_csv(path, **options), chunk_rows):
            yield _with_numbers(chunk, form, kinds, str(path), first_row)
            first_row += chunk.num_rows
    except pa.ArrowInvalid as error:
        raise explain(path, form, error) from error


def explain(path: Path, form: CsvFormat, error: Exception) -> InputError:
    """What is wrong with a file that Arrow refused, found in a slow second pass."""
    width = len(form.header)
    try:
        with slow_rows(path, form) as rows:
            for i, row in enumerate(rows, start=1):
                if len(row) != width:
                    fields = f"{len(row)} field{'s' * (len(row) != 1)}"
                    return InputError(f"{path}: row {i} has {fields}, the header has {width}")
    except csv.Error as found:
        error = found
    return InputError(f"{path}: not a readable CSV file ({str(error).splitlines()[0]})")


def _rechunk(blocks: Iterable[Any], chunk_rows: int) -> Iterator[Any]:
    """Record batches of any size as tables of chunk_rows rows, the last one shorter."""
    waiting: list[Any] = []
    for block in blocks:
        waiting.append(block)
        if sum(len(one) for one in waiting) < chunk_rows:
            continue
        table = pa.Table.from_batches(waiting)
        full = len(table) // chunk_rows * chunk_rows
        for start in range(0, full, chunk_rows):
            yield table.slice(start, chunk_rows)
        waiting = table.slice(full).to_batches()
    if any(len(one) for one in waiting):
        yield pa.Table.from_batches(waiting)


def _options(form: CsvFormat, types: Mapping[str, Any], block: int = _BLOCK) -> dict[str, Any]:
    names = [name if name in form.columns else f"\0{j}" for j, name in enumerate(form.header)]
    return {
        "read_options": pyarrow.csv.ReadOptions(
            block_size=block,
            encoding="utf8" if form.encoding.startswith("utf-8") else form.encoding,
            column_names=names,
            skip_rows=form.blank_lines,
            skip_rows_after_names=1,
        ),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=form.quotes),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=list(form.columns),
            null_values=parsing.MISSING,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            strings_can_be_null=True,
            auto_dict_encode=True,
            decimal_point=form.decimal,
        ),
    }


def _with_numbers(chunk: Any, form: CsvFormat, kinds: Mapping[str, str], where: str, first_row: int) -> Any:
    """The chunk, its columns of numbers parsed."""

    def doubles(text: Any) -> Any:
        return parsing.doubles(pc.replace_substring(text, ",", ".") if form.decimal == "," else text)

    for j, name in enumerate(chunk.column_names):
        if kinds.get(name) == "number":
            numbers = parse_text(chunk[name], doubles, Place(where, name, first_row), "a number")
            chunk = chunk.set_column(j, name, numbers)
    return chunk
