"""JSON content of the page: state, rows, explanations and the points of the plots."""

import csv
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.column_histogram import make_histogram
from oddshot.app.edits import Edits
from oddshot.app.open_table import OpenTable
from oddshot.app.row_query import RowQuery
from oddshot.app.row_selection import select_rows
from oddshot.app.session import TableSession
from oddshot.app.sheet import json_cells
from oddshot.app.threshold_facts import threshold_facts
from oddshot.app.workspace import Workspace
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

N_TOP_ROWS_IN_PLOTS = 100  # highest ranked rows that are always drawn on the map and the axis
MAX_ROWS_PER_REQUEST = 200
MAX_EXPLAINED_CELLS = 60_000  # rows times columns times attributes per request: some tenths of a second
MAX_EXPLAINED_CELLS_PER_ROW = 400_000  # columns times attributes; wider tables are not explained

IntArray = NDArray[np.int64]


def tables(workspace: Workspace) -> dict[str, Any]:
    """The open tables in a few words each, for the tabs of the page."""
    return {"tables": [_summary(session) for session in workspace.sessions]}


def _summary(session: TableSession) -> dict[str, Any]:
    open_table = session.current
    return {
        **progress(session),
        "name": open_table.sheet.name,
        "rows": len(open_table.sheet),
        "labelled": len(open_table.labels),
    }


def state(session: TableSession) -> dict[str, Any]:
    """Everything about a table except rows and plots."""
    return {**ranking_state(session), "table": session.current.description}


def progress(session: TableSession) -> dict[str, Any]:
    """The activity and the share of it that is done. turn: the version of the ranking; version: of the edits."""
    return {
        "id": session.id,
        "turn": session.ranking_version,
        "version": session.current.edits.version,
        "unsaved": bool(session.save_error),
        "stage": session.activity,
        "done": session.progress,
    }


def ranking_state(session: TableSession) -> dict[str, Any]:
    """The part of the state that changes with a label."""
    open_table = session.current
    ranker, labels = open_table.ranking.ranker, open_table.labels
    return {
        **progress(session),
        "labels": {
            "normal": labels.count(NORMAL),
            "anomaly": labels.count(ANOMALY),
            "rows": dict(zip(labels.rows.tolist(), labels.values.tolist(), strict=True)),
        },
        "edits": _edits(open_table.edits),
        "adapted": ranker.threshold is not None,
        "notice": " ".join(filter(None, (ranker.notice, session.taken_over, session.save_error))),
        "suggestion": open_table.suggested_row,
        "auc": open_table.auc(),
        "ranking": open_table.ranking.describe(),
        "threshold": threshold_state(open_table),
        "explained_rows": max_explained_rows(open_table),
    }


def _edits(edits: Edits) -> dict[str, Any]:
    return {
        "can_undo": bool(edits.steps),
        "can_redo": bool(edits.undone),
        "notes": edits.notes,
        "kinds": edits.kinds,
        "hidden": list(edits.hidden),
        "pinned": list(edits.pinned),
        "id_column": edits.settings.get("id_column"),
    }


def threshold_state(open_table: OpenTable) -> dict[str, Any] | None:
    """The threshold in force and the rows above it; above: of those scored so far; moved: by the person."""
    facts, ranking = threshold_facts(open_table), open_table.ranking
    if facts is None:
        return None
    return {
        "value": facts.value,
        "position": float(ranking.positions(np.array([facts.value]))[0]),
        "above": ranking.count_above(facts.value),
        "share": facts.n_above / facts.n_rows,
        "false_alarms": facts.expected_rate,
        "moved": open_table.user_threshold is not None,
        "facts": [facts.rows_above, facts.false_alarms],
    }


def page_of_rows(open_table: OpenTable, query: RowQuery, offset: int, limit: int) -> dict[str, Any]:
    """Those rows of a query that come from an offset on."""
    order = select_rows(open_table, query)
    rows = order[offset : offset + min(limit, MAX_ROWS_PER_REQUEST)]
    return {"total": len(order), "rows": describe_rows(open_table, rows)}


def describe_rows(open_table: OpenTable, rows: IntArray) -> list[dict[str, Any]]:
    """Row number, label, score, probability and cells of each row."""
    scores = open_table.ranking.scores[rows]
    probability = open_table.ranking.ranker.probability(scores)
    probabilities: list[float | None] = [None] * len(rows) if probability is None else probability.tolist()
    cells = json_cells(open_table.sheet.table.take(rows))
    return [
        {
            "row": row,
            "name": name,
            "label": open_table.labels.get(row),
            "score": score,
            "probability": p,
            "cells": row_cells,
        }
        for row, name, score, p, row_cells in zip(
            rows.tolist(), open_table.names(rows), scores.tolist(), probabilities, cells, strict=True
        )
    ]


def row_as_tsv(open_table: OpenTable, row: int, column: str | None) -> str:
    """The cells of a row, or one of them, separated by tabs; those with a tab or a line break are quoted."""
    table = open_table.sheet.table.take(check_rows(open_table, [row]))
    if column is not None:
        table = table.select([open_table.sheet.columns.check(column)])
    out = io.StringIO()
    cells = [cell for (cell,) in (values.to_pylist() for values in table.columns)]
    csv.writer(out, "excel-tab", lineterminator="").writerow("" if cell is None else str(cell) for cell in cells)
    return out.getvalue()


def column_histogram(open_table: OpenTable, column: str, row: int | None) -> dict[str, Any]:
    """The histogram of a column with the labelled rows and one other row."""
    if row is not None:
        check_rows(open_table, [row])
    labels = open_table.labels
    return make_histogram(open_table.sheet.columns.values(column), labels.rows, labels.values, row)


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
            {
                "row": row,
                "added": contributions,
                "compared": baseline,
                "near": nearest,
                "near_names": open_table.names(np.array(nearest, np.int64)),
            }
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
    names = open_table.names(rows) if open_table.id_column else None
    coordinates = open_table.pca_map.transform(open_table.sheet.encoded[rows])
    return {
        "rows": rows.tolist(),
        "names": names,
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
