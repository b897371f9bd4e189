"""All routes of the REST service.

To add a route: write its function in `_add_detector_routes` or `_add_information_routes` below, describe it under
"paths" in `openapi.openapi_document`, and test it in tests/service (test_openapi.py fails for a route that is not
described, and sends requests made from the description to every route that is).
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import numpy as np
from fastapi import FastAPI, Request, Response
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from oddshot.data.tables.ipc import to_ipc
from oddshot.service.cache import CachedDetector
from oddshot.service.detector_service import BusyError, DetectorService
from oddshot.service.limits import ServiceLimits
from oddshot.service.metrics import MEDIA_TYPE, MetricsFolder
from oddshot.service.openapi import openapi_document
from oddshot.service.requests import ARROW, Query, parse_adapt_request, parse_media_type, parse_score_request
from oddshot.service.store import DetectorStore, StoreError
from oddshot.storage.model_file import Model
from oddshot.web.responses import JsonResponse, error_response
from oddshot.web.security import AccessRules
from oddshot.web.serving import build_app

DESCRIPTION = "Finds anomalies in a new task from a handful of labels: adapt to its support, then score its rows."
MAX_BYTES_IN_EVENT_LOOP = 1 << 15  # larger bodies are parsed in a thread
MAX_ARROW_BYTES_IN_EVENT_LOOP = 1 << 18  # the same of Arrow without labels, which takes less time
MAX_BYTES_OF_SHORT_WORK = 1 << 20  # larger bodies wait for each other
MAX_ROWS_ANSWERED_IN_EVENT_LOOP = 10_000
MAX_CONCURRENT_BODIES = 8  # of the largest size: together they limit the memory for requests

T = TypeVar("T")


def build_service(
    model: Model,
    host: str = "127.0.0.1",
    token: str | None = None,
    limits: ServiceLimits | None = None,
    store: DetectorStore | None = None,
    metrics_folder: MetricsFolder | None = None,
) -> FastAPI:
    """Build the service as an application, which closes the store when it stops.

    metrics_folder: shared with other workers on the same address.
    """
    limits = limits or ServiceLimits()
    service = DetectorService(model, limits, store, metrics_folder)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        publishing = asyncio.create_task(service.publish_metrics())
        yield
        publishing.cancel()
        service.close()

    app = build_app(
        DESCRIPTION,
        AccessRules(host, token, open_paths=("/healthz",)),
        max_body_bytes=limits.max_body_bytes,
        max_total_body_bytes=MAX_CONCURRENT_BODIES * limits.max_body_bytes,
        on_request=service.metrics.on_request,
        lifespan=lifespan,
    )
    document = openapi_document(DESCRIPTION, limits, needs_token=token is not None)
    app.openapi = lambda: document  # type: ignore[method-assign]
    _add_detector_routes(app, service)
    _add_information_routes(app, service)
    return app


def _add_detector_routes(app: FastAPI, service: DetectorService) -> None:
    """Routes that adapt detectors and score rows."""

    async def parse(request: Request, parser: Callable[[bytes, str, Query, ServiceLimits], T]) -> T:
        media_type = parse_media_type(request.headers.get("content-type"))
        query = {name: request.query_params.getlist(name) for name in request.query_params}
        body = await request.body()
        is_plain = media_type == ARROW and "label" not in query
        if len(body) <= (MAX_ARROW_BYTES_IN_EVENT_LOOP if is_plain else MAX_BYTES_IN_EVENT_LOOP):
            return parser(body, media_type, query, service.limits)
        is_short = len(body) <= MAX_BYTES_OF_SHORT_WORK
        return await service.run_in_thread(lambda: parser(body, media_type, query, service.limits), is_short)

    @app.post("/v1/adapt")
    async def adapt(request: Request) -> Response:
        await request.body()
        async with _time_limit(service.limits.max_seconds):
            support = await parse(request, parse_adapt_request)
            summary = (await service.adapt(support, store=True)).summary
            return JsonResponse({**summary, "notes": [*support.notes, *summary["notes"]]})

    @app.post("/v1/score")
    async def score(request: Request) -> Response:
        await request.body()
        async with _time_limit(service.limits.max_seconds):
            return await score_rows(request)

    async def score_rows(request: Request) -> Response:
        parsed = await parse(request, parse_score_request)
        cached: CachedDetector | None
        if parsed.support is not None:
            cached = await service.adapt(parsed.support, store=False)
        else:
            cached = await service.find(parsed.detector_id or "")
        if cached is None:
            raise HTTPException(404, "no detector has this id; it was not adapted here, or has expired: adapt again")
        scores, notes = await service.score(cached, parsed.rows)
        notes = notes if parsed.support is None else [*parsed.support.notes, *notes]
        is_arrow = ARROW in request.headers.get("accept", "")
        if len(scores) <= MAX_ROWS_ANSWERED_IN_EVENT_LOOP:
            return _scores_response(cached, scores, notes, is_arrow)
        return await service.run_in_thread(lambda: _scores_response(cached, scores, notes, is_arrow), is_short=True)

    @app.exception_handler(BusyError)
    async def on_busy(_: Request, error: BusyError) -> Response:
        return error_response(503, str(error), {"retry-after": "5"})

    @app.exception_handler(StoreError)
    async def on_store_error(_: Request, error: StoreError) -> Response:
        return error_response(503, f"the store cannot be used now: {error}", {"retry-after": "5"})


def _scores_response(cached: CachedDetector, scores: NDArray[np.float64], notes: list[str], is_arrow: bool) -> Response:
    scored = cached.task.decide(scores)
    nothing_found = cached.task.nothing_found_notice(len(scores), int((scores > cached.task.threshold).sum()))
    notes = [*notes, *filter(None, [nothing_found])]
    if is_arrow:
        table = scored.to_table().replace_schema_metadata({"notes": json.dumps(notes)})
        return Response(to_ipc(table), media_type=ARROW)
    return JsonResponse({"id": cached.id, "threshold": cached.task.threshold, **scored.to_lists(), "notes": notes})


@asynccontextmanager
async def _time_limit(seconds: float) -> AsyncIterator[None]:
    """Answer 503 to a request that takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        message = f"the request takes longer than {seconds:g} seconds; send less at a time, or try again later"
        raise HTTPException(503, message, {"retry-after": str(math.ceil(seconds))}) from None


def _add_information_routes(app: FastAPI, service: DetectorService) -> None:
    """Routes that describe the model and the state of the service."""

    @app.get("/v1/model")
    async def model() -> Response:
        return JsonResponse({"version": app.version, **service.describe_model()})

    @app.get("/healthz")
    async def health() -> Response:
        return JsonResponse({"status": "ok"})

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(service.metrics_text(), media_type=MEDIA_TYPE)
