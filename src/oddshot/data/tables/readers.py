"""Read a file of any supported format as an Arrow table, whole or in chunks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from oddshot.data.files import named_path
from oddshot.data.tables.arff_reading import read_arff, stream_arff
from oddshot.data.tables.column_names import check_unique_names, without_row_index
from oddshot.data.tables.conversion import as_table, flatten_structs
from oddshot.data.tables.csv_reading import read_csv
from oddshot.data.tables.csv_streaming import stream_csv
from oddshot.data.tables.json_reading import read_json_lines, stream_json_lines
from oddshot.data.tables.packed_files import COMPRESSED_SUFFIXES, STANDARD_INPUT, is_pipe, unpacked
from oddshot.data.tables.parquet_reading import read_parquet, stream_parquet
from oddshot.data.tables.xlsx_reading import read_xlsx, stream_xlsx
from oddshot.errors import CapacityError, InputError, OddshotError, file_error


@dataclass(frozen=True)
class FileFormat:
    """How files of one format are read.

    read: takes the path and the names of columns that must stay text, and returns the whole file as a pyarrow.Table.
    stream: takes the path, the number of rows of a chunk and the kinds of the columns, see stream_table, and yields
    pyarrow.Tables of at most that many rows.
    """

    read: Callable[[Path, Sequence[str]], Any]
    stream: Callable[[Path, int, Mapping[str, str]], Iterator[Any]]


CSV = FileFormat(read_csv, stream_csv)
PARQUET = FileFormat(read_parquet, stream_parquet)
ARFF = FileFormat(read_arff, stream_arff)

JSON_LINES = FileFormat(read_json_lines, stream_json_lines)
XLSX = FileFormat(read_xlsx, stream_xlsx)

FORMATS: dict[str, FileFormat] = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arff": ARFF,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".json": JSON_LINES,
    ".xlsx": XLSX,
}
"""File formats by suffix, in lower case. Files with any other suffix are read as CSV.

To add a format, write a module like parquet_reading.py with a read and a stream function, and add its suffixes here.
"""

_NOT_READ = (
    *(
        ".xls",
        ".xlsb",
        ".ods",
        ".feather",
        ".arrow",
        ".orc",
        ".avro",
        ".pkl",
        ".pickle",
        ".npy",
        ".npz",
        ".h5",
        ".hdf5",
    ),
    *(".mat", ".sav", ".dta", ".sas7bdat", ".rds", ".db", ".sqlite", ".zip", ".7z", ".rar", ".tar", ".tgz"),
)
"""Suffixes of files that hold tables but are read by other programs."""

CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".data", ".tab")
"""Names that `oddshot info` takes for tables, besides those of FORMATS."""


def read_table(path: str | PathLike[str], text_columns: Sequence[str] = ()) -> Any:
    """Read the whole file as a pyarrow.Table, in the format of its suffix.

    The types of CSV columns are inferred, except for those named in `text_columns`, which stay text as written.
    """
    path = named_path(path)
    with _errors_naming(path), unpacked(path) as plain:
        table = _with_plain_columns(_format_of(plain).read(plain, text_columns), path)
    if table.num_rows == 0:
        raise _no_rows_error(path)
    return table


def stream_table(
    path: str | PathLike[str], chunk_rows: int = 65_536, kinds: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Yield the file as tables of at most chunk_rows rows, in order; CSV and Parquet in constant memory.

    kinds: the kinds of columns by name, as in Encoding.kinds. Columns without one are read too. The types of all chunks
    agree: in CSV files, columns of kind number are float64, boolean bool, category dictionary-encoded text, and all
    others text. Only in chunks near a number or boolean that is anything else, its column is text.
    """
    path = named_path(path)
    n_rows = 0
    with _errors_naming(path), unpacked(path) as plain:
        for chunk in _format_of(plain).stream(plain, chunk_rows, kinds or {}):
            n_rows += chunk.num_rows
            yield _with_plain_columns(chunk, path)
    if n_rows == 0:
        raise _no_rows_error(path)


def has_table_suffix(path: Path) -> bool:
    """Return whether the name of a file is that of a table; what comes through a pipe is one."""
    suffix = path.suffix.lower()
    suffixes = (*FORMATS, *CSV_SUFFIXES, *COMPRESSED_SUFFIXES, *_NOT_READ)
    return path == STANDARD_INPUT or is_pipe(path) or suffix in suffixes


def _format_of(path: Path) -> FileFormat:
    suffix = path.suffix.lower()
    if suffix in _NOT_READ and suffix not in FORMATS:
        raise InputError(f"{path}: {suffix} files are not read; save the table as CSV, Parquet, JSON lines or .xlsx")
    return FORMATS.get(suffix, CSV)


def _with_plain_columns(table: Any, path: Path) -> Any:
    """Drop the row index that pandas writes, flatten structs, and convert rare Arrow types to common ones."""
    names = without_row_index(table.column_names, path)
    check_unique_names(names, str(path))
    return as_table(flatten_structs(table.select(names)), str(path))


def _no_rows_error(path: Path) -> InputError:
    return InputError(f"{path}: no rows, only a header")


@contextmanager
def _errors_naming(path: Path) -> Iterator[None]:
    """Convert whatever reading a file raises to an error of one line that names the file."""
    try:
        yield
    except OddshotError:
        raise
    except (OSError, UnicodeError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise file_error("read", path, error) from error
        # Arrow reports damaged content as an OSError without a number.
        kind = CapacityError if isinstance(error, MemoryError) else InputError
        raise kind(f"{path}: cannot be read ({str(error).splitlines()[0]})") from error
