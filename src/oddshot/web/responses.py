"""JSON responses that never contain NaN, and one-sentence error responses."""

import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from oddshot.errors import CapacityError, FileError, OddshotError

MAX_MESSAGE_CHARACTERS = 500

_OUT_OF_MEMORY = "not enough memory for this request; send fewer rows at a time"
_DEFAULT_MESSAGES = {404: "there is no such address", 405: "this address does not take that method"}


class JsonResponse(Response):
    """Content of plain Python types as JSON; NaN and infinities, which JSON does not have, become null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Serialise the content."""
        return to_json(content, inf_nan_mode="null")


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """The JSON object {"error": message}; the message is put on one line and cut to MAX_MESSAGE_CHARACTERS."""
    text = " ".join(message.encode("utf-8", "replace").decode().split())
    if len(text) > MAX_MESSAGE_CHARACTERS:
        text = text[: MAX_MESSAGE_CHARACTERS - 3] + "..."
    return JsonResponse({"error": text}, status, headers)


def status_of(error: OddshotError) -> int:
    """The HTTP status of an error: 507 or 503 where the server's disk is at fault, 422 where the request is."""
    if isinstance(error, CapacityError):
        return 507
    if isinstance(error, FileError):
        return 503
    return 422


def add_error_handlers(app: FastAPI) -> None:
    """Turn the exceptions that a request can cause into error responses of one sentence."""

    @app.exception_handler(OddshotError)
    async def on_oddshot_error(_: Request, error: OddshotError) -> Response:
        return error_response(status_of(error), str(error))

    @app.exception_handler(HTTPException)
    async def on_http_exception(_: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        if error.detail in ("Not Found", "Method Not Allowed"):  # Starlette's own, which we word ourselves
            message = _DEFAULT_MESSAGES.get(error.status_code, message)
        return error_response(error.status_code, message, error.headers)

    @app.exception_handler(RequestValidationError)
    async def on_validation_error(_: Request, error: RequestValidationError) -> Response:
        return error_response(422, _first_validation_error(error))

    @app.exception_handler(MemoryError)
    async def on_memory_error(_: Request, error: MemoryError) -> Response:
        return error_response(413, _OUT_OF_MEMORY)

    @app.exception_handler(RuntimeError)
    async def on_runtime_error(_: Request, error: RuntimeError) -> Response:
        if not re.search("out of memory|can't allocate memory", str(error)):  # as torch reports it
            raise error
        return error_response(413, _OUT_OF_MEMORY)

    @app.exception_handler(ClientDisconnect)
    async def on_disconnect(_: Request, error: ClientDisconnect) -> Response:
        return error_response(400, "the connection ended before the body did")  # for the log; the client is gone


def _first_validation_error(error: RequestValidationError) -> str:
    """The first invalid field, as its path and what is wrong with it."""
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    return f"{path}: {first['msg']}"
