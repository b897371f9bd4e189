"""Scores over time: the highest score in each bin of a time axis, and when a run of flagged rows begins."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from oddshot.app.ranking import Ranking
from oddshot.app.sheet import Sheet
from oddshot.data.encoding.date_column import NOTHING_RECURS, DateColumn, fit_clock
from oddshot.data.encoding.kinds import DATE, recognise_kind
from oddshot.data.encoding.running import RUNNING_NUMBER
from oddshot.data.tables.columns import CellLocation, arrow_kind, has_values, read_numbers, read_timestamps
from oddshot.errors import InputError

MAX_BINS = 4000
SECONDS_PER_DAY = 86_400.0
MAX_CHANCE_RUNS = 0.05  # how many runs there would be in a table if flagged rows were spread at random

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """A column by which rows are ordered in time. values: [n], seconds since 1970 or counts, NaN where missing."""

    name: str
    kind: Literal["date", "number"]
    values: FloatArray

    @cached_property
    def order(self) -> IntArray:
        """The rows that have a time, in its order; rows of the same time in the order of the table."""
        order: IntArray = np.argsort(self.values, kind="stable")
        return order[: len(order) - int(np.isnan(self.values).sum())]

    @cached_property
    def sorted_values(self) -> FloatArray:
        """The times of these rows."""
        return self.values[self.order]


def find_time_axes(sheet: Sheet) -> list[TimeAxis]:
    """The columns of dates, also those that the detector does not use because they are a clock, and running numbers.

    Dates come first. Times of the day without a date are none, nor is a column with a single value.
    """
    encoders = {encoder.name: encoder for encoder in sheet.encoding.encoders}
    axes = []
    for name in sheet.table.column_names:
        column, location = sheet.table[name], CellLocation(sheet.name, name)
        encoder = encoders.get(name)
        reason = sheet.encoding.dropped.get(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the person has been told when the table was opened
            if isinstance(encoder, DateColumn):
                axes.append(TimeAxis(name, "date", read_timestamps(column, location, encoder.order)))
            elif reason == NOTHING_RECURS or (encoder is None and _holds_dates(column)):
                order = fit_clock([column], [location]).order
                axes.append(TimeAxis(name, "date", read_timestamps(column, location, order)))
            elif reason == RUNNING_NUMBER and arrow_kind(column) == "number":
                axes.append(TimeAxis(name, "number", read_numbers(column, location)))
    return sorted((axis for axis in axes if _is_axis(axis)), key=lambda axis: axis.kind == "number")


def find_axis(axes: list[TimeAxis], name: str | None) -> TimeAxis:
    """The axis with this name; the first one for None."""
    if name is None and axes:
        return axes[0]
    for axis in axes:
        if axis.name == name:
            return axis
    raise InputError(f"the table has no time column {name[:100]!r}" if name else "the table has no time column")


def describe_timeline(
    axis: TimeAxis, ranking: Ranking, threshold: float | None, n_bins: int, span: tuple[float, float] | None = None
) -> dict[str, Any]:
    """The bins of a span of time that have rows, each with its row of the highest score, as JSON.

    x: the middle of each bin from 0 to 1; position: of the highest score on the axis of scores; flagged: rows above the
    threshold. span: first and last time; the whole axis for None.
    """
    first, last = span or (float(axis.sorted_values[0]), float(axis.sorted_values[-1]))
    n_bins = min(max(n_bins, 1), MAX_BINS)
    begin = int(np.searchsorted(axis.sorted_values, first, "left"))
    end = int(np.searchsorted(axis.sorted_values, last, "right"))
    rows, times = axis.order[begin:end], axis.sorted_values[begin:end]
    scored = ~np.isnan(ranking.scores[rows])
    rows, times = rows[scored], times[scored]
    scores = ranking.scores[rows]
    width = (last - first) or 1.0
    bins = np.minimum(((times - first) / width * n_bins).astype(np.int64), n_bins - 1)
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    highest = _highest_places(scores, starts)
    is_flagged = np.zeros(len(rows), np.int64) if threshold is None else (scores > threshold).astype(np.int64)
    return {
        "start": first,
        "end": last,
        "rows_in_span": len(rows),
        "flagged_in_span": None if threshold is None else int(is_flagged.sum()),
        "x": np.round((bins[starts] + 0.5) / n_bins, 5).tolist(),
        "position": np.round(ranking.positions(scores[highest]), 4).tolist(),
        "row": rows[highest].tolist(),
        "time": times[highest].tolist(),
        "flagged": np.add.reduceat(is_flagged, starts).tolist() if len(rows) else [],
        "threshold": None if threshold is None else float(ranking.positions(np.array([threshold]))[0]),
    }


def describe_beginning(axis: TimeAxis, ranking: Ranking, threshold: float | None) -> dict[str, Any] | None:
    """The first run of flagged rows that chance hardly explains, as JSON; None without a threshold."""
    if threshold is None:
        return None
    rows = axis.order[~np.isnan(ranking.scores[axis.order])]
    is_flagged = ranking.scores[rows] > threshold
    begins, ends = find_runs(is_flagged)
    found: dict[str, Any] = {"flagged": int(is_flagged.sum()), "run": None}
    if len(begins):
        begin, end = int(begins[0]), int(ends[0])
        found["run"] = {
            "row": int(rows[begin]),
            "begin": float(axis.values[rows[begin]]),
            "end": float(axis.values[rows[end - 1]]),
            "rows": end - begin,
            "flagged": int(is_flagged[begin:end].sum()),
            "after": len(begins) - 1,
        }
    return found


def find_runs(is_flagged: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Where runs of flagged rows begin and end, if they are so dense that chance hardly explains them: [n] -> [k], [k].

    Page's cumulative sums of the log likelihood ratio, back to 0 where they would be negative: of flagged rows as dense
    as (1 + q) / 2 against the share q that all rows have. If flagged rows were spread at random, a sum would exceed
    log(n / MAX_CHANCE_RUNS) in about MAX_CHANCE_RUNS of all tables. A run ends where its sum is highest.
    """
    n, share = len(is_flagged), float(is_flagged.mean()) if len(is_flagged) else 0.0
    if share in (0.0, 1.0):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    sums = np.cumsum(np.append(0.0, np.where(is_flagged, np.log((1 + share) / (2 * share)), -np.log(2))))
    sums -= np.minimum.accumulate(sums)  # sums[i] is that of the rows before i
    starts = np.flatnonzero(sums == 0)
    peaks = _highest_places(sums, starts)
    is_run = sums[peaks] >= np.log(n / MAX_CHANCE_RUNS)
    return starts[is_run], peaks[is_run]


def _highest_places(scores: FloatArray, starts: IntArray) -> IntArray:
    """The first place of the highest score in each of the parts that begin at `starts`: [n], [k] -> [k]."""
    if len(scores) == 0:
        return starts
    highest = np.maximum.reduceat(scores, starts)
    lengths = np.diff(np.append(starts, len(scores)))
    places = np.flatnonzero(scores == np.repeat(highest, lengths))
    first: IntArray = places[np.searchsorted(places, starts)]
    return first


def _holds_dates(column: Any) -> bool:
    return arrow_kind(column) in ("date", "text") and has_values(column) and recognise_kind([column]) is DATE


def _is_axis(axis: TimeAxis) -> bool:
    present = axis.sorted_values
    if len(present) == 0 or present[0] == present[-1]:
        return False
    return axis.kind == "number" or present[0] < 0 or present[-1] >= SECONDS_PER_DAY
