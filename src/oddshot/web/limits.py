"""No body larger than allowed, whether its length is announced or not."""

import asyncio
from contextlib import suppress

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddshot.web.answers import refuse

DRAINED_BYTES = 256 * 2**20  # of a refused body that are read and dropped, so that the client comes to read the answer
DRAINED_SECONDS = 5.0
SILENT_SECONDS = 30.0  # that a body may take until it goes on
MIB = 2**20


class BodyLimit:
    """Refuses bodies of more than most_bytes with 413, also those sent in chunks of unknown number.

    most_at_once: bytes of all bodies under way together; beyond, 429.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, most_at_once: int | None = None) -> None:
        self.app, self.most_bytes, self.most_at_once = app, most_bytes, most_at_once
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting what it brings."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self.most_bytes:
            await _drain(receive)
            await refuse(413, self.sentence, {"connection": "close"})(scope, receive, send)
            return
        taken, whole = 0, False

        async def count() -> Message:
            nonlocal taken, whole
            message = await (receive() if whole else _soon(receive))
            whole = not message.get("more_body", False)
            size = len(message.get("body", b""))
            taken += size
            self.under_way += size
            busy = self.most_at_once is not None and self.under_way > self.most_at_once
            if taken <= self.most_bytes and not busy:
                return message
            if not whole:
                await _drain(receive)
            if taken > self.most_bytes:
                raise HTTPException(413, self.sentence, {"connection": "close"})
            raise HTTPException(429, "too many rows are under way; try again", {"retry-after": "1"})

        try:
            await self.app(scope, count, send)
        finally:
            self.under_way -= taken

    @property
    def sentence(self) -> str:
        """What a client is told."""
        size = f"{self.most_bytes // MIB} MiB" if self.most_bytes >= MIB else f"{self.most_bytes} bytes"
        return f"the body is larger than {size}; send fewer rows at a time"


async def _soon(receive: Receive) -> Message:
    """A client that stops in the midst of a body must not hold its memory for ever."""
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            return await receive()
    except TimeoutError:
        raise HTTPException(408, "the body did not go on", {"connection": "close"}) from None


async def _drain(receive: Receive) -> None:
    drained = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAINED_SECONDS):
            while drained < DRAINED_BYTES:
                message = await receive()
                drained += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
