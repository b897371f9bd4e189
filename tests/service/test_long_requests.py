"""Long requests end in time and do not stop short ones."""

import asyncio
import time

import httpx
import numpy as np
import pyarrow as pa

from oddshot.data.tables.written_dates import detect_dates
from oddshot.service import detector_service
from oddshot.service.detector_service import BusyError, DetectorService
from oddshot.service.limits import ServiceLimits
from oddshot.service.rows import rows_from_json
from oddshot.service.support import make_support
from oddshot.universal.shipped import load_universal
from tests.fleets import labels
from tests.service.samples import NAMES, number_support, post_json, service
from tests.web.servers import running

LIMITS = ServiceLimits()


def date(number):
    return f"{number % 28 + 1}.{number % 12 + 1}.20{number % 30:02d} 1{number % 10}:{number % 60:02d}:30.{number:06d}"


def date_rows(n, width, limits=LIMITS):
    """n · width different dates."""
    cells = [[date(i * width + j) for j in range(width)] for i in range(n)]
    return rows_from_json(cells, [f"c{j}" for j in range(width)], limits, "rows")


def date_support(n, width):
    return make_support(date_rows(n, width), labels(n), None, LIMITS)


def number_support_of(seed):
    rows = rows_from_json(np.random.default_rng(seed).normal(size=(12, 3)).tolist(), NAMES, LIMITS, "rows")
    return make_support(rows, labels(12), None, LIMITS)


async def longest_gap(work):
    """The longest time in which the event loop did nothing else while the work was done, in seconds."""
    task, gap = asyncio.ensure_future(work), 0.0
    while not task.done():
        started = time.perf_counter()
        await asyncio.sleep(0.002)
        gap = max(gap, time.perf_counter() - started)
    await task
    return gap


def test_the_event_loop_goes_on_while_many_dates_are_scored():
    async def main():
        one = DetectorService(load_universal(), LIMITS)
        cached = await one.adapt(date_support(30, 300), store=False)
        rows = date_rows(100, 300)
        started = time.perf_counter()
        gap = await longest_gap(one.score(cached, rows))
        seconds = time.perf_counter() - started
        one.close()
        return gap, seconds

    gap, seconds = asyncio.run(main())
    assert gap < 0.5 * seconds  # in the event loop, encoding alone would take nearly all of it


def test_a_short_adaptation_does_not_wait_for_a_long_one():
    async def main():
        one = DetectorService(load_universal(), LIMITS)
        long = asyncio.ensure_future(one.adapt(date_support(100, 400), store=False))
        await asyncio.sleep(0.05)
        short = await one.adapt(number_support_of(1), store=False)
        is_long_done = long.done()
        await long
        one.close()
        return short, is_long_done

    short, is_long_done = asyncio.run(main())
    assert short.summary["normal"] > 0
    assert not is_long_done


def test_adaptations_that_wait_are_limited():
    async def main():
        one = DetectorService(load_universal(), ServiceLimits(max_pending_adaptations=2))
        work = [one.adapt(number_support_of(seed), store=False) for seed in range(5)]
        results = await asyncio.gather(*work, return_exceptions=True)
        one.close()
        return results

    results = asyncio.run(main())
    assert sum(isinstance(one, BusyError) for one in results) == 3


def test_a_request_that_takes_too_long_is_a_503(monkeypatch):
    def slow(*arguments):
        time.sleep(1)
        return adapt(*arguments)

    adapt = detector_service.adapt
    monkeypatch.setattr(detector_service, "adapt", slow)
    limits = ServiceLimits(max_seconds=0.3)
    with running(service(limits=limits)) as url, httpx.Client(base_url=url, timeout=30) as client:
        answer = post_json(client, "/v1/adapt", number_support())
        assert answer.status_code == 503
        assert answer.json()["error"].startswith("the request takes longer than 0.3 seconds")
        assert answer.headers["retry-after"] == "1"
        time.sleep(1)  # the work goes on, so that the next one finds it done
        assert post_json(client, "/v1/adapt", number_support()).status_code == 200


def test_many_dates_are_read_quickly():
    text = pa.array([date(number) for number in range(100_000)])
    started = time.process_time()
    assert detect_dates(text).order == "dmy"
    assert time.process_time() - started < 2
