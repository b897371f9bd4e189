"""A real server in a thread, for tests of whatever speaks HTTP."""

import socket
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from oddshot.web.address import listen, url_of
from oddshot.web.serving import make_server


@contextmanager
def running(app):
    """Serve the application on a free port; yields its URL, stops it at the end."""
    server = make_server(app)
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started:
            assert time.monotonic() < deadline, "the server did not start"
            assert thread.is_alive(), "the server stopped at its start"
            time.sleep(0.01)
        try:
            yield url_of(listening)
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive(), "the server did not stop"


@contextmanager
def connection(url):
    """A plain socket to the server."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as plain:
        yield plain


def read_all(plain):
    """What the server sends until it closes the connection."""
    parts = []
    while part := plain.recv(65536):
        parts.append(part)
    return b"".join(parts)
