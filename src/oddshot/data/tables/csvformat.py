"""How a CSV file is written: its text encoding, delimiter and decimal sign, and the names in its header."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oddshot.data.tables.frames import check_names, without_row_index
from oddshot.data.tables.textfile import scan_text
from oddshot.errors import InputError

_SAMPLE = 1 << 16
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class CsvFormat:
    """What a reader must know. header: all names; columns: those that are data; blank_lines: how many stand above.

    quotes: whether there are quotation marks, so that a cell may hold line breaks. splits_at_lines: whether the bytes
    can be cut after any line break.
    """

    encoding: str
    delimiter: str
    decimal: str
    header: tuple[str, ...]
    columns: tuple[str, ...]
    blank_lines: int
    quotes: bool
    splits_at_lines: bool


def detect_format(path: Path) -> CsvFormat:
    """Look at the start of the file, and for the text encoding at all of it."""
    encoding, n_quotes = scan_text(path)
    with open(path, encoding=encoding, newline="") as file:
        sample = file.read(_SAMPLE)
        if file.read(1):  # the last line is cut
            sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    content = sample.lstrip("\r\n")
    if not content.strip():
        raise InputError(f"{path}: the file is empty")
    delimiter = _detect_delimiter(content)
    header, *rows = _rows(content, delimiter)
    names = tuple(name.strip() for name in header)
    columns = without_row_index(names, path)
    check_names(columns, str(path))
    if not columns:
        raise InputError(f"{path}: the header has no column names")
    blank_lines = len(sample[: len(sample) - len(content)].splitlines())
    decimal = _detect_decimal(rows, delimiter)
    quotes = n_quotes > 0
    splits = not quotes and not encoding.startswith("utf-16") and "\n" in sample
    found = CsvFormat(encoding, delimiter, decimal, names, columns, blank_lines, quotes, splits)
    if n_quotes % 2:
        _check_quotes(path, found)
    return found


@contextmanager
def slow_rows(path: Path, form: CsvFormat, strict: bool = False) -> Iterator[Iterator[list[str]]]:
    """The cells of each row below the header, as Python's csv module reads them: to find out what is wrong."""
    with open(path, encoding=form.encoding, newline="") as file:
        rows = (row for row in csv.reader(file, delimiter=form.delimiter, strict=strict) if row)
        next(rows)
        yield rows


def _detect_delimiter(sample: str) -> str:
    """The delimiter that gives most rows as many fields as the header, and more than one."""
    best, best_score = ",", (0.0, 1)
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in _rows(sample, delimiter)]
        score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        if widths[0] > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def _detect_decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """A comma if numbers are written with it, and none with a point."""
    if delimiter == ",":
        return "."
    signs = {match[1] for row in rows for cell in row if (match := re.fullmatch(r"\s*[+-]?\d+([.,])\d+\s*", cell))}
    return "," if signs == {","} else "."


def _rows(sample: str, delimiter: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]


def _check_quotes(path: Path, form: CsvFormat) -> None:
    """Refuse a quotation mark that is never closed: the rest of the file would be one cell."""
    n_read = 0
    with slow_rows(path, form, strict=True) as rows:
        try:
            for _ in rows:
                n_read += 1
        except csv.Error as error:
            if re.match("unexpected end of data|field larger than", str(error)):
                raise InputError(f"{path}: row {n_read + 1}: a quotation mark is opened and never closed") from None
