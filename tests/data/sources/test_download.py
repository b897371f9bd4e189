"""Servers that redirect elsewhere, send without end, hardly send, or send escape codes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from oddshot.data.sources import download as module
from oddshot.data.sources.download import download
from oddshot.errors import CapacityError, InputError


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/file"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def fetch(url: str, folder: Path) -> None:
    download(url, folder / "file", folder / "file.part", progress=False)


def test_redirects_lead_to_the_web_only(tmp_path: Path) -> None:
    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "ftp://127.0.0.1/file")
        handler.end_headers()

    with serving(redirect) as url, pytest.raises(InputError, match="/file: redirects to ftp://127"):
        fetch(url, tmp_path)
    assert not (tmp_path / "file").exists()


def test_the_words_of_a_server_cannot_steer_the_terminal(tmp_path: Path) -> None:
    def refuse(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.0 500 \x1b[31mred\r\n\r\n")

    with serving(refuse) as url, pytest.raises(InputError, match=r"the server answers 500 \\x1b\[31mred$"):
        fetch(url, tmp_path)


def test_a_server_that_sends_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10_000)

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(bytes(20_000))

    with serving(send) as url, pytest.raises(CapacityError, match="/file: sends more than 10000 bytes; refused"):
        fetch(url, tmp_path)
    assert not (tmp_path / "file").exists()


def test_a_server_that_hardly_sends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.2)
    stop = threading.Event()

    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(200):
            if stop.wait(0.05):
                return
            handler.wfile.write(b".")

    with serving(trickle) as url:
        with pytest.raises(InputError, match=r"less than 61440 bytes in 0\.2 seconds.*bytes are kept"):
            fetch(url, tmp_path)
        stop.set()
