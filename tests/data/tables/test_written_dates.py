import datetime

import pyarrow as pa
import pytest

from oddshot.data.tables.written_dates import detect_dates, parse_written_dates


@pytest.mark.parametrize(
    ("cells", "order", "guessed", "first"),
    [
        (["2024-12-31", "2024-01-02 12:00"], "iso", False, "2024-12-31T00:00:00"),
        (["31.12.2024", "1.2.2024"], "dmy", False, "2024-12-31T00:00:00"),
        (["01.02.24", "02.03.24"], "dmy", False, "2024-02-01T00:00:00"),
        (["12/31/24", "1/2/24"], "mdy", False, "2024-12-31T00:00:00"),
        (["31/12/2024 13:45", "01/02/2024 1:05:30"], "dmy", False, "2024-12-31T13:45:00"),
        (["12/31/2024 5:30 PM", "1/3/2024 12:10 am"], "mdy", False, "2024-12-31T17:30:00"),
        (["1/2/2024 12:10 am"], "mdy", True, "2024-01-02T00:10:00"),
        (["01/02/2024", "02/02/2024", "03/02/2024"], "dmy", True, "2024-02-01T00:00:00"),  # three days, not months
        (["02/01/2024", "02/02/2024", "02/03/2024"], "mdy", True, "2024-02-01T00:00:00"),
        (["2024/12/31", "2024/1/2"], "ymd", False, "2024-12-31T00:00:00"),
        (["31-Dec-2024", "2-jan-2024"], "dmy", False, "2024-12-31T00:00:00"),
        (["Dec 31, 2024", "May 3, 2024"], "dmy", False, "2024-12-31T00:00:00"),
        (["3. März 2024", "1. Okt. 2024"], "dmy", False, "2024-03-03T00:00:00"),
        (["5 août 2024", "5 juil 2024"], "dmy", False, "2024-08-05T00:00:00"),
        (["31.12.1969", "-"], "dmy", False, "1969-12-31T00:00:00"),
        (["01.02.70", "01.02.69"], "dmy", False, "1970-02-01T00:00:00"),
        (["2024-03", "2023-12"], "iso", False, "2024-03-01T00:00:00"),
        (["9:30", "14:05:30"], "iso", False, "1970-01-01T09:30:00"),
        (["20240131T120000Z", "20240201T000000Z"], "iso", False, "2024-01-31T12:00:00"),
        (["2024-01-31 12:00:00,123", "2024-01-31 12:00:01,5"], "iso", False, "2024-01-31T12:00:00.123"),
        (["2024-01-31 12:00:00 UTC", "2024-01-31 12:00:01 UTC"], "iso", False, "2024-01-31T12:00:00"),
        (["2024-01-31 12:00:00 +0100", "2024-01-31 12:00:01 -03:30"], "iso", False, "2024-01-31T11:00:00"),
        (["Wed, 31 Jan 2024 12:00:00 GMT", "Thu, 01 Feb 2024 00:00:00 GMT"], "dmy", False, "2024-01-31T12:00:00"),
        (["Wed Jan 31 12:00:00 2024", "Thu Feb  1 00:00:00 2024"], "dmy", False, "2024-01-31T12:00:00"),
        (["Mar 2024", "December 2023"], "dmy", False, "2024-03-01T00:00:00"),
        (["2024-W05", "-", "2024-W06"], "ymd", False, "2024-01-29T00:00:00"),
        (["2020W537", "2021W011"], "ymd", False, "2021-01-03T00:00:00"),
        (["2025-W01-1", "2024-W52-7"], "ymd", False, "2024-12-30T00:00:00"),
    ],
)
def test_dates(cells: list[str], order: str, guessed: bool, first: str) -> None:
    written = detect_dates(pa.array(cells))
    assert written is not None
    assert written == (order, guessed)
    parsed = parse_written_dates(pa.array(cells), written.order)
    assert parsed[0].as_py() == datetime.datetime.fromisoformat(first).replace(tzinfo=datetime.UTC)
    assert [cell is None for cell in parsed.to_pylist()] == [cell == "-" for cell in cells]


@pytest.mark.parametrize(
    "cells",
    [
        ["1.2.13", "2.4.11"],
        ["31/31/2024"],
        ["30.02.2024"],
        ["x"],
        ["10.10.10.10"],
        ["31.12.2024", "2024/12/31"],
        ["31-Foo-2024"],
        ["1/2/2024 25:00"],
        ["12", "13"],
        ["2024-13"],
        ["2024-W00"],
        ["2024-W54"],
        ["2024-W05-8"],
        ["Foo 2024"],
        ["9:75"],
    ],
)
def test_no_dates(cells: list[str]) -> None:
    assert detect_dates(pa.array(cells)) is None


def test_another_order_is_refused() -> None:
    for cells, order in ((["12/31/2024"], "dmy"), (["31.12.2024"], "mdy"), (["31.12.2024"], "ymd"), (["x"], "dmy")):
        with pytest.raises(pa.ArrowInvalid):
            parse_written_dates(pa.array(cells), order)  # type: ignore[arg-type]


def test_numbers_since_1970() -> None:
    numbers = {
        "seconds": "86400",
        "milliseconds": "86400000",
        "nanoseconds": "86400000000000",
        "number ymd": "19700102",
    }
    for order, cells in ((order, [number, None]) for order, number in numbers.items()):
        text = pa.array([cell or None for cell in cells])
        parsed = parse_written_dates(text, order)  # type: ignore[arg-type]
        assert parsed.to_pylist() == [datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC), None]
