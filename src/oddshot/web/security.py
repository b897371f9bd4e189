"""Middleware for access control: host, origin and token checks, and security headers."""

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddshot.web.address import is_loopback
from oddshot.web.responses import JsonResponse, error_response

API_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = (  # scripts and styles from the app's own files only; images also as data URLs
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class AccessRules:
    """Who may send requests."""

    host: str  # the address that the server listens on
    token: str | None = None  # the bearer token that clients must send; None for no token
    open_paths: Collection[str] = ()  # paths that need no token


class SecurityHeaders:
    """Adds the headers with which browsers restrict what a response may do.

    policy: the value of the Content-Security-Policy header.
    """

    def __init__(self, app: ASGIApp, policy: str = API_POLICY) -> None:
        self.app = app
        headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; headers that the response has already are kept."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in self.headers if pair[0] not in present)]
            await send(message)

        await self.app(scope, receive, send_with_headers)


class AccessGuard:
    """Refuses requests with a foreign Host or Origin header, or without the token.

    A web page elsewhere can make a browser send requests to a loopback address through a host name of its own that
    resolves to it (DNS rebinding). On a loopback address only loopback names are therefore accepted as Host.
    """

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self.app, self.open_paths = app, frozenset(rules.open_paths)
        self.allowed_hosts = frozenset({*_LOOPBACK_NAMES, rules.host.lower()}) if is_loopback(rules.host) else None
        self.expected_authorization = None if rules.token is None else f"Bearer {rules.token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or send an error response."""
        refusal = self._refusal(scope["path"], Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> JsonResponse | None:
        """The error response for a request that is not allowed, or None."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.allowed_hosts is not None and _host_name(host) not in self.allowed_hosts:
            return error_response(403, "the Host header names another host; use the address that the server printed")
        if origin is not None and _host_and_port(origin) != host.lower():
            return error_response(403, "the request comes from a page of another site")
        if self.expected_authorization is None or path in self.open_paths:
            return None
        authorization = headers.get("authorization", "").encode("latin-1", "replace")
        if hmac.compare_digest(authorization, self.expected_authorization):
            return None
        message = "the token is missing or wrong; send the header Authorization: Bearer TOKEN"
        return error_response(401, message, {"www-authenticate": "Bearer"})


def _host_name(host_header: str) -> str | None:
    """The Host header without its port; None if it is malformed."""
    try:
        return urlsplit(f"//{host_header}").hostname
    except ValueError:
        return None


def _host_and_port(origin: str) -> str:
    """Host and port of an Origin header; "" for "null" and for malformed ones."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
