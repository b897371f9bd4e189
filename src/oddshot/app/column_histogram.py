"""The histogram of a column: how many rows, and how many of the labelled ones, each bar stands for."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.column_values import ColumnValues
from oddshot.data.encoding.description import readable_number
from oddshot.data.task import ANOMALY, NORMAL

N_BINS = 40
MAX_CATEGORIES = 30  # with a bar of their own; the others share the last one
MAX_DATE_BARS = 60
OTHER_VALUES = "other values"

_SPANS = (
    *(("s", 1), ("s", 10), ("m", 1), ("m", 10), ("h", 1), ("h", 6), ("D", 1), ("D", 7), ("M", 1), ("M", 3)),
    *(("Y", years * 10**zeros) for zeros in range(11) for years in (1, 2, 5)),
)
_SECONDS_PER_DAY = 86_400

IntArray = NDArray[np.int64]
LabelArray = NDArray[np.int8]


@dataclass(frozen=True)
class Bars:
    """The bars of a histogram. names: of each bar, for people. bar_of: the bar of each row, [n], -1 for missing values.

    edges: for numbers, the b + 1 edges of the b bars; empty for dates and categories.
    """

    names: tuple[str, ...]
    bar_of: IntArray
    edges: tuple[float, ...] = ()


def make_histogram(values: ColumnValues, rows: IntArray, labels: LabelArray, row: int | None) -> dict[str, Any]:
    """Histogram of a column as JSON. rows, labels: the labelled rows; row: one that is marked, if any."""
    bars = make_bars(values)
    n_bars = len(bars.names)

    def count(bar_of: IntArray) -> list[int]:
        counts: list[int] = np.bincount(bar_of[bar_of >= 0], minlength=n_bars).tolist()
        return counts

    bar_of_row = -1 if row is None else int(bars.bar_of[row])
    return {
        "kind": values.kind,
        "bars": bars.names,
        "edges": bars.edges,
        "counts": count(bars.bar_of),
        "normal": count(bars.bar_of[rows[labels == NORMAL]]),
        "anomaly": count(bars.bar_of[rows[labels == ANOMALY]]),
        "missing": values.n_missing,
        "has_times": values.kind == "date" and bool((values.numbers % _SECONDS_PER_DAY > 0).any()),
        "row_bar": None if bar_of_row < 0 else bar_of_row,
    }


def make_bars(values: ColumnValues) -> Bars:
    """Bins of equal width for numbers, of calendar units for dates, the most frequent values of anything else."""
    present = values.numbers[~np.isnan(values.numbers)]
    if len(present) == 0:
        return Bars((), np.full(len(values), -1))
    if values.kind == "number":
        return _bins(values.numbers, float(present.min()), float(present.max()))
    if values.kind == "date":
        return _time_spans(values.numbers, float(present.min()), float(present.max()))
    return _categories(values)


def _bins(numbers: NDArray[np.float64], low: float, high: float) -> Bars:
    is_counting = high - low < N_BINS and bool((np.isnan(numbers) | (numbers == np.round(numbers))).all())
    if is_counting:  # one bar for each of a few integers
        edges = np.arange(low - 0.5, high + 1.0)
        names = tuple(f"{edge + 0.5:.0f}" for edge in edges[:-1])
    else:
        edges = np.linspace(low, high, N_BINS + 1)
        names = tuple(f"{low} to {high}" for low, high in itertools.pairwise(map(readable_number, edges.tolist())))
    return Bars(names, _place(numbers, edges), tuple(edges.tolist()))


def _place(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> IntArray:
    """The bin of each number; the last bin has its upper edge, a missing number is in none."""
    bins: IntArray = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    bins[np.isnan(numbers)] = -1
    return bins


def _time_spans(seconds: NDArray[np.float64], low: float, high: float) -> Bars:
    """Bars of one span of the calendar each, the shortest of which no more than MAX_DATE_BARS are needed."""
    moments = np.floor([low, high]).astype("M8[s]")
    for unit, size in _SPANS:
        monday = 3 if (unit, size) == ("D", 7) else 0  # 1970-01-01 was a Thursday
        first, last = ((moments.astype(f"M8[{unit}]").astype(np.int64) + monday) // size).tolist()
        if last - first < MAX_DATE_BARS:
            break
    starts = (np.arange(first, last + 2) * size - monday).astype(f"M8[{unit}]")
    names = [str(start).replace("T", " ") + ":00" * (unit == "h") for start in starts[:-1]]
    if low >= 0 and high < _SECONDS_PER_DAY:  # times of day
        names = [name.split(" ")[-1] for name in names]
    return Bars(tuple(names), _place(seconds, starts.astype("M8[s]").astype(np.float64)))


def _categories(values: ColumnValues) -> Bars:
    places = np.where(np.isnan(values.numbers), -1, values.numbers).astype(np.int64)
    counts = np.bincount(places[places >= 0], minlength=len(values.texts))
    by_count = np.argsort(-counts, kind="stable")
    shown = by_count[counts[by_count] > 0][:MAX_CATEGORIES]
    bar_of_text = np.full(len(values.texts) + 1, len(shown))
    bar_of_text[shown] = np.arange(len(shown))
    bar_of_text[-1] = -1
    names = values.texts.take(shown).to_pylist()
    if (counts > 0).sum() > len(shown):
        names.append(OTHER_VALUES)
    return Bars(tuple(names), bar_of_text[places])
