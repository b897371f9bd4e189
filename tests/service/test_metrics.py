"""Metrics of several workers are summed, and a failed write does not end the sharing."""

import asyncio
import json
import logging
import time
from collections import Counter

from oddshot.service import detector_service
from oddshot.service.detector_service import DetectorService
from oddshot.service.limits import ServiceLimits
from oddshot.service.metrics import Metrics, MetricsFolder
from oddshot.universal.shipped import load_universal


def test_samples_of_other_workers_are_added(tmp_path):
    first, second = MetricsFolder(tmp_path, 0), MetricsFolder(tmp_path, 1)
    first.write(Counter({"rows_scored": 5, "requests /v1/score 200": 2}))
    second.write(Counter({"rows_scored": 100}))
    own = Metrics()
    own.add("rows_scored", 7)
    lines = own.text(second.read_others()).splitlines()
    assert "oddshot_rows_scored_total 12" in lines  # 7 of its own and 5 of the first, without the file of the second
    assert 'oddshot_requests_total{route="/v1/score",status="200"} 2' in lines


def test_sharing_goes_on_after_failed_writes(tmp_path, monkeypatch, caplog):
    """Two outages, each of several writes: each is logged once, and the file is written again after each."""
    monkeypatch.setattr(detector_service, "METRICS_INTERVAL_SECONDS", 0.01)
    folder, file = tmp_path / "metrics", tmp_path / "metrics" / "metrics-0.json"
    attempts = []

    class CountingFolder(MetricsFolder):
        def write(self, samples):
            attempts.append(folder.exists())
            super().write(samples)

    service = DetectorService(load_universal(), ServiceLimits(), metrics_folder=CountingFolder(folder, 0))

    async def fail_and_recover():
        n_attempts = len(attempts)
        await until(lambda: len(attempts) >= n_attempts + 5)
        folder.mkdir()
        service.metrics.add("rows_scored", 3)
        expected = service.metrics.samples["rows_scored"]
        await until(lambda: file.exists() and json.loads(file.read_text())["rows_scored"] == expected)

    async def run():
        publishing = asyncio.create_task(service.publish_metrics())
        await fail_and_recover()
        folder.rename(tmp_path / "moved")
        await fail_and_recover()
        assert not publishing.done()
        publishing.cancel()

    with caplog.at_level(logging.ERROR, "oddshot.web"):
        asyncio.run(run())
    service.close()
    assert [record.message for record in caplog.records] == ["metrics cannot be shared with the other workers"] * 2


async def until(condition, seconds=20):
    """Wait until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)
