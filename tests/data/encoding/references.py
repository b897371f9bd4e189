"""The encoding written with loops, from its description alone; random tables of mixed columns."""

import datetime
import math
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import strategies as st

Cells = list[Any]


def scaled(values: list[float], query: list[float | None]) -> Cells:
    mean = math.fsum(values) / len(values)
    if min(values) == max(values):
        return [0.0 if value is None else from_constant(value, values[0]) for value in query]
    largest = max(abs(value - mean) for value in values)  # squares of tiny numbers would vanish
    deviation = largest * math.sqrt(math.fsum(((value - mean) / largest) ** 2 for value in values) / len(values))
    return [0.0 if value is None else min(max((value - mean) / deviation, -(2.0**30)), 2.0**30) for value in query]


def from_constant(value: float, constant: float) -> float:
    """From -1 to 1, whatever the unit."""
    if value == constant:
        return 0.0
    share = 1.0 if constant == 0 else min(abs((value - constant) / constant), 1.0)
    return math.copysign(math.sqrt(share), value - constant)


def seconds(moment: datetime.datetime | None) -> float | None:
    return None if moment is None else (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(seconds=1)


def circle(turns: list[float | None]) -> list[Cells]:
    return [[0.0 if turn is None else wave(2 * math.pi * turn) for turn in turns] for wave in (math.sin, math.cos)]


def reference_column(kind: str, train: Cells, query: Cells) -> list[Cells]:
    """The attributes of one column, each a list over the rows of the query."""
    present = [cell for cell in train if cell is not None]
    if kind in ("number", "boolean"):
        columns = [scaled([float(cell) for cell in present], [None if cell is None else float(cell) for cell in query])]
    elif kind == "date":
        when = [None if cell is None else seconds(cell) or 0.0 for cell in query]
        days = (max(present) - min(present)) / datetime.timedelta(days=1)
        columns = []  # never absolute time: there are fewer than 20 rows
        is_time_of_day = all(cell.date() == datetime.date(1970, 1, 1) for cell in present)
        if len({cell.time() for cell in present}) > 1 and (is_time_of_day or days >= 1):
            columns += circle([None if one is None else (one % 86400) / 86400 for one in when])
        if len({cell.weekday() for cell in present}) > 1 and days >= 6:
            columns += circle([None if cell is None else cell.weekday() / 7 for cell in query])
        if days >= 0.9 * 365:
            columns += circle([None if cell is None else (cell.month - 1) / 12 for cell in query])
        if not columns:
            return []
    else:
        counts = Counter(present)
        ranked = sorted(counts, key=lambda value: (-counts[value], value))
        kept, others = ranked[:32], set(ranked[32:])
        columns = []
        for category in kept:
            hot = [float(cell == category) for cell in present]
            columns.append(scaled(hot, [None if cell is None else float(cell == category) for cell in query]))
        if others:
            hot = [float(cell in others) for cell in present]
            columns.append(scaled(hot, [None if cell is None else float(cell not in kept) for cell in query]))
    if len(present) < len(train):
        columns.append([float(cell is None) for cell in query])
    return columns


def reference(kinds: dict[str, str], tables: list[dict[str, Cells]], query: dict[str, Cells]) -> np.ndarray:
    columns = []
    for name, kind in kinds.items():
        columns += reference_column(kind, [cell for table in tables for cell in table[name]], query[name])
    return np.array(columns).T


WORDS = ["red", "green", "blue", "größe", "x y", "a,b", "-", "yes", "maybe"]
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "number": st.floats(-1e6, 1e6) | st.integers(-50, 50).map(float) | st.just(7.0),
    "boolean": st.booleans(),
    "category": st.sampled_from(WORDS),
    "date": st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2100, 1, 1)),
}


@st.composite
def mixed_tables(draw: st.DrawFn, n_tables: int = 3) -> tuple[dict[str, str], list[dict[str, Cells]]]:
    """Kinds by column name, and tables of these columns, each with a value in its first row."""
    chosen = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=5))
    kinds = {"c": "number"} | {f"c{j}": kind for j, kind in enumerate(chosen)}
    tables = []
    for _ in range(n_tables):
        n_rows = draw(st.integers(1, 8))
        table = {}
        for name, kind in kinds.items():
            rest = draw(st.lists(CELLS[kind] | st.none(), min_size=n_rows - 1, max_size=n_rows - 1))
            table[name] = [draw(CELLS[kind]), *rest]
        tables.append(table)
    return kinds, tables


KNOWN = {
    "temp": [1.0, 2.0],
    "on": [True, False],
    "when": ["2024-01-31 12:00", "2024-02-09 13:00"],
    "colour": ["red", "blue"],
}
