"""Read the first sheet of Excel files as Arrow tables; needs openpyxl."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from oddshot.data.tables.column_names import check_unique_names
from oddshot.data.tables.conversion import as_table
from oddshot.errors import InputError, missing_package

_MAX_ROWS = 1 << 20  # of a sheet, as Excel has it


def read_xlsx(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """Read the first sheet; its first row with cells is the header. text_columns is ignored."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise missing_package(f"{path}: an Excel file", "openpyxl", "openpyxl (or save it as CSV)") from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError) as error:
        raise InputError(f"{path}: not a readable Excel file ({str(error).splitlines()[0]})") from error
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # a sheet may say that it is far larger than it is
    all_rows = sheet.iter_rows(max_row=_MAX_ROWS, values_only=True)
    rows = [row for row in all_rows if any(cell is not None for cell in row)]
    book.close()
    if not rows:
        raise InputError(f"{path}: its first sheet is empty")
    width = max(map(len, rows))
    header, *cells = (row + (None,) * (width - len(row)) for row in rows)
    used = [j for j, name in enumerate(header) if name is not None or any(row[j] is not None for row in cells)]
    names = ["" if header[j] is None else str(header[j]).strip() for j in used]
    check_unique_names(names, str(path))
    return as_table({name: [row[j] for row in cells] for name, j in zip(names, used, strict=True)}, str(path))


def stream_xlsx(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Yield tables of at most chunk_rows rows. The file is read as a whole first, and kinds is ignored."""
    table = read_xlsx(path)
    for start in range(0, table.num_rows, chunk_rows):
        yield table.slice(start, chunk_rows)
