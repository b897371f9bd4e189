"""Rows by group, such as machine or site: which groups have the most flagged rows and the highest scores."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.ranking import Ranking
from oddshot.app.sheet import Sheet
from oddshot.data.tables.categories import category_codes
from oddshot.data.tables.columns import arrow_kind
from oddshot.errors import InputError

MIN_GROUPS, MAX_GROUPS = 2, 50
MIN_ROWS_PER_GROUP = 5  # of a column that is proposed
N_BINS = 16
N_PROBED_ROWS = 10_000  # of a column of numbers, before all of its values are looked at
_GROUP_NAME = re.compile(
    r"(?i)(^|[\W_])(task|machine|device|unit|asset|site|plant|line|station|group|customer|client|user|account|product|"
    r"batch|lot|sensor|engine|vehicle|store|region|country)($|[\W_])"
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column whose values are groups of rows. codes: [n], indices of names, -1 where the value is missing."""

    name: str
    names: tuple[str, ...]
    codes: NDArray[np.int32]

    @cached_property
    def counts(self) -> IntArray:
        """The number of rows of each group."""
        counts: IntArray = np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))
        return counts

    def find(self, group: str) -> NDArray[np.bool_]:
        """Whether each row belongs to a group: [n]."""
        if group not in self.names:
            raise InputError(f"column {self.name!r} has no group {group[:100]!r}")
        found: NDArray[np.bool_] = self.codes == self.names.index(group)
        return found


def find_group_columns(sheet: Sheet) -> list[GroupColumn]:
    """The columns with MIN_GROUPS to MAX_GROUPS values: categories, and numbers if they are named like a group."""
    kinds = sheet.encoding.kinds
    found = []
    for name in sheet.table.column_names:
        column = sheet.table[name]
        stored = arrow_kind(column)
        is_category = kinds.get(name, "category") in ("category", "boolean") and stored in ("text", "boolean")
        if not is_category and not (_GROUP_NAME.search(name) and stored in ("number", "text")):
            continue
        if len(category_codes(column.slice(0, N_PROBED_ROWS))[1]) > MAX_GROUPS:
            continue
        codes, names = category_codes(column)
        if MIN_GROUPS <= len(names) <= MAX_GROUPS:
            found.append(GroupColumn(name, tuple(names.to_pylist()), codes))
    return found


def propose_group_column(columns: list[GroupColumn]) -> str | None:
    """The first column that is named like a group; else the only one, if each of its groups has enough rows."""
    for column in columns:
        if _GROUP_NAME.search(column.name):
            return column.name
    if len(columns) == 1 and columns[0].counts.min() >= MIN_ROWS_PER_GROUP:
        return columns[0].name
    return None


def find_group_column(columns: list[GroupColumn], name: str) -> GroupColumn:
    """The column with this name."""
    for column in columns:
        if column.name == name:
            return column
    raise InputError(f"column {name[:100]!r} does not hold {MIN_GROUPS} to {MAX_GROUPS} groups of rows")


def describe_groups(column: GroupColumn, ranking: Ranking, threshold: float | None) -> list[dict[str, Any]]:
    """The groups as JSON, those with the highest share of flagged rows first, then by their highest score.

    rows: scored ones. histogram: their number in N_BINS bins of the axis of scores; flagged_bins: which of these bins
    hold flagged rows.
    """
    rows = ranking.order[::-1]  # by ascending score
    rows = rows[column.codes[rows] >= 0]
    codes, scores = column.codes[rows], ranking.scores[rows]
    by_group = np.argsort(codes, kind="stable")  # ascending scores within each group
    counts = np.bincount(codes, minlength=len(column.names))
    ends = np.cumsum(counts)
    is_flagged = np.zeros(len(rows)) if threshold is None else scores > threshold
    flagged = np.bincount(codes, weights=is_flagged, minlength=len(column.names)).astype(int)
    bins = np.minimum((ranking.positions(scores) * N_BINS).astype(np.int64), N_BINS - 1)
    cells, n_cells = codes * N_BINS + bins, len(column.names) * N_BINS
    histograms = np.bincount(cells, minlength=n_cells).reshape(-1, N_BINS)
    flagged_cells = np.bincount(cells, weights=is_flagged, minlength=n_cells).reshape(-1, N_BINS)
    present = np.flatnonzero(counts)
    found = []
    for group in present.tolist():
        own = by_group[ends[group] - counts[group] : ends[group]]
        found.append(
            {
                "name": column.names[group],
                "rows": int(counts[group]),
                "flagged": None if threshold is None else int(flagged[group]),
                "highest": float(scores[own[-1]]),
                "highest_row": int(rows[own[-1]]),
                "median": float(np.median(scores[own])),
                "histogram": histograms[group].tolist(),
                "flagged_bins": np.flatnonzero(flagged_cells[group]).tolist(),
            }
        )
    return sorted(found, key=lambda one: (-(one["flagged"] or 0) / one["rows"], -one["highest"]))
