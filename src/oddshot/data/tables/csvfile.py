"""CSV files become Arrow tables."""

import csv
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from oddshot.data.tables import parsing
from oddshot.data.tables.csvformat import CsvFormat, detect_format, slow_rows
from oddshot.errors import InputError

_BLOCK = 2 << 20  # bytes parsed at once
_AHEAD = 6  # blocks that may be ready, or wait for a thread


def read_csv(path: Path, text: Sequence[str] = ()) -> Any:
    """The whole file as a table; types are inferred, but the columns named in `text` stay as written."""
    form = detect_format(path)
    known = {name: pa.string() for name in text if name in form.columns}
    try:
        if form.splits_at_lines and path.stat().st_size > 2 * _BLOCK:
            with suppress(pa.ArrowInvalid):  # the rest of the file is not like its start
                return pa.concat_tables(read_blocks(path, form, _infer_types(path, form, known)))
        return pyarrow.csv.read_csv(path, **_options(form, known))
    except pa.ArrowInvalid as error:
        raise explain(path, form, error) from error


def read_blocks(path: Path, form: CsvFormat, types: Mapping[str, Any]) -> Iterator[Any]:
    """The file as tables of any size, in order and with these types, in memory for a few of them only.

    If every line break ends a row, they are parsed in threads.
    """
    if not form.splits_at_lines:
        for batch in pyarrow.csv.open_csv(path, **_options(form, types)):
            yield pa.Table.from_batches([batch])
        return
    options = _options(form, types, is_block=True)
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        for block in _blocks(path, form):
            waiting.append(pool.submit(pyarrow.csv.read_csv, pa.BufferReader(block), **options))
            if len(waiting) > pa.cpu_count() + _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


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


def _blocks(path: Path, form: CsvFormat) -> Iterator[Any]:
    """The bytes of the file below its header, as Arrow buffers of whole lines."""
    with open(path, "rb") as file:
        for _ in range(form.blank_lines + 1):
            file.readline()
        while block := file.read(_BLOCK):
            end = block.rfind(b"\n") + 1
            if end == 0 or len(block) < _BLOCK:
                block += file.readline()
                end = len(block)
            file.seek(end - len(block), os.SEEK_CUR)
            if not block[:1].isspace() or block[:end].strip():  # not only blank lines
                yield pa.py_buffer(block).slice(0, end)


def _infer_types(path: Path, form: CsvFormat, known: Mapping[str, Any]) -> dict[str, Any]:
    """The types of the columns by the start of the file."""
    first = next(_blocks(path, form))
    schema = pyarrow.csv.read_csv(pa.BufferReader(first), **_options(form, known, is_block=True)).schema
    return dict(zip(schema.names, schema.types, strict=True))


def _options(form: CsvFormat, types: Mapping[str, Any], is_block: bool = False) -> dict[str, Any]:
    """The arguments of pyarrow.csv's functions. types: of columns whose type is not to be inferred.

    is_block: for a piece of the file without its header, in one of many threads.
    """
    names = [name if name in form.columns else f"\0{j}" for j, name in enumerate(form.header)]
    return {
        "read_options": pyarrow.csv.ReadOptions(
            use_threads=not is_block,
            block_size=_BLOCK,
            encoding="utf8" if form.encoding.startswith("utf-8") else form.encoding,
            column_names=names,
            skip_rows=0 if is_block else form.blank_lines,
            skip_rows_after_names=0 if is_block else 1,
        ),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=form.delimiter,
            quote_char='"' if form.quotes else False,  # faster without
            newlines_in_values=form.quotes,
        ),
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
