"""Middleware that limits the size of request bodies, whether their length is announced or not."""

import asyncio
from contextlib import suppress

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddshot.web.responses import error_response

MAX_DRAINED_BYTES = 256 * 2**20  # of a refused body, read and discarded: a client reads the response after sending
MAX_DRAIN_SECONDS = 5.0
MAX_IDLE_SECONDS = 30.0  # between two parts of a body
MIB = 2**20


class BodyLimit:
    """Refuses bodies of more than max_bytes with 413, and with 429 when all bodies together exceed max_total_bytes."""

    def __init__(self, app: ASGIApp, max_bytes: int, max_total_bytes: int | None = None) -> None:
        self.app, self.max_bytes, self.max_total_bytes = app, max_bytes, max_total_bytes
        self.total_bytes = 0  # of the requests being handled now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and count the bytes of its body as they arrive."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:  # a proxy may believe the other one
            message = "Content-Length and Transfer-Encoding together; expected one of them"
            await error_response(400, message, {"connection": "close"})(scope, receive, send)
            return
        announced = headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self.max_bytes:
            await _drain(receive)
            await error_response(413, self._too_large(), {"connection": "close"})(scope, receive, send)
            return
        n_received, is_complete = 0, False

        async def receive_counted() -> Message:
            nonlocal n_received, is_complete
            message = await (receive() if is_complete else _receive_in_time(receive))
            is_complete = not message.get("more_body", False)
            n_bytes = len(message.get("body", b""))
            n_received += n_bytes
            self.total_bytes += n_bytes
            is_busy = self.max_total_bytes is not None and self.total_bytes > self.max_total_bytes
            if n_received <= self.max_bytes and not is_busy:
                return message
            if not is_complete:
                await _drain(receive)
            if n_received > self.max_bytes:
                raise HTTPException(413, self._too_large(), {"connection": "close"})
            raise HTTPException(429, "too many rows are under way; try again", {"retry-after": "1"})

        try:
            await self.app(scope, receive_counted, send)
        finally:
            self.total_bytes -= n_received

    def _too_large(self) -> str:
        size = f"{self.max_bytes // MIB} MiB" if self.max_bytes >= MIB else f"{self.max_bytes} bytes"
        return f"the body is larger than {size}; send fewer rows at a time"


async def _receive_in_time(receive: Receive) -> Message:
    """Receive the next part of a body; a client that stops sending must not hold memory for ever."""
    try:
        async with asyncio.timeout(MAX_IDLE_SECONDS):
            return await receive()
    except TimeoutError:
        raise HTTPException(408, "the body did not go on", {"connection": "close"}) from None


async def _drain(receive: Receive) -> None:
    """Read and discard the rest of a body."""
    n_drained = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_DRAIN_SECONDS):
            while n_drained < MAX_DRAINED_BYTES:
                message = await receive()
                n_drained += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
