"""All routes of the app: the page, its data under /api, and the exported files.

To add a route, write its function in one of the `_add_..._routes` below and its JSON content in views.py.
"""

import itertools
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, FiniteFloat, StrictInt

from oddshot.app import views
from oddshot.app.example import example_sheet
from oddshot.app.exports import scores_csv, scores_parquet
from oddshot.app.labels import parse_labels_file
from oddshot.app.rankers import DetectorRanker
from oddshot.app.report import write_report
from oddshot.app.sheet import make_sheet
from oddshot.app.uploads import display_name, open_upload, receive_file
from oddshot.app.workspace import Workspace
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError
from oddshot.storage.model_file import Model
from oddshot.web.responses import JsonResponse
from oddshot.web.security import PAGE_POLICY, AccessRules
from oddshot.web.serving import build_app

STATIC = Path(__file__).with_name("static")
MAX_LABELS_FILE_BYTES = 64 * 2**20
_LABELS = {"normal": NORMAL, "anomaly": ANOMALY, None: None}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LabelBody(_Body):
    """A row, counted from 0, and its label; null removes the label."""

    row: StrictInt
    label: Literal["normal", "anomaly"] | None


class ThresholdBody(_Body):
    """The score above which rows are anomalies; null for the detector's own threshold."""

    value: FiniteFloat | None


class ColumnsBody(_Body):
    """Columns that the detector does not use."""

    left_out: list[str]


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
    for add in (_add_table_routes, _add_view_routes, _add_label_routes, _add_export_routes):
        router = APIRouter(prefix="/api", default_response_class=JsonResponse)
        add(router, workspace)
        app.include_router(router)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


def _add_table_routes(router: APIRouter, workspace: Workspace) -> None:
    @router.get("/state")
    def state() -> dict[str, Any]:
        return views.state(workspace)

    @router.get("/progress")
    def progress() -> dict[str, Any]:
        return views.progress(workspace)

    @router.put("/table")
    async def upload(request: Request, name: Annotated[str, Query(max_length=1000)] = "table") -> Any:
        with tempfile.TemporaryDirectory(prefix="oddshot-") as folder:
            path, digest = await receive_file(request, Path(folder), name)
            await run_in_threadpool(open_upload, workspace, path, display_name(name), digest)
        return await run_in_threadpool(views.state, workspace)

    @router.post("/example")
    def example() -> dict[str, Any]:
        workspace.open(lambda: example_sheet(workspace.model))
        return views.state(workspace)

    @router.post("/columns")
    def columns(body: ColumnsBody) -> dict[str, Any]:
        sheet = workspace.current.sheet
        unknown = [name for name in body.left_out if name not in sheet.table.column_names]
        if unknown:
            raise InputError(f"the table has no column {unknown[0][:100]!r}")
        left_out = tuple(dict.fromkeys(body.left_out))
        workspace.reopen(
            lambda: make_sheet(sheet.table, sheet.name, sheet.digest, workspace.model, sheet.truth, left_out)
        )
        return views.state(workspace)


def _add_view_routes(router: APIRouter, workspace: Workspace) -> None:
    @router.get("/rows")
    def rows(
        by: views.RowOrder = "score",
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=views.MAX_ROWS_PER_REQUEST)] = 50,
    ) -> dict[str, Any]:
        return views.page_of_rows(workspace.current, by, min(offset, 2**62), limit)

    @router.get("/row/{row}")
    def row(row: int) -> dict[str, Any]:
        open_table = workspace.current
        return {
            **views.describe_rows(open_table, views.check_rows(open_table, [row]))[0],
            "place": open_table.ranking.rank_of(row),
        }

    @router.get("/explain")
    def explain(rows: Annotated[list[int], Query()]) -> dict[str, Any]:
        return views.explain(workspace.current, rows)

    @router.get("/map")
    def map_() -> dict[str, Any]:
        return views.map_points(workspace.current)

    @router.get("/axis")
    def axis() -> dict[str, Any]:
        return views.axis_points(workspace.current)


def _add_label_routes(router: APIRouter, workspace: Workspace) -> None:
    @router.post("/label")
    def label(body: LabelBody) -> dict[str, Any]:
        workspace.change_labels(lambda labels: labels.set(body.row, _LABELS[body.label]))
        return views.ranking_state(workspace)

    @router.post("/undo")
    def undo() -> dict[str, Any]:
        rows = workspace.change_labels(lambda labels: labels.undo())
        return {**views.ranking_state(workspace), "touched": rows}

    @router.post("/threshold")
    def threshold(body: ThresholdBody) -> dict[str, Any]:
        workspace.set_threshold(body.value)
        return {"threshold": views.threshold_state(workspace.current)}

    @router.put("/labels")
    async def load(request: Request) -> dict[str, Any]:
        n_rows = len(workspace.current.sheet)
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > MAX_LABELS_FILE_BYTES:
                raise InputError(
                    f"labels of more than {MAX_LABELS_FILE_BYTES >> 20} MiB; expected a file that the app saved"
                )
        loaded = parse_labels_file(bytes(data), n_rows)
        await run_in_threadpool(workspace.change_labels, lambda labels: labels.replace(loaded))
        return await run_in_threadpool(views.ranking_state, workspace)


def _add_export_routes(router: APIRouter, workspace: Workspace) -> None:
    @router.get("/export/labels.json")
    def labels_json() -> Response:
        open_table = workspace.current
        content = {"table": open_table.sheet.name, "rows": len(open_table.sheet), "labels": open_table.labels.to_json()}
        return JsonResponse(content, headers=_download_headers("labels.json"))

    @router.get("/export/labels.csv")
    def labels_csv() -> Response:
        return Response(
            workspace.current.labels.to_csv(), media_type="text/csv", headers=_download_headers("labels.csv")
        )

    @router.get("/export/scores.csv")
    def csv() -> Response:
        blocks = scores_csv(workspace.current)
        first = next(blocks)  # an error must be raised before the response begins
        return StreamingResponse(
            itertools.chain([first], blocks), media_type="text/csv", headers=_download_headers("scores.csv")
        )

    @router.get("/export/scores.parquet")
    def parquet() -> Response:
        data = scores_parquet(workspace.current)
        return Response(data, media_type="application/vnd.apache.parquet", headers=_download_headers("scores.parquet"))

    @router.get("/export/detector.safetensors")
    def detector() -> Response:
        open_table = workspace.current
        ranker = open_table.ranking.ranker
        if not isinstance(ranker, DetectorRanker):
            raise InputError("there is no detector yet; label at least one normal row")
        data = ranker.export(open_table.user_threshold)
        return Response(data, media_type="application/octet-stream", headers=_download_headers("detector.safetensors"))

    @router.get("/export/report.html")
    def report() -> Response:
        return Response(
            write_report(workspace.current), media_type="text/html", headers=_download_headers("report.html")
        )


def _download_headers(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
