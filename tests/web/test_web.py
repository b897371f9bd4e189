"""The shared HTTP layer on a real server: size limits, access control, error responses, logs without data."""

import errno
import json
import logging
import signal
import socket
import sys
import threading
import time
from contextlib import suppress

import httpx
import pytest
from fastapi import FastAPI, Request

from oddshot.errors import CapacityError, FileError, InputError, ModelFileError, file_error
from oddshot.web.address import check_address, is_loopback, listen
from oddshot.web.logs import JsonFormatter
from oddshot.web.responses import JsonResponse
from oddshot.web.security import AccessRules
from oddshot.web.serving import build_app
from tests.processes import started
from tests.web.servers import connection, read_all, running

TOKEN = "correct-horse-battery"


class StoreError(FileError):
    """A subclass, as the service has one."""


ERRORS = {
    "input": InputError("row 3, column 'a': 'x' is not a number"),
    "model": ModelFileError("m.safetensors is damaged"),
    "full": file_error("write", "scores.csv", OSError(errno.ENOSPC, "No space left on device")),
    "capacity": CapacityError("the disk is full"),
    "denied": file_error("write", "scores.csv", PermissionError(errno.EACCES, "Permission denied")),
    "store": StoreError("database is locked"),
    "memory": MemoryError(),
    "torch": RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
    "other": RuntimeError("something else"),
}


def make_app(token=None) -> FastAPI:
    app = build_app("for tests", AccessRules("127.0.0.1", token, ["/open"]), max_body_bytes=1000)

    @app.post("/echo")
    async def echo(request: Request):
        return {"bytes": len(await request.body())}

    @app.get("/open")
    async def opened():
        return JsonResponse({"values": [1.5, float("nan"), float("inf")]})

    @app.get("/error/{name}")
    async def error(name: str):
        raise ERRORS[name]

    @app.get("/bug")
    async def bug():
        raise KeyError("secret cell")

    @app.get("/number/{n}")
    async def number(n: int):
        return {"n": n}

    return app


@pytest.fixture(scope="module")
def url():
    with running(make_app()) as address:
        yield address


def error_of(answer):
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert list(body) == ["error"]
    assert "\n" not in body["error"]
    assert "Traceback" not in body["error"]
    return body["error"]


def test_nan_and_infinity_become_null(url):
    assert httpx.get(f"{url}/open").json() == {"values": [1.5, None, None]}


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/error/input", 422, "row 3, column 'a': 'x' is not a number"),
        ("/error/model", 422, "m.safetensors is damaged"),
        ("/error/full", 507, "cannot write scores.csv: No space left on device"),
        ("/error/capacity", 507, "the disk is full"),
        ("/error/denied", 503, "cannot write scores.csv: Permission denied"),
        ("/error/store", 503, "database is locked"),
        ("/nowhere", 404, "there is no such address"),
        ("/../../etc/passwd", 404, "there is no such address"),
        ("/%2e%2e/%00", 404, "there is no such address"),
        ("/echo", 405, "this address does not take that method"),
        ("/number/x", 422, "path.n: Input should be a valid integer, unable to parse string as an integer"),
        ("/error/memory", 413, "not enough memory for this request; send fewer rows at a time"),
        ("/error/torch", 413, "not enough memory for this request; send fewer rows at a time"),
        ("/error/other", 500, "the server made a mistake; its log says where"),
        ("/bug", 500, "the server made a mistake; its log says where"),
    ],
)
def test_errors_are_one_sentence(url, path, status, sentence):
    answer = httpx.get(url + path)
    assert answer.status_code == status
    assert error_of(answer) == sentence


def test_security_headers_are_on_every_answer(url):
    for path in ("/open", "/nowhere", "/bug"):
        headers = httpx.get(url + path).headers
        assert "script" not in headers["content-security-policy"]
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


class TestBodyLimit:
    def test_up_to_the_limit(self, url):
        assert httpx.post(f"{url}/echo", content=b"x" * 1000).json() == {"bytes": 1000}

    def test_announced(self, url):
        answer = httpx.post(f"{url}/echo", content=b"x" * 1001)
        assert (answer.status_code, error_of(answer)) == (
            413,
            "the body is larger than 1000 bytes; send fewer rows at a time",
        )

    def test_chunked(self, url):
        answer = httpx.post(f"{url}/echo", content=iter([b"x" * 600, b"x" * 600, b"x" * 10**6]))
        assert answer.status_code == 413
        assert "larger than" in error_of(answer)

    def test_a_hundred_megabytes(self, url):
        answer = httpx.post(f"{url}/echo", content=bytes(100 * 10**6), timeout=30)
        assert answer.status_code == 413
        assert httpx.get(f"{url}/open").status_code == 200

    @pytest.mark.parametrize("length", ["-1", "1e3", "x", "99999999999999999999999999"])
    def test_invalid_content_length(self, url, length):
        with connection(url) as plain:
            plain.sendall(f"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n".encode())
            plain.shutdown(socket.SHUT_WR)
            answer = read_all(plain)
        assert not answer or answer.split()[1] in (b"400", b"413")
        assert httpx.get(f"{url}/open").status_code == 200


