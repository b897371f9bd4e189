import pyarrow as pa
import pytest

from oddshot.data.tables.written_numbers import (
    PLAIN,
    Notation,
    detect_main_notation,
    detect_notation,
    find_numbers,
    is_ambiguous,
    parse_written_numbers,
)


@pytest.mark.parametrize(
    ("cells", "notation", "numbers"),
    [
        (["1", "-2.5", "1e3"], PLAIN, [1, -2.5, 1000]),
        (["$1,234.50", "$5", "-$7", "$-7"], Notation(".", ",", "$", ""), [1234.5, 5, -7, -7]),
        (["1.234,50 €", "3,5 €", "0"], Notation(",", ".", "", "€"), [1234.5, 3.5, 0]),
        (["12 %", "3.5%"], Notation(".", ",", "", "%"), [12, 3.5]),
        (["3 mm", "-", "4.5mm", None, "."], Notation(".", ",", "", "mm"), [3, None, 4.5, None, None]),
        (["1,234.5", "7"], PLAIN, [1234.5, 7]),
        (["1,5", "7"], Notation(",", "."), [1.5, 7]),
        (["0,123", "2,345"], Notation(",", "."), [0.123, 2.345]),
        (["1 234,5", "2\u00a0000\u202f000"], Notation(",", " "), [1234.5, 2_000_000]),
        (["1'234.5", "2’000"], Notation(".", "'"), [1234.5, 2000]),
        (["−5", "(1,200)", "+3"], PLAIN, [-5, -1200, 3]),
        (["$ (1,200.50)", "$(3)", "$ 5"], Notation(".", ",", "$", ""), [-1200.5, -3, 5]),
        (["12.50-", "1,234.00 -", "7.00"], PLAIN, [-12.5, -1234, 7]),
        (["1,23,456.50", "12,345", "1,00,00,000"], PLAIN, [123456.5, 12345, 10_000_000]),
        (["<0.5", "1.25", "≥ 200", "7"], PLAIN, [0.5, 1.25, 200, 7]),
        (["EUR 5.20", "EUR -3"], Notation(".", ",", "EUR", ""), [5.2, -3]),
        (["1.5e3 kWh", "2 kWh"], Notation(".", ",", "", "kWh"), [1500, 2]),
        (["5 m2", "6 m2"], Notation(".", ",", "", "m2"), [5, 6]),
    ],
)
def test_numbers(cells: list[str | None], notation: Notation, numbers: list[float | None]) -> None:
    text = pa.array(cells)
    assert detect_notation(text) == notation
    assert parse_written_numbers(text, notation).to_pylist() == numbers
    assert find_numbers(text, notation).all()


@pytest.mark.parametrize(
    "cells",
    [
        ["A1", "A2"],
        ["1A", "2B"],
        ["5 mm", "6 cm"],
        ["1,5", "2.5"],
        ["5 mm"],  # a single value is a name as well
        ["1.2.3", "1.2.4"],
        ["12:30", "13:00"],
        ["2024-01-31", "2024-02-01"],
        ["--5", "1"],
        ["1,23,456.5,5", "1"],
        ["room 5", "room 6"],
        ["<18", ">65", "30"],  # classes
        ["2-", "3-"],  # marks
        ["1,2,345"],
    ],
)
def test_no_numbers(cells: list[str]) -> None:
    assert detect_notation(pa.array(cells)) is None


@pytest.mark.parametrize(
    ("cells", "expected"), [(["1,234", "5"], True), (["1,234.5"], False), (["1,234,567"], False), (["12", "5"], False)]
)
def test_a_comma_before_three_digits_alone_is_ambiguous(cells: list[str], expected: bool) -> None:
    text = pa.array(cells)
    notation = detect_notation(text)
    assert notation is not None
    assert is_ambiguous(text, notation) is expected


def test_what_is_not_written_so_is_refused() -> None:
    for cell in ("5 cm", "1,5", "abc"):
        with pytest.raises(pa.ArrowInvalid):
            parse_written_numbers(pa.array(["3 mm", cell]), Notation(".", ",", "", "mm"))
    assert parse_written_numbers(pa.array(["3 mm", "4"]), Notation(".", ",", "", "mm")).to_pylist() == [3, 4]


def test_the_notation_of_most() -> None:
    text = pa.array(["1.5 V", "2.5 V", "3.5o", "error", "4 V"])
    notation = detect_main_notation(text)
    assert notation == Notation(".", ",", "", "V")
    assert find_numbers(text, notation).tolist() == [True, True, False, False, True]
    assert detect_main_notation(pa.array(["a", "b"])) is None


@pytest.mark.parametrize(
    ("cells", "notation"),
    [
        (["1,234.50", "-7", "(1,200)", "n/a", " 12 ", None, "−3.5", "2e3"], PLAIN),
        (["1.234,50 €", "7€", "-0,5 €", "0", "–", "5,00 €"], Notation(",", ".", "", "€")),
        (["5 e3", "5e3", "7 e3"], Notation(after="e3")),
        (["kr. 5", "kr.5", "-kr. 1,000", "- kr. 2"], Notation(before="kr.")),
    ],
)
def test_a_cell_is_read_as_it_would_be_alone(cells: list[str | None], notation: Notation) -> None:
    together = parse_written_numbers(pa.array(cells, pa.string()), notation).to_pylist()
    alone = [parse_written_numbers(pa.array([cell], pa.string()), notation)[0].as_py() for cell in cells]
    assert together == alone
    assert find_numbers(pa.array(cells, pa.string()), notation).all()


def test_a_unit_that_shows_late_is_found() -> None:
    zeros = [f"{'0' * k}.{'0' * k}" for k in range(1, 15)] * 10
    assert detect_notation(pa.array([*zeros, "1,5 %", "2.5 %"])) is None
    assert detect_notation(pa.array([*zeros, "1.5 %", "1,002.5 %"])) == Notation(after="%")


def test_separators_that_show_late_are_found() -> None:
    first = [f"{k},125" for k in range(1, 201)]
    assert detect_notation(pa.array([*first, "1.234,5"])) == Notation(",", ".")
    assert detect_notation(pa.array([*first, "1.234,5", "1,234.5"])) is None
