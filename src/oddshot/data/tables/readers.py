"""A file of any known format becomes an Arrow table, whole or in chunks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from oddshot.data.tables.arfffile import read_arff
from oddshot.data.tables.csvfile import read_csv
from oddshot.data.tables.csvstream import stream_csv
from oddshot.data.tables.frames import as_table, without_row_index
from oddshot.errors import InputError, OddshotError

_PARQUET = (".parquet", ".pq")
_ARFF = (".arff",)
_BUFFER = 1 << 20  # bytes of a Parquet column read at once


def read_table(path: str | PathLike[str], text: Sequence[str] = ()) -> Any:
    """The whole file as a pyarrow.Table: Parquet or ARFF by the name's end, else CSV.

    The types of CSV columns are inferred, but the columns named in `text` stay as written.
    """
    path = Path(path)
    with _one_line_errors(path):
        if path.suffix.lower() in _PARQUET:
            with _open_parquet(path) as file:
                table = file.read()
        elif path.suffix.lower() in _ARFF:
            table = read_arff(path)
        else:
            table = read_csv(path, text)
        table = _select(table, path)
    if table.num_rows == 0:
        raise _no_rows(path)
    return table


def stream_table(
    path: str | PathLike[str], chunk_rows: int = 65_536, columns: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """The file as tables of at most chunk_rows rows, in order; CSV and Parquet in constant memory.

    columns: the kind of each column that a model knows, as in Encoding.kinds. All columns of the file are there, known
    or not. The types of all chunks agree: in CSV files, columns of kind number are float64, boolean bool, category
    dictionary-encoded text, and all others text.
    """
    path = Path(path)
    n_rows = 0
    with _one_line_errors(path):
        if path.suffix.lower() in _PARQUET:
            chunks = _stream_parquet(path, chunk_rows)
        elif path.suffix.lower() in _ARFF:
            whole = read_arff(path)
            chunks = (whole.slice(start, chunk_rows) for start in range(0, whole.num_rows, chunk_rows))
        else:
            chunks = stream_csv(path, chunk_rows, columns or {})
        for chunk in chunks:
            n_rows += chunk.num_rows
            yield _select(chunk, path)
    if n_rows == 0:
        raise _no_rows(path)


def _open_parquet(path: Path) -> Any:
    return pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, page_checksum_verification=True)


def _stream_parquet(path: Path, chunk_rows: int) -> Iterator[Any]:
    with _open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=chunk_rows):
            yield pa.Table.from_batches([batch])


def _select(table: Any, path: Path) -> Any:
    return as_table(table.select(without_row_index(table.column_names, path)), str(path))


def _no_rows(path: Path) -> InputError:
    return InputError(f"{path}: no rows, only a header")


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """What can go wrong with a file, as one line that names it."""
    try:
        yield
    except OddshotError:
        raise
    except (OSError, UnicodeError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read ({reason})") from error
