"""What is installed is pinned and its licences are listed; the wheel is the same bytes whenever it is built."""

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from packaging.utils import canonicalize_name

from benchmarks.licences import licence_of, needed_packages

ROOT = Path(__file__).parents[1]


def test_every_package_is_pinned_directly_needed_or_not():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==\S+$", "\n".join(lines), re.MULTILINE)}
    needed = needed_packages()
    assert len(needed) > 60
    assert set(needed) - pinned == set()


def test_every_licence_is_listed():
    listed = (ROOT / "docs/licences.md").read_text()
    for name, one in needed_packages().items():
        assert f"| {name} | {one.version} | {licence_of(one)} |" in listed


def test_the_wheel_is_reproducible(tmp_path):
    digests = set()
    for k in range(2):
        time.sleep(2.1 * k)  # times in an archive are even seconds
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / str(k))]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "TZ": f"UTC{k}"})
        (wheel,) = (tmp_path / str(k)).iterdir()
        digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(digests) == 1
