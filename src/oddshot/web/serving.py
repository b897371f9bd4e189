"""An application behind its doors, and a server that stops without dropping a request."""

import signal
import socket
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

import oddshot
from oddshot.web.address import WAITING, listen, url_of
from oddshot.web.answers import JsonAnswer, answer_mistakes
from oddshot.web.guard import NO_PAGE, Guard, SecurityHeaders
from oddshot.web.limits import BodyLimit
from oddshot.web.logs import OnRequest, RequestLog

GRACE_SECONDS = 20  # that requests under way may take after the signal to stop


def build_app(
    title: str,
    description: str,
    *,
    host: str,
    most_bytes: int,
    most_at_once: int | None = None,
    token: str | None = None,
    policy: str = NO_PAGE,
    open_paths: Collection[str] = (),
    on_request: OnRequest | None = None,
    **settings: Any,
) -> FastAPI:
    """A FastAPI application without routes: guarded, limited, logged, its mistakes answered in one sentence.

    most_bytes: of a body; most_at_once: of all bodies under way. policy: the content security policy of pages.
    open_paths: need no token. settings: of FastAPI.
    """
    app = FastAPI(
        title=title,
        description=description,
        version=oddshot.__version__,
        docs_url=None,  # its page takes scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=JsonAnswer,
        **settings,
    )
    answer_mistakes(app)
    app.add_middleware(
        BodyLimit, most_bytes=most_bytes, most_at_once=most_at_once
    )  # the last added is the first to see a request
    app.add_middleware(Guard, host=host, token=token, open_paths=open_paths)
    app.add_middleware(RequestLog, on_request=on_request)
    app.add_middleware(SecurityHeaders, policy=policy)
    return app


class FairServer(uvicorn.Server):
    """Takes one connection at a time, so that processes on the same socket get as many each.

    asyncio takes as many at once as may wait for it, uvicorn's `backlog`; how many may wait is set again afterwards.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(WAITING)


def make_server(app: FastAPI, fair: bool = False) -> uvicorn.Server:
    """A server for `run(sockets=[...])`, in this thread or another. fair: it shares the sockets with others."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        http="h11",  # bounds the length of headers; the faster httptools does not
        loop="asyncio",
        ws="none",
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=1 if fair else WAITING,
    )
    return FairServer(config) if fair else uvicorn.Server(config)


def serve(app: FastAPI, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, then finish what is under way and return. on_ready: told the address."""
    with listen(host, port) as listening:
        on_ready(url_of(listening))
        _run_until_stopped(make_server(app), listening)


def _run_until_stopped(server: uvicorn.Server, listening: socket.socket) -> None:
    # uvicorn raises the signal that stopped it once more, for whoever had a handler: nothing is left to do then.
    before = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Stopped already."""
