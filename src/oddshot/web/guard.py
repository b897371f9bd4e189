"""Who may enter: no page of a foreign site on a loopback address, and nobody without the token where there is one."""

import hmac
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddshot.web.address import is_loopback
from oddshot.web.answers import JsonAnswer, refuse

NO_PAGE = "default-src 'none'; frame-ancestors 'none'"
PAGE = (  # scripts and styles in files of our own only; images also as data
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class SecurityHeaders:
    """Adds to every answer what browsers should refuse to do with it. policy: for its content."""

    def __init__(self, app: ASGIApp, policy: str = NO_PAGE) -> None:
        self.app = app
        headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }
        self.pairs = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; headers that the answer has already are kept."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in self.pairs if pair[0] not in present)]
            await send(message)

        await self.app(scope, receive, with_headers)


class Guard:
    """Refuses foreign hosts and origins and wrong tokens.

    host: the address that is listened on. A page elsewhere can make a browser send requests to a loopback address, by
    a name of its own that resolves to it: there only names of the loopback are taken. open_paths: need no token.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None = None, open_paths: Collection[str] = ()) -> None:
        self.app, self.open_paths = app, frozenset(open_paths)
        self.names = frozenset({*_LOOPBACK_NAMES, host.lower()}) if is_loopback(host) else None
        self.expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refusal = self._refusal(scope["path"], Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> JsonAnswer | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.names is not None and _name(host) not in self.names:
            return refuse(403, "the Host header names another host; use the address that the server printed")
        if origin is not None and _authority(origin) != host.lower():
            return refuse(403, "the request comes from a page of another site")
        if self.expected is None or path in self.open_paths:
            return None
        given = headers.get("authorization", "").encode("latin-1", "replace")
        if hmac.compare_digest(given, self.expected):
            return None
        return refuse(401, "a token is needed: Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"})


def _name(host: str) -> str | None:
    """The Host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _authority(origin: str) -> str:
    """Host and port of an Origin header; "" for "null" and anything else."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
