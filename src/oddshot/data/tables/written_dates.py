"""Read dates as people write them: 31.12.2024, 12/31/24 5:30 PM, 31-Dec-2024, 2024-W05, and seconds since 1970.

Whether the day or the month comes first is decided over the whole column.
"""

import re
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables import parsing

DateOrder = Literal["iso", "dmy", "mdy", "ymd", "seconds", "milliseconds", "microseconds", "nanoseconds", "number ymd"]
"""iso: ISO 8601. dmy, mdy, ymd: the order of day, month and year. number ymd: a number such as 20240131.

Otherwise: a number since 1970.
"""

UNITS_PER_SECOND: dict[DateOrder, int] = {
    "seconds": 1,
    "milliseconds": 1_000,
    "microseconds": 1_000_000,
    "nanoseconds": 1_000_000_000,
}
NUMBER_ORDERS = (*UNITS_PER_SECOND, "number ymd")

_TIME = (
    r"(?:(?:[ T]|, ?)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,9})?))?"
    r" ?(?P<half>[AaPp]\.?[Mm]\.?)?)?"
)
_YEAR = r"(?P<year>\d{4}|\d{2})"
_PATTERNS = (  # the fields in the order in which they are written
    rf"^(?P<first>\d{{1,2}})(?P<mark>[./-])(?P<second_field>\d{{1,2}})[./-]{_YEAR}{_TIME}$",
    rf"^(?P<year>\d{{4}})(?P<mark>[./-])(?P<first>\d{{1,2}})[./-](?P<second_field>\d{{1,2}}){_TIME}$",
    rf"^(?P<first>\d{{1,2}})(?:\. ?|[ -])(?P<word>[A-Za-zéûäö]{{3,9}})\.?[ ,-]{{1,2}}{_YEAR}{_TIME}$",
    rf"^(?P<word>[A-Za-zéûäö]{{3,9}})\.? (?P<first>\d{{1,2}}),? {_YEAR}{_TIME}$",
    rf"^(?P<word>[A-Za-zéûäö]{{3,9}})\.? {{1,2}}(?P<first>\d{{1,2}}){_TIME} (?P<year>\d{{4}})$",
    rf"^(?P<word>[A-Za-zéûäö]{{3,9}})\.?[ -](?P<year>\d{{4}}){_TIME}$",
    rf"^(?P<year>\d{{4}})-?W(?P<week>\d{{2}})(?:-?(?P<weekday>[1-7]))?{_TIME}$",
)
_AROUND = r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +| (?:GMT|UTC|\+0000)$"  # the weekday and the zone of log files
_SHORT_VERSION = r"^\d{1,2}\.\d\.\d{2}$|^\d\.\d{1,2}\.\d{2}$"  # 1.2.13 is more often a version than a date
_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    *("janv", "fév", "mär", "avr", "mai", "juin", "juil", "août", "sept", "okt", "nove", "dez"),
    *("jän", "fev", "mrz", "avri", "mai", "juni", "juli", "aoû", "set", "octo", "novem", "déc"),
)
_SECONDS_PER_DAY = 86_400
_FIRST_YEAR_OF_CENTURY = 70  # 70 is 1970, 69 is 2069


