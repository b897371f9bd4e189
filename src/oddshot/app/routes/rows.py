"""Routes that show an open table: its state, its rows and its plots."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field, StrictInt

from oddshot.app import views
from oddshot.app.routes.opened import Session, Table, table_router
from oddshot.app.row_query import RowQuery

MAX_NAMES = 10_000  # in one request

router = table_router()


@router.get("/state")
def state(session: Session) -> dict[str, Any]:
    """Everything about the table except rows and plots."""
    return views.state(session)


class RowsRequest(RowQuery):
    """A query, and which of its rows."""

    offset: int = Field(0, ge=0)
    limit: int = Field(50, ge=1, le=views.MAX_ROWS_PER_REQUEST)


@router.get("/rows")
def rows(open_table: Table, query: Annotated[RowsRequest, Query()]) -> dict[str, Any]:
    """Some of the rows in an order."""
    return views.page_of_rows(open_table, query, min(query.offset, 2**62), query.limit)


@router.get("/row/{row}")
def row(open_table: Table, row: int) -> dict[str, Any]:
    """One row, and its place in the ranking."""
    return {
        **views.describe_rows(open_table, views.check_rows(open_table, [row]))[0],
        "place": open_table.ranking.rank_of(row),
    }


class NamesRequest(BaseModel):
    """Rows, counted from 0."""

    rows: list[StrictInt] = Field(max_length=MAX_NAMES)


@router.post("/names")
def names(open_table: Table, body: NamesRequest) -> dict[str, Any]:
    """The names of rows; null for each if no column names them."""
    return {"names": open_table.names(views.check_rows(open_table, body.rows))}


@router.get("/explain")
def explain(open_table: Table, rows: Annotated[list[int], Query()]) -> dict[str, Any]:
    """What each column adds to the scores of some rows."""
    return views.explain(open_table, rows)


@router.get("/map")
def map_(open_table: Table) -> dict[str, Any]:
    """The rows on the map."""
    return views.map_points(open_table)


@router.get("/axis")
def axis(open_table: Table) -> dict[str, Any]:
    """The rows on the projected axis."""
    return views.axis_points(open_table)


@router.get("/row/{row}/tsv")
def tsv(open_table: Table, row: int, column: str | None = None) -> dict[str, str]:
    """The cells of a row, or one of them, to be copied into a spreadsheet."""
    return {"text": views.row_as_tsv(open_table, row, column)}


@router.get("/histogram")
def histogram(open_table: Table, column: str, row: int | None = None) -> dict[str, Any]:
    """The histogram of a column."""
    return views.column_histogram(open_table, column, row)
