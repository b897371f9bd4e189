"""All routes of the app: the page, its data under /api, and the exported files.

To add a route, write its function in one of the modules here and its JSON content in views.py.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.staticfiles import StaticFiles

from oddshot.app.routes import edits, exports, learning, overviews, rows, tables
from oddshot.app.workspace import Workspace
from oddshot.storage.model_file import Model
from oddshot.web.security import PAGE_POLICY, AccessRules
from oddshot.web.serving import build_app

STATIC = Path(__file__).parents[1] / "static"


def make_app(model: Model, folder: Path | None, host: str, max_upload_bytes: int) -> FastAPI:
    """Build the app. folder: where labels are saved between runs; None to not save them."""
    workspace = Workspace(model, folder)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(workspace.close)

    app = build_app(
        "Label a few rows.",
        AccessRules(host),
        max_body_bytes=max_upload_bytes,
        policy=PAGE_POLICY,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.state.workspace = workspace
    for module in (tables, rows, edits, exports, learning, overviews):
        app.include_router(module.router)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app