class _Fields(NamedTuple):
    """Fields of n dates, each [n] in float64 with NaN where a cell is missing. is_word: the month is a name."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    year: NDArray[np.float64]
    seconds: NDArray[np.float64]
    mark: str
    is_word: bool


class WrittenDates(NamedTuple):
    """How a column of dates is written, and whether the order of day and month could only be guessed."""

    order: DateOrder
    guessed: bool = False


def detect_dates(text: Any) -> WrittenDates | None:
    """Return how all cells of an Arrow array of text are written, or None if some of them are no dates."""
    if parsing.try_parse(text, parsing.parse_timestamps) is not None:
        return WrittenDates("iso")
    fields = _split(text)
    if fields is None:
        return None
    if fields.is_word:
        return WrittenDates("dmy") if _is_valid(fields, "dmy") else None
    if fields.mark == "y":
        return WrittenDates("ymd") if _is_valid(fields, "ymd") else None
    possible: list[DateOrder] = [order for order in ("dmy", "mdy") if _is_valid(fields, order)]
    if len(possible) < 2:
        return WrittenDates(possible[0]) if possible else None
    if fields.mark == ".":
        return WrittenDates("dmy")
    spans = {order: np.ptp(_seconds(fields, order)[~np.isnan(fields.year)]) for order in possible}
    if spans["dmy"] == spans["mdy"]:
        return WrittenDates("mdy" if fields.mark == "/" else "dmy", guessed=True)
    return WrittenDates(min(possible, key=spans.__getitem__), guessed=True)  # the days lie closer together


def parse_written_dates(text: Any, order: DateOrder) -> Any:
    """Parse cells as UTC timestamps in microseconds. Raises pyarrow.ArrowInvalid if any is no date of that order."""
    if order == "iso":
        return parsing.parse_timestamps(text)
    if order in NUMBER_ORDERS:
        numbers = np.asarray(parsing.parse_numbers(text), np.float64)
        seconds = seconds_of_numbers(numbers, order)
        if (np.isnan(seconds) & ~np.isnan(numbers)).any():
            raise pa.ArrowInvalid("not a date")
        return _to_timestamps(seconds)
    if parsing.clean_text(text, parsing.MISSING_AMONG_NUMBERS).null_count == len(text):
        return pa.nulls(len(text), pa.timestamp("us", "UTC"))
    fields = _split(text)
    if (
        fields is None
        or not (fields.is_word or (fields.mark == "y") == (order == "ymd"))
        or not _is_valid(fields, order)
    ):
        raise pa.ArrowInvalid("not a date")
    return _to_timestamps(_seconds(fields, order))


def seconds_of_numbers(values: NDArray[np.float64], order: DateOrder) -> NDArray[np.float64]:
    """Convert numbers of one of NUMBER_ORDERS to seconds since 1970, NaN where one is no date: [n] -> [n]."""
    if order != "number ymd":
        return values / UNITS_PER_SECOND[order]
    is_number = np.isfinite(values) & (np.trunc(values) == values) & (values >= 1e7) & (values < 1e8)
    number = np.where(is_number, values, np.nan)
    fields = _Fields(number // 100 % 100, number % 100, number // 10_000, np.zeros(len(values)), "y", False)
    return np.where(_are_days(fields, "ymd"), _seconds(fields, "ymd"), np.nan)


def is_date_order(value: object) -> bool:
    """Return whether a field of a model file, which may be forged, is the order of a date."""
    return value in get_args(DateOrder)


def _split(text: Any) -> _Fields | None:
    """Split cells into their fields; None if they are not all written with the same pattern."""
    text = parsing.clean_text(text, parsing.MISSING_AMONG_NUMBERS)
    if isinstance(text, pa.ChunkedArray):
        text = text.combine_chunks()
    if len(text) == text.null_count or pc.any(pc.match_substring_regex(text, _SHORT_VERSION)).as_py():
        return None
    probe = text.drop_null()[0].as_py()
    if re.search(_AROUND, probe):
        text = pc.replace_substring_regex(text, _AROUND, "")
        probe = re.sub(_AROUND, "", probe)
    for pattern in _PATTERNS:
        if not pc.match_substring_regex(pa.array([probe]), pattern)[0].as_py():
            continue
        found = pc.extract_regex(text, pattern)
        if found.null_count > text.null_count:
            return None
        return _fields(found, pattern)
    return None


def _fields(found: Any, pattern: str) -> _Fields | None:
    """Convert the groups of a pattern to numbers; None if a month has an unknown name."""
    is_word, year = "<word>" in pattern, _numbers(found, "year")
    first = _numbers(found, "first") if "<first>" in pattern else np.where(np.isnan(year), np.nan, 1.0)
    if "<week>" in pattern:
        year, first, second = _days_of_weeks(year, _numbers(found, "week"), _numbers(found, "weekday"))
        mark = "y"
    elif is_word:
        second = _month_numbers(pc.struct_field(found, "word"))
        if (np.isnan(second) & ~np.isnan(first)).any():
            return None
        mark = " "
    else:
        second = _numbers(found, "second_field")
        marks = pc.unique(pc.struct_field(found, "mark")).drop_null().to_pylist()
        mark = "y" if pattern.startswith("^(?P<year>") else marks[0]
    year = np.where(year < 100, year + np.where(year < _FIRST_YEAR_OF_CENTURY, 2000, 1900), year)
    half = pc.utf8_lower(pc.utf8_slice_codeunits(pc.fill_null(pc.struct_field(found, "half"), ""), 0, 1))
    hour = np.nan_to_num(_numbers(found, "hour"))
    is_am, is_pm = (np.asarray(pc.equal(half, letter), bool) for letter in "ap")
    hour = np.where(is_am & (hour == 12), 0, hour) + np.where(is_pm & (hour < 12), 12, 0)
    minute, second_of_minute = np.nan_to_num(_numbers(found, "minute")), np.nan_to_num(_numbers(found, "second"))
    if (hour > 23).any() or (minute > 59).any() or (second_of_minute >= 61).any():
        return None
    return _Fields(first, second, year, 3600 * hour + 60 * minute + second_of_minute, mark, is_word)


def _numbers(found: Any, name: str) -> NDArray[np.float64]:
    text = pc.struct_field(found, name)
    text = pc.if_else(pc.and_(pc.is_valid(found), pc.not_equal(text, "")), text, pa.scalar(None, text.type))
    return np.asarray(text.cast(pa.float64()), np.float64)


def _month_numbers(words: Any) -> NDArray[np.float64]:
    """The number of each month, NaN for other words: by its first letters, in English, German and French."""
    lower = pc.utf8_lower(words)
    months = np.full(len(lower), np.nan)
    for n_letters in (4, 3):
        index = pc.index_in(pc.utf8_slice_codeunits(lower, 0, n_letters), pa.array(_MONTHS))
        found = np.asarray(index.cast(pa.float64()), np.float64) % 12 + 1
        months = np.where(np.isnan(months), found, months)
    return months


def _day_and_month(fields: _Fields, order: DateOrder) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    swapped = order in ("mdy", "ymd") and not fields.is_word
    return (fields.second, fields.first) if swapped else (fields.first, fields.second)


def _days_of_weeks(
    year: NDArray[np.float64], week: NDArray[np.float64], weekday: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Year, month and day of weekdays, Monday if missing, in weeks of ISO 8601: [n] each; month 0 if there is none."""
    fourth = _month_start(year, np.ones(len(year))) + np.timedelta64(3, "D")  # of January, which lies in week 1
    monday = fourth - ((fourth.astype(np.int64) + 3) % 7).astype("m8[D]")
    days = np.nan_to_num(7 * (week - 1) + np.nan_to_num(weekday, nan=1.0) - 1).astype("m8[D]")
    months = (monday + days).astype("M8[M]")
    day = (monday + days - months.astype("M8[D]")).astype(np.float64) + 1
    month = np.where((week >= 1) & (week <= 53), months.astype(np.int64) % 12 + 1.0, 0.0)
    return np.where(np.isnan(year), np.nan, months.astype(np.int64) // 12 + 1970.0), month, day


def _is_valid(fields: _Fields, order: DateOrder) -> bool:
    """Return whether each cell is missing, or a day that there is."""
    return bool((_are_days(fields, order) | np.isnan(fields.year)).all())


def _are_days(fields: _Fields, order: DateOrder) -> NDArray[np.bool_]:
    """Return which cells are days that there are: [n]."""
    day, month = _day_and_month(fields, order)
    start = _month_start(fields.year, month)
    is_in_month = (start + np.nan_to_num(day - 1).astype("m8[D]")).astype("M8[M]") == start.astype("M8[M]")
    is_day: NDArray[np.bool_] = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & is_in_month
    return is_day


def _month_start(year: NDArray[np.float64], month: NDArray[np.float64]) -> NDArray[np.datetime64]:
    months = np.nan_to_num((year - 1970) * 12 + month - 1).astype(np.int64)
    return months.astype("M8[M]").astype("M8[D]")


def _seconds(fields: _Fields, order: DateOrder) -> NDArray[np.float64]:
    """Seconds since 1970, NaN where missing: [n]."""
    day, month = _day_and_month(fields, order)
    days = _month_start(fields.year, month).astype(np.int64) + day - 1
    return np.where(np.isnan(fields.year), np.nan, days * _SECONDS_PER_DAY + fields.seconds)


def _to_timestamps(seconds: NDArray[np.float64]) -> Any:
    missing = np.isnan(seconds)
    microseconds = np.round(np.where(missing, 0.0, seconds) * 1e6).astype(np.int64)
    return pa.array(microseconds, pa.timestamp("us", "UTC"), mask=missing)
