"""Routes that list, open and close tables."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool

from oddshot.app import views
from oddshot.app.example import example_sheet
from oddshot.app.routes.opened import AllTables, Session
from oddshot.app.sheet import encode_again
from oddshot.app.uploads import display_name, open_upload, receive_file
from oddshot.web.responses import JsonResponse

router = APIRouter(prefix="/api", default_response_class=JsonResponse)


@router.get("/tables")
def tables(workspace: AllTables) -> dict[str, Any]:
    """All open tables, and how far their rankings are."""
    for session in workspace.sessions:
        session.synchronise()
    return views.tables(workspace)


@router.put("/tables")
async def upload(
    workspace: AllTables, request: Request, name: Annotated[str, Query(max_length=1000)] = "table"
) -> dict[str, Any]:
    """Open the table in the body."""
    with tempfile.TemporaryDirectory(prefix="oddshot-") as folder:
        path, digest = await receive_file(request, Path(folder), name)
        session = await run_in_threadpool(open_upload, workspace, path, display_name(name), digest)
    return await run_in_threadpool(views.state, session)


@router.post("/example")
def example(workspace: AllTables) -> dict[str, Any]:
    """Open the built-in example."""
    sheet = example_sheet(workspace.model)
    session = workspace.open(sheet.digest, lambda edits: encode_again(sheet, workspace.model, edits))
    return views.state(session)


@router.delete("/tables/{table_id}")
def close(workspace: AllTables, session: Session) -> dict[str, Any]:
    """Close a table."""
    workspace.close_table(session.id)
    return views.tables(workspace)
