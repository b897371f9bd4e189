"""A FastAPI application with all middleware, and a server that finishes its requests before it stops."""

import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

import oddshot
from oddshot.web.address import MAX_PENDING_CONNECTIONS, listen, url_of
from oddshot.web.body_limit import BodyLimit
from oddshot.web.connections import GuardedConnection
from oddshot.web.logs import RequestLog, RequestObserver
from oddshot.web.responses import JsonResponse, add_error_handlers
from oddshot.web.security import API_POLICY, AccessGuard, AccessRules, SecurityHeaders

MAX_SHUTDOWN_SECONDS = 20  # for the requests that are running when the signal to stop arrives
_STOPPING = (
    (signal.SIGINT, signal.SIGTERM) if sys.platform == "win32" else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
)


def build_app(
    description: str,
    access: AccessRules,
    *,
    max_body_bytes: int,
    max_total_body_bytes: int | None = None,
    policy: str = API_POLICY,
    on_request: RequestObserver | None = None,
    **fastapi_options: Any,
) -> FastAPI:
    """A FastAPI application without routes, with access control, size limits, logs and one-sentence error responses.

    max_body_bytes limits one request body, max_total_body_bytes all bodies being received at the same time.
    policy is the value of the Content-Security-Policy header.
    """
    app = FastAPI(
        title="oddshot",
        description=description,
        version=oddshot.__version__,
        docs_url=None,  # its page loads scripts from other sites
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=JsonResponse,
        **fastapi_options,
    )
    add_error_handlers(app)
    # The middleware added last handles a request first.
    app.add_middleware(BodyLimit, max_bytes=max_body_bytes, max_total_bytes=max_total_body_bytes)
    app.add_middleware(AccessGuard, rules=access)
    app.add_middleware(RequestLog, on_request=on_request)
    app.add_middleware(SecurityHeaders, policy=policy)
    return app


class FairServer(uvicorn.Server):
    """Accepts one connection at a time, so that processes that share a socket get equally many.

    When no more files can be opened, it also tries only once a second instead of once for every pending connection.
    asyncio accepts up to `backlog` connections at once. The server is therefore configured with a backlog of 1, and
    the backlog of the sockets is raised again after the start.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(MAX_PENDING_CONNECTIONS)


def make_server(app: FastAPI) -> uvicorn.Server:
    """A server for `run(sockets=[...])` in any thread; other processes may share its sockets."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        http=GuardedConnection,  # h11 limits the length of headers; the faster httptools does not
        loop="asyncio",
        ws="none",
        timeout_graceful_shutdown=MAX_SHUTDOWN_SECONDS,
        backlog=1,
    )
    return FairServer(config)


def serve(app: FastAPI, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal to end, then finish the running requests and return. on_ready is called with the URL."""
    with listen(host, port) as listening:
        on_ready(url_of(listening))
        _run_until_stopped(make_server(app), listening)


def _run_until_stopped(server: uvicorn.Server, listening: socket.socket) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        """Stop at SIGHUP. At the others uvicorn stops by itself, and raises them again for this handler."""
        server.should_exit = True

    numbers = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, stop) for number in numbers}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
