"""Several workers on one address share detectors and metrics, are restarted, and stop together."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.service.samples import NAMES, adapted, post_json

ROW = [[0.1, 0.2, 0.3]]


@pytest.fixture
def service():
    command = [sys.executable, "-m", "oddshot", "serve", "--port", "0", "--workers", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    yield process, process.stdout.readline().split()[-1]
    process.kill()


def children(pid):
    return [int(part) for part in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers(pid):
    return [one for one in children(pid) if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def score(url, name):
    with httpx.Client(base_url=url, timeout=30) as client:
        return post_json(client, "/v1/score", {"id": name, "columns": NAMES, "rows": ROW})


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_two_workers(service):
    process, url = service
    with httpx.Client(base_url=url, timeout=30) as client:
        name = adapted(client)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: score(url, name), range(60)))
    assert {answer.status_code for answer in answers} == {200}  # whichever worker was asked
    assert len({answer.json()["threshold"] for answer in answers}) == 1

    time.sleep(2.5)  # metrics are shared every second
    texts = [httpx.get(f"{url}/metrics").text for _ in range(5)]
    for text in texts:
        assert 'oddshot_requests_total{route="/v1/score",status="200"} 60' in text
        assert "oddshot_adaptations_total 1" in text

    before = workers(process.pid)
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while len(set(workers(process.pid)) - {before[0]}) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert {score(url, name).status_code for _ in range(10)} == {200}

    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 0
    assert "started anew" in err
    assert not any(Path(f"/proc/{one}").exists() for one in before)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_workers_do_not_outlive_their_parent(service):
    process, _ = service
    left = workers(process.pid)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{one}").exists() for one in left) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{one}").exists() for one in left)
