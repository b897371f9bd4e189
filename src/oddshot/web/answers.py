"""JSON answers: never NaN in them, and every mistake as one sentence."""

import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from oddshot.errors import CapacityError, FileError, OddshotError

LONGEST = 500  # characters of a message

STATUS = {CapacityError: 507, FileError: 503}  # not the client's mistakes; every other error is, and answers 422
_SENTENCES = {404: "there is no such address", 405: "this address does not take that method"}


class JsonAnswer(Response):
    """Any content of plain types; NaN and infinities, which JSON lacks, become null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The content as bytes."""
        return to_json(content, inf_nan_mode="null")


def refuse(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JsonAnswer:
    """A mistake of the client's: {"error": "one sentence"}."""
    text = " ".join(sentence.encode("utf-8", "replace").decode().split())
    shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    return JsonAnswer({"error": shown}, status, headers)


def answer_mistakes(app: FastAPI) -> None:
    """Every exception that a client can cause becomes a 4xx with one sentence."""

    @app.exception_handler(OddshotError)
    async def of_input(_: Request, error: OddshotError) -> Response:
        return refuse(STATUS.get(type(error), 422), str(error))

    @app.exception_handler(HTTPException)
    async def of_http(_: Request, error: HTTPException) -> Response:
        plain = error.status_code in _SENTENCES and error.detail in ("Not Found", "Method Not Allowed")
        return refuse(error.status_code, _SENTENCES[error.status_code] if plain else str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def of_validation(_: Request, error: RequestValidationError) -> Response:
        return refuse(422, _first(error))

    @app.exception_handler(MemoryError)
    async def of_memory(_: Request, error: MemoryError) -> Response:
        return refuse(413, "not enough memory for this request; send fewer rows at a time")

    @app.exception_handler(RuntimeError)
    async def of_torch(_: Request, error: RuntimeError) -> Response:
        if not re.search("out of memory|can't allocate memory", str(error)):
            raise error
        return refuse(413, "not enough memory for this request; send fewer rows at a time")

    @app.exception_handler(ClientDisconnect)
    async def of_disconnect(_: Request, error: ClientDisconnect) -> Response:
        return refuse(400, "the connection ended before the body did")  # nobody hears it


def _first(error: RequestValidationError) -> str:
    """The first complaint, with where it is."""
    one = error.errors()[0]
    place = ".".join(str(part) for part in one["loc"])
    return f"{place}: {one['msg']}"
