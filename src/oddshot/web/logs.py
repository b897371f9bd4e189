"""Structured logs: a JSON object a line on stderr, with nothing in it that a client sent."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddshot.web.answers import refuse

LOGGER = logging.getLogger("oddshot.web")
OnRequest = Callable[[str, int, float], None]
"""Told of each request: the route's pattern, the status, seconds."""

_TOLD = (LOGGER.name, "uvicorn.error")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class JsonLines(logging.Formatter):
    """Records as JSON. Of an exception only its type and where it rose: its text and the values may be data.

    So may be the messages of libraries other than uvicorn: of those only the name is written.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name in _TOLD else record.name,
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= _where(record.exc_info[1])
        return json.dumps(line)


def log_to_stderr(level: int = logging.INFO) -> None:
    """Send all logs of this process to stderr as JSON lines; those of libraries from warnings up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(level)


class RequestLog:
    """A line for each request, and a 500 without a trace for what no handler knows."""

    def __init__(self, app: ASGIApp, on_request: OnRequest | None = None) -> None:
        self.app, self.on_request = app, on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and tell how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except Exception:  # a mistake of ours: the client gets a sentence, the log where it rose
            LOGGER.error("failure", exc_info=True)
            if status == 0:
                await refuse(500, "the server made a mistake; its log says where")(scope, receive, watch)
        seconds = time.perf_counter() - started
        route = getattr(scope.get("route"), "path", "other")
        if self.on_request is not None:
            self.on_request(route, status, seconds)
        if LOGGER.isEnabledFor(logging.INFO):
            method = scope["method"] if scope["method"] in _METHODS else "other"
            facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1e3, 2)}
            LOGGER.info("request", extra={"facts": facts})


def _where(error: BaseException) -> dict[str, object]:
    """The type of an exception and the lines it came through, without their content."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return {"type": type(error).__name__, "at": [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]}
