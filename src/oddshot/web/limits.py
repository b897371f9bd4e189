"""No body larger than allowed, whether its length is announced or not."""

import asyncio
from contextlib import suppress

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddshot.web.answers import refuse

DRAINED_BYTES = 256 * 2**20  # of a refused body that are read and dropped, so that the client comes to read the answer
DRAINED_SECONDS = 5.0
MIB = 2**20


class BodyLimit:
    """Refuses bodies of more than most_bytes with 413, also those sent in chunks of unknown number."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self.app, self.most_bytes = app, most_bytes

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
        taken = 0

        async def count() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most_bytes:
                await _drain(receive)
                raise HTTPException(413, self.sentence, {"connection": "close"})
            return message

        await self.app(scope, count, send)

    @property
    def sentence(self) -> str:
        """What a client is told."""
        size = f"{self.most_bytes // MIB} MiB" if self.most_bytes >= MIB else f"{self.most_bytes} bytes"
        return f"the body is larger than {size}; send fewer rows at a time"


async def _drain(receive: Receive) -> None:
    drained = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAINED_SECONDS):
            while drained < DRAINED_BYTES:
                message = await receive()
                drained += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
