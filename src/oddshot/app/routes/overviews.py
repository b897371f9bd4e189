"""Routes that show the scores of a table over time and by group."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import FiniteFloat

from oddshot.app.groups import describe_groups, find_group_column, propose_group_column
from oddshot.app.routes.opened import Session, table_router
from oddshot.app.timeline import MAX_BINS, describe_beginning, describe_timeline, find_axis
from oddshot.errors import InputError

router = table_router()

ColumnName = Annotated[str | None, Query(max_length=10_000)]


@router.get("/time")
def time(
    session: Session,
    column: ColumnName = None,
    bins: Annotated[int, Query(ge=1, le=MAX_BINS)] = 600,
    start: FiniteFloat | None = None,
    end: FiniteFloat | None = None,
) -> dict[str, Any]:
    """The highest scores over time; without a time column, no columns."""
    turn, open_table = session.ranking_version, session.current
    axes = open_table.time_axes
    if not axes and column is None:
        return {"turn": turn, "columns": []}
    if (start is None) != (end is None) or (start is not None and end is not None and start >= end):
        raise InputError("a span of time has a start and a later end")
    axis, ranking, threshold = find_axis(axes, column), open_table.ranking, open_table.threshold
    span = None if start is None or end is None else (start, end)
    return {
        "turn": turn,
        "columns": [one.name for one in axes],
        "column": axis.name,
        "kind": axis.kind,
        "zoomed": span is not None,
        **describe_timeline(axis, ranking, threshold, bins, span),
        "beginning": describe_beginning(axis, ranking, threshold),
    }


@router.get("/groups")
def groups(session: Session, column: ColumnName = None) -> dict[str, Any]:
    """The rows by group; without a column by the one that is proposed, if any."""
    turn, open_table = session.ranking_version, session.current
    columns = open_table.group_columns
    name = propose_group_column(columns) if column is None else column
    found = {"turn": turn, "columns": [one.name for one in columns], "column": name, "groups": []}
    if name is None:
        return found
    described = describe_groups(find_group_column(columns, name), open_table.ranking, open_table.threshold)
    return {**found, "groups": described}
