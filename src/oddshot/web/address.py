"""Addresses to listen on, and the check that a public one is protected by a token."""

import errno
import ipaddress
import re
import socket

from oddshot.errors import InputError

MIN_TOKEN_CHARACTERS = 16
MAX_PENDING_CONNECTIONS = 2048  # the backlog of the listening socket


def check_address(host: str, token: str | None) -> None:
    """Refuse a weak token, and an address that other machines can reach when there is no token."""
    if token is not None and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN_CHARACTERS},}}", token):
        raise InputError(f"the token must be at least {MIN_TOKEN_CHARACTERS} printable ASCII characters without spaces")
    if token is None and not is_loopback(host):
        raise InputError(f"{host} can be reached by other machines; give a --token, or listen on 127.0.0.1")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address. A host name must resolve to loopback addresses only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        pass
    return all(ipaddress.ip_address(address).is_loopback for _, address in _resolve(host, 0))


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free port. An address that cannot be bound is an InputError."""
    if not 0 <= port <= 65535:
        raise InputError(f"port {port}; there are ports from 0 (any free one) to 65535")
    family, address = _resolve(host, port)[0]
    # The protocol is named because asyncio sets TCP_NODELAY only then; without it small responses wait 40 ms.
    server = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen(MAX_PENDING_CONNECTIONS)
    except OSError as error:
        server.close()
        reason = (error.strerror or str(error)).lower()
        hint = "; choose another --port, or 0 for any free one" if error.errno == errno.EADDRINUSE else ""
        raise InputError(f"cannot listen on {host} port {port}: {reason}{hint}") from None
    return server


def url_of(server: socket.socket) -> str:
    """The URL at which a browser or client reaches the socket."""
    host, port = server.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _resolve(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f"host {host!r} is not known") from None
    return [(family, str(address[0]).split("%")[0]) for family, _, _, _, address in addresses]
