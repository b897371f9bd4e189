"""What happens to a real bench in a process of its own: kill -9, a second bench, a full disk."""

import os
import re
import resource
import signal
import sys
import time

import numpy as np
import pytest

from oddshot.bench.store import open_store, read_store
from tests.bench.samples import bench, write_plugin

N_SPLITS = 60
ACKNOWLEDGED = re.compile(r"^toy split (\d+) (\w+): AUC", re.MULTILINE)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")


def start(folder, *more, **options):
    arguments = [
        "run",
        "--protocol",
        "published",
        "--store",
        folder / "results.db",
        "--datasets",
        "toy",
        "--device",
        "cpu",
    ]
    return bench(*arguments, "--methods", "quick", "--plugin", write_plugin(folder), *more, **options)


def killed_after(process, lines, seconds):
    """The text of a bench that is killed some seconds after its first lines, and with it its workers."""
    seen = [process.stderr.readline() for _ in range(lines)]
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    text = "".join(seen) + process.communicate()[1]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _alive(process.pid):
        time.sleep(0.1)
    assert not _alive(process.pid)
    return text


def test_killed_at_random_moments_it_loses_nothing_and_repeats_nothing(tmp_path):
    rng = np.random.default_rng()
    slow = ("--splits", N_SPLITS, "--set", "quick.pause=0.02")
    acknowledged = []
    for workers in (1, 2, 1):
        process = start(tmp_path, *slow, "--workers", workers, start_new_session=True)
        text = killed_after(process, lines=2, seconds=rng.uniform(0, 0.3))
        acknowledged += ACKNOWLEDGED.findall(text)
        kept = [(str(found.split), found.method) for found in read_store(tmp_path / "results.db")]
        assert len(kept) == len(set(kept))
        assert set(acknowledged) <= set(kept)
    process = start(tmp_path, *slow, "--workers", 1)
    _, text = process.communicate()
    assert process.returncode == 0, text
    acknowledged += ACKNOWLEDGED.findall(text)
    assert len(acknowledged) == len(set(acknowledged))  # no run twice
    found = read_store(tmp_path / "results.db")
    assert sorted(run.split for run in found) == list(range(N_SPLITS))
    assert {run.status for run in found} == {"done"}


def _alive(group):
    """Whether any process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_second_bench_ends_in_one_line(tmp_path):
    with open_store(tmp_path / "results.db"):
        process = start(tmp_path, "--splits", 1)
        out, text = process.communicate()
    assert process.returncode == 2
    assert out == ""
    assert re.fullmatch(r"oddshot: store .*results.db is in use by another bench \(process \d+ on .*\).*\n", text)


def test_a_full_disk_ends_in_one_line_and_what_was_finished_is_kept(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    more = ("--splits", 200, "--workers", 1, "--quiet")
    process = start(tmp_path, *more, preexec_fn=limit)
    _, text = process.communicate()
    assert process.returncode == 1  # a CapacityError
    assert re.fullmatch(r"oddshot: store .*results.db cannot be used: .*; the runs in it are kept, .*\n", text)
    kept = read_store(tmp_path / "results.db")
    assert 0 < len(kept) < 200
    process = start(tmp_path, *more)
    assert process.communicate()[0].startswith("200 of 200 runs are done, 0 failed")
    assert set(kept) <= set(read_store(tmp_path / "results.db"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.py", "results.db"]  # no lock, no log
