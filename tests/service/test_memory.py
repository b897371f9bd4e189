"""The memory of cached detectors stays within its bound, as the operating system counts it."""

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, gc, sys
from pathlib import Path
import numpy as np, pyarrow as pa
from threadpoolctl import threadpool_limits
from oddshot.service.detector_service import DetectorService
from oddshot.service.limits import ServiceLimits
from oddshot.service.rows import rows_from_arrow
from oddshot.service.support import make_support
from oddshot.universal.shipped import load_universal

threadpool_limits(1)
MIB = 2**20
LABELS = np.array([0, 0, 0, 0, 0, 1], np.int8)

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def rows(width, n, seed):
    X = np.random.default_rng(seed).normal(size=(n, width)) + np.arange(width)
    table = pa.table({f"column {j}": X[:, j] for j in range(width)})
    return rows_from_arrow(table, ServiceLimits(), "rows")

async def use(service, width, seed):
    cached = await service.adapt(make_support(rows(width, 6, seed), LABELS, None, service.limits), store=False)
    await service.score(cached, rows(width, 100, seed))

async def main(bound):
    service = DetectorService(load_universal(), ServiceLimits(max_cached_bytes=bound * MIB))
    warm = DetectorService(load_universal(), ServiceLimits(max_cached_detectors=1))
    for width in (20, 999, 20):  # what is needed once for all: libraries, buffers
        await use(warm, width, 0)
    warm.close()
    gc.collect()
    before = resident()
    most = 0
    for seed, width in enumerate(np.linspace(20, 999, 30).astype(int)):
        await use(service, int(width), seed)
        most = max(most, resident() - before)
    print(most / MIB, service._cache._n_bytes / MIB, len(service._cache), flush=True)

asyncio.run(main(int(sys.argv[1])))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_the_bound_holds_for_the_resident_memory():
    bound = 400
    command = [sys.executable, "-c", PROGRAM, str(bound)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert output.returncode == 0, output.stderr
    resident, counted, n_detectors = map(float, output.stdout.split())
    assert 3 < n_detectors < 40
    assert 0.8 * bound < counted <= bound
    assert 0.8 * bound < resident < 1.2 * bound
