"""What the page shows of an open table, in types that JSON has."""

from typing import Any, Literal

import numpy as np

from oddshot.app.sheet import Ints, cells
from oddshot.app.workspace import Open, Workspace
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

TOP_MAPPED = 100  # highest ranked rows that are always on the map and the axis
MOST_WINDOW = 200
EXPLAINED = 60_000  # rows times columns times attributes that are explained at once: some tenths of a second
MOST_EXPLAINED = 400_000  # of one row: wider tables are not explained

By = Literal["score", "row", "labelled"]


def state(workspace: Workspace) -> dict[str, Any]:
    """Everything but the rows and the plots."""
    if not workspace.is_open:
        return {**progress(workspace), "table": None}
    return {**ranking_state(workspace), "table": workspace.current.about}


def progress(workspace: Workspace) -> dict[str, Any]:
    """What takes long just now, and how much of it is done; turn: changes with each ranking."""
    return {"turn": workspace.turn, "stage": workspace.stage, "done": workspace.done}


def ranking_state(workspace: Workspace) -> dict[str, Any]:
    """What a label changes."""
    now = workspace.current
    scorer, labels = now.ranking.scorer, now.labels
    return {
        **progress(workspace),
        "labels": {
            "normal": labels.count(NORMAL),
            "anomaly": labels.count(ANOMALY),
            "rows": dict(zip(labels.rows.tolist(), labels.values.tolist(), strict=True)),
            "can_undo": labels.can_undo,
        },
        "adapted": scorer.threshold is not None,
        "notice": " ".join(filter(None, (scorer.notice, workspace.trouble))),
        "suggestion": now.suggestion,
        "auc": now.auc(),
        "ranking": now.ranking.describe(),
        "threshold": threshold_state(now),
        "explained_rows": explained_rows(now),
    }


def threshold_state(now: Open) -> dict[str, Any] | None:
    """The threshold that counts and what it means; moved: whether it is the person's."""
    if now.decided is None:
        return None
    return {**now.ranking.describe_threshold(now.decided), "moved": now.threshold is not None}


def window(now: Open, by: By, offset: int, limit: int) -> dict[str, Any]:
    """Rows from an offset of the ranking, of the table, or of the labelled ones."""
    order = _order(now, by)
    rows = order[offset : offset + min(limit, MOST_WINDOW)]
    return {"total": len(order), "rows": describe_rows(now, rows)}


def describe_rows(now: Open, rows: Ints) -> list[dict[str, Any]]:
    """Number, label, score, probability and cells of rows."""
    scores = now.ranking.by_row[rows]
    p = now.ranking.scorer.probability(scores)
    chances: list[float | None] = [None] * len(rows) if p is None else p.tolist()
    return [
        {"row": row, "label": now.labels.get(row), "score": score, "probability": chance, "cells": shown}
        for row, score, chance, shown in zip(
            rows.tolist(), scores.tolist(), chances, cells(now.sheet.table.take(rows)), strict=True
        )
    ]


def check_rows(now: Open, rows: list[int]) -> Ints:
    """Row numbers as given by a client."""
    for row in rows:
        if not 0 <= row < len(now.sheet):
            raise InputError(f"row {row + 1} is not in the table, which has {len(now.sheet):,} rows")
    return np.array(rows, np.int64)


def explained_rows(now: Open) -> int:
    """How many rows may be explained at a time: as many as it takes no long time for, 0 for very wide tables."""
    size = len(now.sheet.encoding.encoders) * now.sheet.encoding.n_attributes
    return 0 if size > MOST_EXPLAINED else max(1, EXPLAINED // size)


def explain(now: Open, rows: list[int]) -> dict[str, Any]:
    """Why rows have their scores, so many at most as `explained_rows` says."""
    most = explained_rows(now)
    if not 1 <= len(rows) <= most:
        raise InputError(f"{len(rows)} rows to explain; from 1 to {most} can be explained at a time")
    why = now.ranking.scorer.explain(check_rows(now, rows))
    return {
        "columns": why.columns,
        "rows": [
            {"row": row, "added": added, "compared": compared, "near": near}
            for row, added, compared, near in zip(
                rows, why.added.tolist(), why.compared.tolist(), why.near.tolist(), strict=True
            )
        ],
    }


def drawn_rows(now: Open) -> Ints:
    """The rows on the map and the axis: a fixed sample, the highest ranked and the labelled ones."""
    rows: Ints = np.unique(np.concatenate([now.mapped, now.ranking.order[:TOP_MAPPED], now.labels.rows]))
    return rows[~np.isnan(now.ranking.by_row[rows])]


def map_points(now: Open) -> dict[str, Any]:
    """Where rows lie on the map, and their place on the axis of scores from 0 to 1."""
    rows = drawn_rows(now)
    places = now.plane.place(now.sheet.rows[rows])
    return {
        "rows": rows.tolist(),
        "x": np.round(places[:, 0], 3).tolist(),
        "y": np.round(places[:, 1], 3).tolist(),
        "position": np.round(now.ranking.positions(now.ranking.by_row[rows]), 3).tolist(),
    }


def axis_points(now: Open) -> dict[str, Any]:
    """Where rows lie on the projected axis, from -1 to 1 with the centre at 0, and the threshold on both sides of it.

    Far rows are drawn in: v = asinh(x / s), with s the distance that is usual. Empty where there is no such axis.
    """
    rows = drawn_rows(now)
    projected = now.ranking.scorer.project(now.sheet.rows[rows])
    if projected is None:
        return {"rows": [], "x": [], "position": [], "threshold": None}
    usual = float(np.median(np.abs(projected))) or 1.0
    v = np.arcsinh(projected / usual)
    widest = float(np.abs(v).max()) or 1.0
    threshold = now.decided
    cut = None if threshold is None or threshold < 0 else float(np.arcsinh(threshold**0.5 / usual)) / widest
    return {
        "rows": rows.tolist(),
        "x": np.round(v / widest, 4).tolist(),
        "position": np.round(now.ranking.positions(now.ranking.by_row[rows]), 3).tolist(),
        "threshold": cut,
    }


def _order(now: Open, by: By) -> Ints:
    if by == "score":
        return now.ranking.order
    if by == "row":
        return np.arange(len(now.sheet))
    rows = now.labels.rows
    order: Ints = rows[np.lexsort((-now.ranking.by_row[rows], -now.labels.values))]
    return order
