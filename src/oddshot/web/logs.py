"""Structured logs: one JSON object per line on stderr, without anything that a client sent."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddshot.web.responses import error_response

REPEAT_SECONDS = 10.0
MAX_KINDS_OF_RECORDS = 1_000

LOGGER = logging.getLogger("oddshot.web")
RequestObserver = Callable[[str, int, float], None]
"""Called after each request with the path pattern of the route, the status and the seconds taken."""

_LOGGERS_WITH_MESSAGES = (LOGGER.name, "uvicorn.error")  # those whose messages contain no data of clients
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class JsonFormatter(logging.Formatter):
    """Log records as JSON.

    Exceptions are logged as their type and source lines, because their text may quote data. For the same reason only
    the logger's name is written for records of libraries other than uvicorn.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name in _LOGGERS_WITH_MESSAGES else record.name,
            **record.__dict__.get("fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= _describe_exception(record.exc_info[1])
        return json.dumps(line)


class RepeatLimit(logging.Filter):
    """Passes a warning or an error on once in REPEAT_SECONDS; the next one of its kind says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last: dict[tuple[object, ...], tuple[float, int]] = {}  # when it was passed on, and how many were not

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is written."""
        if record.levelno < logging.WARNING:
            return True
        kind = (record.name, record.msg, record.exc_info[0] if record.exc_info else None)
        now = self._clock()
        passed, n_left_out = self._last.get(kind, (-REPEAT_SECONDS, 0))
        if now - passed < REPEAT_SECONDS:
            self._last[kind] = (passed, n_left_out + 1)
            return False
        if len(self._last) >= MAX_KINDS_OF_RECORDS:
            self._last.clear()
        self._last[kind] = (now, 0)
        if n_left_out:
            record.__dict__["fields"] = {**record.__dict__.get("fields", {}), "left_out": n_left_out}
        return True


def log_to_stderr(level: int = logging.INFO) -> None:
    """Send the logs of this process to stderr as JSON lines; those of libraries from warnings upwards."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RepeatLimit())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(level)


class RequestLog:
    """Middleware that logs each request, and answers 500 without a traceback when an exception was not handled."""

    def __init__(self, app: ASGIApp, on_request: RequestObserver | None = None) -> None:
        self.app, self.on_request = app, on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, then log its route, status and duration."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting_status)
        except Exception:  # a bug: the client gets a sentence, the log says where it happened
            LOGGER.error("failure", exc_info=True)
            if status == 0:
                message = "the server made a mistake; its log says where"
                await error_response(500, message)(scope, receive, send_noting_status)
        seconds = time.perf_counter() - started
        route = scope.get("route")
        path = route.path if isinstance(route, Route | Mount) else "other"
        if self.on_request is not None:
            self.on_request(path, status, seconds)
        if LOGGER.isEnabledFor(logging.INFO):
            method = scope["method"] if scope["method"] in _METHODS else "other"
            fields = {"method": method, "route": path, "status": status, "ms": round(seconds * 1e3, 2)}
            LOGGER.info("request", extra={"fields": fields})


def _describe_exception(error: BaseException) -> dict[str, object]:
    """The type of an exception and the source lines that it passed through, without its text."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return {"type": type(error).__name__, "at": [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]}
