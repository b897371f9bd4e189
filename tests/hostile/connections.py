"""Sixteen clients at once, with slow and broken ones among them: good requests are answered, and quickly."""

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np

from tests.hostile.log import TrialLog

N_CLIENTS, N_BAD_CLIENTS = 16, 4
MAX_ANSWER_SECONDS = 5.0  # on a busy machine
SUPPORT = {"columns": ["a", "b"], "rows": [[0, 1], [1, 0], [0.5, 0.2], [9, 9]], "labels": [0, 0, 0, 1]}


def try_connections(log: TrialLog, seed: int, seconds: float) -> None:
    command = [sys.executable, "-m", "oddshot", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    found = re.search(r"http://([\w.]+):(\d+)", process.stdout.readline())
    assert found is not None
    address, stop = (found[1], int(found[2])), time.monotonic() + seconds
    results: list[str] = []
    threads = [threading.Thread(target=_good_client, args=(address, stop, results)) for _ in range(N_CLIENTS)]
    threads += [
        threading.Thread(target=_bad_client, args=(address, stop, np.random.default_rng([seed, k])))
        for k in range(N_BAD_CLIENTS)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        process.kill()
        process.communicate()
    with log.door("connections") as attempt:
        for result in results:
            attempt("request", lambda result=result: _check(result))


def _check(result: str) -> None:
    assert not result, result


def _good_client(address: tuple[str, int], stop: float, results: list[str]) -> None:
    connection = http.client.HTTPConnection(*address, timeout=30)
    body = json.dumps({"support": SUPPORT, "columns": ["a", "b"], "rows": [[0.1, 0.2]] * 5})
    while time.monotonic() < stop:
        started = time.monotonic()
        try:
            connection.request("POST", "/v1/score", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            took = time.monotonic() - started
            good = answer.status == 200 and took < MAX_ANSWER_SECONDS
            results.append("" if good else f"{answer.status} after {took:.1f} s: {text[:100]!r}")
        except (OSError, http.client.HTTPException) as error:
            results.append(f"{type(error).__name__}: {error}")
            connection.close()


def _bad_client(address: tuple[str, int], stop: float, rng: np.random.Generator) -> None:
    """Half a header, half a body, rubbish, or nothing at all, then the end, at once or after a while."""
    pieces = (
        b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"",
    )
    while time.monotonic() < stop:
        with suppress(OSError), socket.create_connection(address, timeout=5) as open_socket:
            open_socket.sendall(pieces[rng.integers(len(pieces))])
            time.sleep(float(rng.exponential(0.2)))
