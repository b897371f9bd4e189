"""Where to listen, and whether that is safe."""

import ipaddress
import re
import socket

from oddshot.errors import InputError

SHORTEST_TOKEN = 16
WAITING = 2048  # connections that wait to be taken


def check_address(host: str, token: str | None) -> None:
    """Refuse an address that other machines can reach unless a token is asked for, and a token that is none."""
    if token is not None and not re.fullmatch(rf"[!-~]{{{SHORTEST_TOKEN},}}", token):
        raise InputError(f"the token must be at least {SHORTEST_TOKEN} printable ASCII characters without spaces")
    if token is None and not is_loopback(host):
        raise InputError(f"{host} can be reached by other machines; give a --token, or listen on 127.0.0.1")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        pass
    return all(ipaddress.ip_address(address).is_loopback for _, address in _resolve(host, 0))


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 for any free one. A taken or foreign address is one line."""
    if not 0 <= port <= 65535:
        raise InputError(f"port {port}; there are ports from 0 (any free one) to 65535")
    family, address = _resolve(host, port)[0]
    # Named explicitly: only then does asyncio send small answers at once (TCP_NODELAY), 40 ms earlier.
    server = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen(WAITING)
    except OSError as error:
        server.close()
        raise InputError(f"cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}") from None
    return server


def url_of(server: socket.socket) -> str:
    """Where a browser or client finds the socket."""
    host, port = server.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _resolve(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f"host {host!r} is not known") from None
    return [(family, str(address[0]).split("%")[0]) for family, _, _, _, address in found]
