"""The surroundings of all tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks are tiny: several threads would only wait for each other
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in commands that end in &

_started: list["subprocess.Popen[Any]"] = []
_start = subprocess.Popen.__init__


def _start_and_remember(process: "subprocess.Popen[Any]", *arguments: Any, **options: Any) -> None:
    _start(process, *arguments, **options)
    _started.append(process)


subprocess.Popen.__init__ = _start_and_remember


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test() -> Iterator[None]:
    """Processes of fixtures that several tests share are started before."""
    n_before = len(_started)
    yield
    for process in _started[n_before:]:
        if process.poll() is None:
            process.kill()
            process.wait()
    del _started[n_before:]


@pytest.fixture(autouse=True)
def _same_random_numbers_in_any_order_of_tests() -> None:
    """Tests that draw from torch without a seed of their own draw the same, whichever tests ran before them."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)
