"""JSON content of the page: state, rows, explanations and the points of the plots."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from oddshot.app.open_table import OpenTable
from oddshot.app.sheet import json_cells
from oddshot.app.workspace import Workspace
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

N_TOP_ROWS_IN_PLOTS = 100  # highest ranked rows that are always drawn on the map and the axis
MAX_ROWS_PER_REQUEST = 200
MAX_EXPLAINED_CELLS = 60_000  # rows times columns times attributes per request: some tenths of a second
MAX_EXPLAINED_CELLS_PER_ROW = 400_000  # columns times attributes; wider tables are not explained

IntArray = NDArray[np.int64]
RowOrder = Literal["score", "row", "labelled"]


def state(workspace: Workspace) -> dict[str, Any]:
    """The whole state of the page except rows and plots."""
    if not workspace.is_open:
        return {**progress(workspace), "table": None}
    return {**ranking_state(workspace), "table": workspace.current.description}


def progress(workspace: Workspace) -> dict[str, Any]:
    """The running activity and the share of it that is done; turn: the version of the ranking."""
    return {"turn": workspace.ranking_version, "stage": workspace.activity, "done": workspace.progress}


def ranking_state(workspace: Workspace) -> dict[str, Any]:
    """The part of the state that changes with a label."""
    open_table = workspace.current
    ranker, labels = open_table.ranking.ranker, open_table.labels
    return {
        **progress(workspace),
        "labels": {
            "normal": labels.count(NORMAL),
            "anomaly": labels.count(ANOMALY),
            "rows": dict(zip(labels.rows.tolist(), labels.values.tolist(), strict=True)),
            "can_undo": labels.can_undo,
        },
        "adapted": ranker.threshold is not None,
        "notice": " ".join(filter(None, (ranker.notice, workspace.save_error))),
        "suggestion": open_table.suggested_row,
        "auc": open_table.auc(),
        "ranking": open_table.ranking.describe(),
        "threshold": threshold_state(open_table),
        "explained_rows": max_explained_rows(open_table),
    }


def threshold_state(open_table: OpenTable) -> dict[str, Any] | None:
    """The threshold in force and the rows above it; moved: whether the person has set it."""
    threshold = open_table.threshold
    if threshold is None:
        return None
    return {**open_table.ranking.describe_threshold(threshold), "moved": open_table.user_threshold is not None}


def page_of_rows(open_table: OpenTable, by: RowOrder, offset: int, limit: int) -> dict[str, Any]:
    """The rows from an offset on, ordered by score, by row number, or only the labelled rows."""
    order = _ordered_rows(open_table, by)
    rows = order[offset : offset + min(limit, MAX_ROWS_PER_REQUEST)]
    return {"total": len(order), "rows": describe_rows(open_table, rows)}


def describe_rows(open_table: OpenTable, rows: IntArray) -> list[dict[str, Any]]:
    """Row number, label, score, probability and cells of each row."""
    scores = open_table.ranking.scores[rows]
    probability = open_table.ranking.ranker.probability(scores)
    probabilities: list[float | None] = [None] * len(rows) if probability is None else probability.tolist()
    cells = json_cells(open_table.sheet.table.take(rows))
    return [
        {"row": row, "label": open_table.labels.get(row), "score": score, "probability": p, "cells": row_cells}
        for row, score, p, row_cells in zip(rows.tolist(), scores.tolist(), probabilities, cells, strict=True)
    ]


def check_rows(open_table: OpenTable, rows: list[int]) -> IntArray:
    """Check row numbers of a request."""
    for row in rows:
        if not 0 <= row < len(open_table.sheet):
            raise InputError(f"row {row + 1} is not in the table, which has {len(open_table.sheet):,} rows")
    return np.array(rows, np.int64)


def max_explained_rows(open_table: OpenTable) -> int:
    """The number of rows that one request may explain without taking long; 0 for very wide tables."""
    n_cells = len(open_table.sheet.encoding.encoders) * open_table.sheet.encoding.n_attributes
    return 0 if n_cells > MAX_EXPLAINED_CELLS_PER_ROW else max(1, MAX_EXPLAINED_CELLS // n_cells)


def explain(open_table: OpenTable, rows: list[int]) -> dict[str, Any]:
    """Explain the scores of rows: contributions ("added"), baseline row ("compared") and nearest labelled rows."""
    max_rows = max_explained_rows(open_table)
    if not 1 <= len(rows) <= max_rows:
        raise InputError(f"{len(rows)} rows to explain; from 1 to {max_rows} can be explained at a time")
    why = open_table.ranking.ranker.explain(check_rows(open_table, rows))
    explanations = zip(
        rows, why.contributions.tolist(), why.baseline_rows.tolist(), why.nearest_rows.tolist(), strict=True
    )
    return {
        "columns": why.columns,
        "rows": [
            {"row": row, "added": contributions, "compared": baseline, "near": nearest}
            for row, contributions, baseline, nearest in explanations
        ],
    }


def plotted_rows(open_table: OpenTable) -> IntArray:
    """The rows drawn on the map and the axis: a fixed sample, the highest ranked and the labelled ones."""
    top = open_table.ranking.order[:N_TOP_ROWS_IN_PLOTS]
    rows: IntArray = np.unique(np.concatenate([open_table.map_rows, top, open_table.labels.rows]))
    return rows[~np.isnan(open_table.ranking.scores[rows])]


def map_points(open_table: OpenTable) -> dict[str, Any]:
    """Coordinates of rows on the map, and their position on the axis of scores from 0 to 1."""
    rows = plotted_rows(open_table)
    coordinates = open_table.pca_map.transform(open_table.sheet.encoded[rows])
    return {
        "rows": rows.tolist(),
        "x": np.round(coordinates[:, 0], 3).tolist(),
        "y": np.round(coordinates[:, 1], 3).tolist(),
        "position": np.round(open_table.ranking.positions(open_table.ranking.scores[rows]), 3).tolist(),
    }


def axis_points(open_table: OpenTable) -> dict[str, Any]:
    """Positions of rows on the projected axis, from -1 to 1 with the centre at 0, and of the threshold.

    The axis shows asinh(x / scale) with the median distance from the centre as scale, so it is logarithmic for distant
    rows. Empty if the method has no such axis.
    """
    rows = plotted_rows(open_table)
    projected = open_table.ranking.ranker.project(open_table.sheet.encoded[rows])
    if projected is None:
        return {"rows": [], "x": [], "position": [], "threshold": None}
    scale = float(np.median(np.abs(projected))) or 1.0
    compressed = np.arcsinh(projected / scale)
    limit = float(np.abs(compressed).max()) or 1.0
    threshold = open_table.threshold
    distance = None if threshold is None else open_table.ranking.ranker.projected_threshold(threshold)
    position = None if distance is None else float(np.arcsinh(distance / scale)) / limit
    return {
        "rows": rows.tolist(),
        "x": np.round(compressed / limit, 4).tolist(),
        "position": np.round(open_table.ranking.positions(open_table.ranking.scores[rows]), 3).tolist(),
        "threshold": position,
    }


def _ordered_rows(open_table: OpenTable, by: RowOrder) -> IntArray:
    if by == "score":
        return open_table.ranking.order
    if by == "row":
        return np.arange(len(open_table.sheet))
    rows = open_table.labels.rows
    order: IntArray = rows[np.lexsort((-open_table.ranking.scores[rows], -open_table.labels.values))]
    return order
