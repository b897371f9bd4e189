"""Detect how a CSV file is written: text encoding, delimiter, decimal sign and the names in the header."""

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oddshot.data.tables.column_names import check_unique_names, format_names, without_row_index
from oddshot.data.tables.packed_files import given_path
from oddshot.data.tables.text_encoding import scan_text_file
from oddshot.errors import InputError

_SAMPLE_CHARACTERS, _SAMPLE_LINES = 1 << 16, 10  # at least
_MAX_SAMPLE_CHARACTERS = 1 << 24
_DELIMITERS = ",;\t|"
_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?(?:\r\n|\n|\r)', re.IGNORECASE)  # written above the header for Excel
_NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class CsvDialect:
    """What a reader must know of a CSV file.

    header: the names of all columns. columns: those without a row index. n_lines_above: lines above the header, which
    are blank or name the delimiter. has_quotes: whether there are quotation marks, so that a cell may hold line breaks.
    splits_at_lines: whether the bytes of the file can be split after any line break. hexadecimal: columns with numbers
    such as 0x1F, which are codes and stay text.
    """

    encoding: str
    delimiter: str
    decimal: str
    header: tuple[str, ...]
    columns: tuple[str, ...]
    n_lines_above: int
    has_quotes: bool
    splits_at_lines: bool
    hexadecimal: tuple[str, ...] = ()


def detect_dialect(path: Path) -> CsvDialect:
    """Detect the dialect from the start of the file, and the text encoding from the whole file."""
    encoding, n_quotes = scan_text_file(path)
    sample = _read_sample(path, encoding)
    content = sample.lstrip("\r\n")
    if not content.strip():
        raise InputError(f"{path}: the file is empty")
    separator = _SEPARATOR_LINE.match(content)
    if separator:
        content = content[separator.end() :].lstrip("\r\n")
    delimiter = separator[1] if separator else _detect_delimiter(content)
    first_line = re.match(r"[^\r\n]*(?:\r\n|\n|\r)", content)
    if first_line is None:
        raise InputError(f"{path}: no rows, only a header")
    header, *rows = _parse_sample(content, delimiter) or [[]]
    names = tuple(name.strip() for name in header)
    columns = without_row_index(names, given_path(path))
    _check_header(columns, rows, path)
    above = sample[: len(sample) - len(content)]
    has_line_feeds = "\n" in first_line[0] and above.count("\n") == len(above.splitlines())
    dialect = CsvDialect(
        encoding=encoding,
        delimiter=delimiter,
        decimal=_detect_decimal(rows, delimiter),
        header=names,
        columns=columns,
        n_lines_above=len(above.splitlines()),
        has_quotes=n_quotes > 0,
        splits_at_lines=n_quotes == 0 and not encoding.startswith(("utf-16", "utf-32")) and has_line_feeds,
        hexadecimal=tuple({name for row in rows for name, cell in zip(names, row, strict=False) if _is_code(cell)}),
    )
    if n_quotes % 2:
        _check_quotes_are_closed(path, dialect)
    return dialect


@contextmanager
def open_python_csv(path: Path, dialect: CsvDialect, strict: bool = False) -> Iterator[Iterator[list[str]]]:
    """Yield the rows below the header as Python's csv module reads them: slow, but errors can name the row."""
    with open(path, encoding=dialect.encoding, newline="") as file:
        for _ in range(dialect.n_lines_above):
            file.readline()
        rows = (row for row in csv.reader(file, delimiter=dialect.delimiter, strict=strict) if row)
        next(rows)
        yield rows


def _read_sample(path: Path, encoding: str) -> str:
    """Return the start of the file, without the last line if that is incomplete."""
    with open(path, encoding=encoding, newline="") as file:
        sample = file.read(_SAMPLE_CHARACTERS)
        while max(map(sample.count, "\r\n")) < _SAMPLE_LINES and len(sample) < _MAX_SAMPLE_CHARACTERS:
            more = file.read(len(sample))
            if not more:
                return sample
            sample += more
        if file.read(1):
            sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1]
    if not sample:
        raise InputError(f"{path}: the first line has more than {_MAX_SAMPLE_CHARACTERS:,} characters")
    return sample


def _parse_sample(sample: str, delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a cell of more than 131,072 characters: the rows above are enough
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            rows += [row] if row else []
    return rows


def _check_header(columns: Sequence[str], rows: Sequence[Sequence[str]], path: Path) -> None:
    """Refuse names that occur twice and columns that only spaces separate; say if the header seems to be a row."""
    check_unique_names(columns, str(path))
    if not columns:
        raise InputError(f"{path}: the header has no column names")
    n_words = len(columns[0].split())
    if len(columns) == 1 < n_words and rows and all(len(row) == 1 and _are_numbers(row[0], n_words) for row in rows):
        raise InputError(f"{path}: the columns are separated by spaces; expected commas, semicolons, tabs or |")
    if len(columns) > 1 and all(map(_NUMBER.fullmatch, columns)):
        numbers = [float(name.replace(",", ".")) for name in columns]
        if numbers not in (sorted(numbers), sorted(numbers, reverse=True)):  # wavelengths and years are in order
            names = format_names(columns, 5)
            warnings.warn(
                f"{given_path(path)}: the first line is taken for the names of the columns, which are numbers: {names};"
                " if it is a row, write a line of names above it",
                stacklevel=3,
            )


def _is_code(cell: str) -> bool:
    return cell.strip()[:2] in ("0x", "0X")


def _are_numbers(line: str, n_words: int) -> bool:
    """Return whether a line has so many words, and most of them are numbers."""
    words = line.split()
    return len(words) == n_words and 2 * sum(_NUMBER.fullmatch(word) is not None for word in words) > n_words


def _detect_delimiter(sample: str) -> str:
    """Return the delimiter with which most rows have as many fields as the header, and more than one."""
    best, best_score = ",", (0.0, 1)
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in _parse_sample(sample, delimiter)] or [0]
        score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        if widths[0] > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def _detect_decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return a comma if some numbers are written with one and none with a point.

    What stands before three digits may also separate thousands, and counts only if nothing else is there.
    """
    if delimiter == ",":
        return "."
    matches = [match for row in rows for cell in row if (match := re.fullmatch(r"\s*[+-]?\d+([.,])(\d+)\s*", cell))]
    certain = {match[1] for match in matches if len(match[2]) != 3}
    return "," if (certain or {match[1] for match in matches}) == {","} else "."


def _check_quotes_are_closed(path: Path, dialect: CsvDialect) -> None:
    """Refuse a quotation mark that is never closed: the rest of the file would be one cell."""
    place = "the header"
    try:
        with open_python_csv(path, dialect, strict=True) as rows:
            place = "row 1"
            for i, _ in enumerate(rows, start=2):
                place = f"row {i}"
    except csv.Error as error:
        if re.match("unexpected end of data|field larger than", str(error)):
            raise InputError(f"{path}: {place}: a quotation mark is opened and never closed") from None
