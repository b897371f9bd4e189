"""The rows that a person asks for, in the order that they ask for."""

import numpy as np
from numpy.typing import NDArray

from oddshot.app.groups import find_group_column
from oddshot.app.labels import LABEL_NAMES
from oddshot.app.open_table import OpenTable
from oddshot.app.row_query import FlaggedFilter, GroupFilter, LabelFilter, NoteFilter, RowFilter, RowQuery

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


def select_rows(open_table: OpenTable, query: RowQuery) -> IntArray:
    """The rows that pass all filters of a query, in its order; by score only those that are scored."""
    rows = _order(open_table, query)
    masks = [_find(open_table, wanted) for wanted in query.filters]
    if query.search:
        masks.append(open_table.sheet.columns.search(query.search))
    for mask in masks:
        rows = rows[mask[rows]]
    return rows


def _order(open_table: OpenTable, query: RowQuery) -> IntArray:
    if query.by == "column":
        return open_table.sheet.columns.order(query.column, bool(query.descending))
    if query.by == "score":
        order = open_table.ranking.order
        return order[::-1] if query.descending is False else order
    if query.by == "row":
        rows: IntArray = np.arange(len(open_table.sheet))
        return rows[::-1] if query.descending else rows
    labelled = open_table.labels.rows
    return labelled[np.lexsort((-open_table.ranking.scores[labelled], -open_table.labels.values))]


def _find(open_table: OpenTable, wanted: RowFilter) -> BoolArray:
    if isinstance(wanted, LabelFilter):
        return _find_labels(open_table, wanted)
    if isinstance(wanted, FlaggedFilter):
        return _find_flagged(open_table, wanted.flagged)
    if isinstance(wanted, GroupFilter):
        return find_group_column(open_table.group_columns, wanted.column).find(wanted.name)
    if isinstance(wanted, NoteFilter):
        found = np.full(len(open_table.sheet), not wanted.noted)
        found[list(open_table.edits.notes)] = wanted.noted
        return found
    return open_table.sheet.columns.find(wanted)


def _find_labels(open_table: OpenTable, wanted: LabelFilter) -> BoolArray:
    labels = open_table.labels
    found = np.full(len(open_table.sheet), None in wanted.labels)
    found[labels.rows] = [LABEL_NAMES[label] in wanted.labels for label in labels.values.tolist()]
    return found


def _find_flagged(open_table: OpenTable, flagged: bool) -> BoolArray:
    """Rows above the threshold; none without a detector. Rows without a score are neither flagged nor not."""
    threshold, scores = open_table.threshold, open_table.ranking.scores
    if threshold is None:
        return np.full(len(scores), not flagged)
    found: BoolArray = scores > threshold if flagged else scores <= threshold
    return found
