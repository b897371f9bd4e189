"""Clients that open connections and do not use them: they are closed, and others are served."""

import logging
import resource
import subprocess
import sys
import time
from contextlib import ExitStack

import httpx
import pytest

from oddshot.web import connections
from oddshot.web.logs import RepeatLimit
from tests.web.servers import connection, read_all, running
from tests.web.test_web import make_app

HALF = b"GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
WHOLE = b"GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(scope="module")
def url():
    with running(make_app()) as address:
        yield address


@pytest.mark.parametrize("sent", [b"", HALF, WHOLE + HALF])
def test_headers_that_do_not_end(url, monkeypatch, sent):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    started = time.monotonic()
    with connection(url) as plain:
        plain.sendall(sent)
        for _ in range(3):  # drop by drop, which does not prolong it
            time.sleep(0.1)
            plain.sendall(b"x" if sent else b"")
        read_all(plain)
    assert 0.4 < time.monotonic() - started < (6.5 if sent.startswith(WHOLE) else 3)


def test_a_request_may_take_longer_than_its_headers(url, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    with connection(url) as plain:
        plain.sendall(b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 8\r\n\r\nhalf")
        time.sleep(0.8)
        plain.sendall(b"half")
        assert b'{"bytes":8}' in read_all(plain)


def test_a_new_connection_takes_the_place_of_the_one_that_waits_longest(url, monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 8)
    with ExitStack() as stack:
        waiting = [stack.enter_context(connection(url)) for _ in range(6)]
        for one in waiting:
            one.sendall(HALF)
        time.sleep(0.2)
        assert httpx.get(f"{url}/open").status_code == 200
        assert read_all(waiting[0]) == b""
        waiting[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            waiting[-1].recv(1)


def test_connections_with_requests_are_not_closed_for_new_ones(url, monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 8)
    with ExitStack() as stack:
        busy = [stack.enter_context(connection(url)) for _ in range(6)]
        for one in busy:
            one.sendall(b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 8\r\n\r\nhalf")
        time.sleep(0.2)
        answer = httpx.get(f"{url}/open")
        assert (answer.status_code, answer.json()) == (503, {"error": "too many connections; try again"})
        for one in busy:
            one.sendall(b"half")
            assert b'{"bytes":8}' in read_all(one)


SERVER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from oddshot.web import connections
from oddshot.web.logs import log_to_stderr
from oddshot.web.serving import serve
from tests.web.test_web import make_app
connections.RESERVED_FILES = int(sys.argv[1])
log_to_stderr()
serve(make_app(), "127.0.0.1", 0, lambda url: print(url, flush=True))
"""


@pytest.mark.parametrize("reserved", [connections.RESERVED_FILES, -1000])  # -1000: no descriptor is left for another
def test_more_connections_than_files(tmp_path, reserved):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit[0], min(limit[1], 1024)), limit[1]))
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-c", SERVER, str(reserved)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        url = process.stdout.readline().strip()
        with ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(connection(url)).sendall(HALF)
            wait = 2 if reserved > 0 else connections.HEADER_SECONDS + 5
            started = time.monotonic()
            assert httpx.get(f"{url}/open", timeout=wait).status_code == 200
            assert time.monotonic() - started < wait
            log_bytes = (tmp_path / "log").stat().st_size
            assert log_bytes < 20_000
    finally:
        process.kill()
        process.wait()


def test_a_repeated_message_is_written_once_with_their_number():
    now = [0.0]
    limit = RepeatLimit(lambda: now[0])

    def passes(message, level=logging.ERROR):
        record = logging.LogRecord("asyncio", level, "", 1, message, (), None)
        return record.__dict__.get("fields", {}) if limit.filter(record) else None

    assert passes("a") == {}
    assert [passes("a"), passes("a")] == [None, None]
    assert passes("b") == {}
    assert [passes("request", logging.INFO) for _ in range(3)] == [{}] * 3
    now[0] = 11.0
    assert passes("a") == {"left_out": 2}
    assert passes("a") is None