def test_a_body_that_stalls(url, monkeypatch):
    monkeypatch.setattr("oddshot.web.body_limit.MAX_IDLE_SECONDS", 0.2)
    with connection(url) as plain:
        plain.sendall(b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\nhalf")
        answer = read_all(plain)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"the body did not go on" in answer


def test_endless_headers(url):
    with connection(url) as plain, suppress(ConnectionError):  # it may be cut before all is sent
        plain.sendall(b"GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"x: y\r\n" * 50_000)
        assert read_all(plain).startswith(b"HTTP/1.1 400")
    assert httpx.get(f"{url}/open").status_code == 200


def test_half_closed_connection(url):
    with connection(url) as plain:
        plain.sendall(b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\nhalf")
        plain.shutdown(socket.SHUT_WR)
        assert b" 5" not in read_all(plain)[:12]
    assert httpx.get(f"{url}/open").status_code == 200


def test_not_http(url):
    with connection(url) as plain:
        plain.sendall(b"\x16\x03\x01\x02\x00 hello\r\n\r\n")
        assert read_all(plain).startswith(b"HTTP/1.1 400")


class TestForeignPages:
    """A page of another site must not reach a loopback address, not by a name that resolves to it either."""

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[", "a@b"])
    def test_host(self, url, host):
        answer = httpx.get(f"{url}/open", headers={"host": host})
        assert answer.status_code in (400, 403)

    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]:80", "LOCALHOST:1234"])
    def test_own_names(self, url, host):
        assert httpx.get(f"{url}/open", headers={"host": host}).status_code == 200

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://[", "file://"])
    def test_origin(self, url, origin):
        answer = httpx.get(f"{url}/open", headers={"origin": origin})
        assert (answer.status_code, error_of(answer)) == (403, "the request comes from a page of another site")

    def test_own_origin(self, url):
        assert httpx.get(f"{url}/open", headers={"origin": url}).status_code == 200


@pytest.fixture(scope="module")
def locked():
    with running(make_app(token=TOKEN)) as address:
        yield address


class TestToken:
    @pytest.mark.parametrize("header", [None, "", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer", "Bearer é"])
    def test_refused(self, locked, header):
        headers = {} if header is None else {"authorization": header.encode()}
        answer = httpx.post(f"{locked}/echo", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in error_of(answer)

    def test_accepted(self, locked):
        answer = httpx.post(f"{locked}/echo", headers={"authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200

    def test_open_paths_need_no_token(self, locked):
        assert httpx.get(f"{locked}/open").status_code == 200


class TestAddress:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
    def test_public_needs_a_token(self, host):
        with pytest.raises(InputError, match="can be reached by other machines; give a --token"):
            check_address(host, None)
        check_address(host, TOKEN)

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
    def test_loopback_needs_no_token(self, host):
        assert is_loopback(host)
        check_address(host, None)

    @pytest.mark.parametrize("token", ["", "short", "with a space in it", "ümlautümlautümlaut", "line\n" * 5])
    def test_invalid_tokens(self, token):
        with pytest.raises(InputError, match="at least 16 printable ASCII characters"):
            check_address("127.0.0.1", token)

    def test_unknown_host(self):
        with pytest.raises(InputError, match=r"host 'no\.such\.host\.invalid' is not known"):
            is_loopback("no.such.host.invalid")

    def test_taken_port(self):
        with listen("127.0.0.1", 0) as first, pytest.raises(InputError, match="address already in use"):
            listen("127.0.0.1", first.getsockname()[1])

    @pytest.mark.parametrize("port", [-1, 65536])
    def test_invalid_port(self, port):
        with pytest.raises(InputError, match=f"port {port}"):
            listen("127.0.0.1", port)


def test_logs_hold_no_data(url, monkeypatch):
    lines, logger = [], logging.getLogger("oddshot.web")
    handler = logging.Handler()
    handler.setFormatter(JsonFormatter())
    handler.emit = lambda record: lines.append(handler.format(record))
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "isEnabledFor", lambda level: True)
    httpx.get(f"{url}/number/private-cell?name=private-cell")
    httpx.get(f"{url}/private-cell")
    httpx.get(f"{url}/bug", headers={"x-name": "private-cell"})
    deadline = time.monotonic() + 5
    while len(lines) < 4 and time.monotonic() < deadline:  # the line follows the answer
        time.sleep(0.01)
    parsed = [json.loads(line) for line in lines]
    assert not any("private-cell" in line or "secret cell" in line for line in lines)
    assert [line["route"] for line in parsed if line["event"] == "request"] == ["/number/{n}", "other", "/bug"]
    failure = next(line for line in parsed if line["event"] == "failure")
    assert failure["type"] == "KeyError"
    assert failure["at"][-1].startswith("test_web.py:")


def test_messages_of_libraries_are_not_written():
    def line(name):
        return JsonFormatter().format(logging.LogRecord(name, logging.ERROR, "", 1, "cell %s", ("private",), None))

    assert json.loads(line("asyncio"))["event"] == "asyncio"
    assert json.loads(line("uvicorn.error"))["event"] == "cell private"


SLOW = """
import asyncio, sys
from oddshot.web.logs import log_to_stderr
from oddshot.web.security import AccessRules
from oddshot.web.serving import build_app, serve
app = build_app("for a test", AccessRules("127.0.0.1"), max_body_bytes=1000)
@app.get("/slow")
async def slow():
    await asyncio.sleep(1)
    return {"done": True}
log_to_stderr()
serve(app, "127.0.0.1", 0, lambda url: print(url, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_finishes_running_requests(number):
    with started([sys.executable, "-c", SLOW]) as process:
        url = process.stdout.readline().strip()
        answers = []
        client = threading.Thread(target=lambda: answers.append(httpx.get(f"{url}/slow", timeout=10)))
        client.start()
        time.sleep(0.5)
        process.send_signal(number)
        client.join()
        out, err = process.communicate(timeout=20)
    assert answers[0].json() == {"done": True}
    assert (process.returncode, out) == (0, "stopped\n")
    assert [json.loads(line)["route"] for line in err.splitlines()] == ["/slow"]
