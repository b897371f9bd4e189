"""The open tables as parameters of routes."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request

from oddshot.app.open_table import OpenTable
from oddshot.app.session import TableSession
from oddshot.app.workspace import Workspace
from oddshot.errors import InputError
from oddshot.web.responses import JsonResponse


def table_router() -> APIRouter:
    """A router for what concerns one open table; its functions have a parameter of type Session or Table."""
    return APIRouter(prefix="/api/tables/{table_id}", default_response_class=JsonResponse)


def _workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


def _session(table_id: str, workspace: Annotated[Workspace, Depends(_workspace)]) -> TableSession:
    try:
        return workspace.session(table_id)
    except InputError as error:
        raise HTTPException(404, str(error)) from None


def _table(session: Annotated[TableSession, Depends(_session)]) -> OpenTable:
    return session.current


AllTables = Annotated[Workspace, Depends(_workspace)]
Session = Annotated[TableSession, Depends(_session)]
Table = Annotated[OpenTable, Depends(_table)]
