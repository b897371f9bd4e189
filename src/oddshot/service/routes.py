"""The HTTP face of the service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi import FastAPI, Request, Response
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from oddshot.data.tables.ipc import to_ipc
from oddshot.service.adapted import Adapted
from oddshot.service.engine import Engine
from oddshot.service.limits import Limits
from oddshot.service.metrics import MEDIA_TYPE, Exchange
from oddshot.service.openapi import describe
from oddshot.service.requests import ARROW, Wanted, media_type, read_adapt, read_score
from oddshot.service.store import Store, StoreError
from oddshot.storage.model_file import Model
from oddshot.web.responses import JsonResponse, error_response
from oddshot.web.security import AccessRules
from oddshot.web.serving import build_app

DESCRIPTION = "Finds anomalies in a new task from a handful of labels: adapt to its support, then score its rows."
FEW_BYTES = 1 << 18  # of a body that is read in the event loop
AT_ONCE = 8  # bodies of the largest size that may be under way


def build_service(
    model: Model,
    host: str = "127.0.0.1",
    token: str | None = None,
    limits: Limits | None = None,
    store: Store | None = None,
    exchange: Exchange | None = None,
) -> FastAPI:
    """The service as an application. The store is closed with it. exchange: with other workers."""
    limits = limits or Limits()
    engine = Engine(model, limits, store, exchange)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        telling = asyncio.create_task(engine.tell_metrics())
        yield
        telling.cancel()
        engine.close()

    app = build_app(
        DESCRIPTION,
        AccessRules(host, token, open_paths=("/healthz",)),
        max_body_bytes=limits.most_bytes,
        max_total_body_bytes=AT_ONCE * limits.most_bytes,
        on_request=engine.metrics.on_request,
        lifespan=lifespan,
    )
    document = describe(DESCRIPTION, limits, needs_token=token is not None)
    app.openapi = lambda: document  # type: ignore[method-assign]
    _add_work(app, engine)
    _add_facts(app, engine)
    return app


def _add_work(app: FastAPI, engine: Engine) -> None:
    async def read(request: Request, reader: Any) -> Any:
        kind, query = media_type(request.headers.get("content-type")), dict(request.query_params)
        body = await request.body()
        if len(body) <= FEW_BYTES:
            return reader(body, kind, query, engine.limits)
        return await engine.in_thread(lambda: reader(body, kind, query, engine.limits))

    @app.post("/v1/adapt")
    async def adapt(request: Request) -> Response:
        support = await read(request, read_adapt)
        return JsonResponse((await engine.adapt(support, keep=True)).summary)

    @app.post("/v1/score")
    async def score(request: Request) -> Response:
        wanted: Wanted = await read(request, read_score)
        if wanted.support is not None:
            adapted: Adapted | None = await engine.adapt(wanted.support, keep=False)
        else:
            adapted = await engine.find(wanted.name or "")
        if adapted is None:
            raise HTTPException(404, "no detector has this id; it was not adapted here, or has expired: adapt again")
        scores = await engine.score(adapted, wanted.rows)
        if ARROW in request.headers.get("accept", ""):
            return Response(to_ipc(_table(adapted, scores)), media_type=ARROW)
        return JsonResponse(_content(adapted, scores))

    @app.exception_handler(StoreError)
    async def of_store(_: Request, error: StoreError) -> Response:
        return error_response(503, f"the store cannot be used now: {error}", {"retry-after": "5"})


def _add_facts(app: FastAPI, engine: Engine) -> None:
    @app.get("/v1/model")
    async def model() -> Response:
        return JsonResponse({"version": app.version, **engine.facts()})

    @app.get("/healthz")
    async def health() -> Response:
        return JsonResponse({"status": "ok"})

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(engine.metrics_text(), media_type=MEDIA_TYPE)


def _content(adapted: Adapted, scores: NDArray[np.float64]) -> dict[str, Any]:
    probability = adapted.detector.probability_of(scores)
    return {
        "id": adapted.name,
        "threshold": adapted.detector.threshold_,
        "scores": scores.tolist(),
        "probabilities": None if probability is None else probability.tolist(),
        "anomalies": (scores > adapted.detector.threshold_).astype(int).tolist(),
    }


def _table(adapted: Adapted, scores: NDArray[np.float64]) -> Any:
    """score, probability (null without a calibration) and anomaly of each row."""
    probability = adapted.detector.probability_of(scores)
    known = pa.nulls(len(scores), pa.float64()) if probability is None else pa.array(probability)
    decided = pa.array((scores > adapted.detector.threshold_).astype(np.int8))
    return pa.table({"score": pa.array(scores), "probability": known, "anomaly": decided})
