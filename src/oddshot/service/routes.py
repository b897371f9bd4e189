"""All routes of the REST service.

To add a route: write its function in `_add_detector_routes` or `_add_information_routes` below, describe it under
"paths" in `openapi.openapi_document`, and test it in tests/service (test_openapi.py fails for a route that is not
described, and sends requests made from the description to every route that is).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from oddshot.data.tables.ipc import to_ipc
from oddshot.service.cache import CachedDetector
from oddshot.service.detector_service import DetectorService
from oddshot.service.limits import ServiceLimits
from oddshot.service.metrics import MEDIA_TYPE, MetricsFolder
from oddshot.service.openapi import openapi_document
from oddshot.service.requests import ARROW, parse_adapt_request, parse_media_type, parse_score_request
from oddshot.service.store import DetectorStore, StoreError
from oddshot.storage.model_file import Model
from oddshot.web.responses import JsonResponse, error_response
from oddshot.web.security import AccessRules
from oddshot.web.serving import build_app

DESCRIPTION = "Finds anomalies in a new task from a handful of labels: adapt to its support, then score its rows."
MAX_BYTES_PARSED_IN_EVENT_LOOP = 1 << 18  # larger bodies are parsed in a thread
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

    async def parse(request: Request, parser: Callable[[bytes, str, Mapping[str, str], ServiceLimits], T]) -> T:
        media_type = parse_media_type(request.headers.get("content-type"))
        query, body = dict(request.query_params), await request.body()
        if len(body) <= MAX_BYTES_PARSED_IN_EVENT_LOOP:
            return parser(body, media_type, query, service.limits)
        return await service.run_in_thread(lambda: parser(body, media_type, query, service.limits))

    @app.post("/v1/adapt")
    async def adapt(request: Request) -> Response:
        support = await parse(request, parse_adapt_request)
        return JsonResponse((await service.adapt(support, store=True)).summary)

    @app.post("/v1/score")
    async def score(request: Request) -> Response:
        parsed = await parse(request, parse_score_request)
        cached: CachedDetector | None
        if parsed.support is not None:
            cached = await service.adapt(parsed.support, store=False)
        else:
            cached = await service.find(parsed.detector_id or "")
        if cached is None:
            raise HTTPException(404, "no detector has this id; it was not adapted here, or has expired: adapt again")
        scored = cached.task.decide(await service.score(cached, parsed.rows))
        if ARROW in request.headers.get("accept", ""):
            return Response(to_ipc(scored.to_table()), media_type=ARROW)
        return JsonResponse({"id": cached.id, "threshold": cached.task.threshold, **scored.to_lists()})

    @app.exception_handler(StoreError)
    async def on_store_error(_: Request, error: StoreError) -> Response:
        return error_response(503, f"the store cannot be used now: {error}", {"retry-after": "5"})


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
