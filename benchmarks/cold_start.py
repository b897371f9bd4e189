"""How long the command line takes to say anything at all."""

import subprocess
import sys
import time

from benchmarks.timing import Verdict, best_seconds

TARGET = 0.3


def run() -> list[Verdict]:
    command = [sys.executable, "-m", "oddshot", "--help"]
    seconds = best_seconds(
        lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True), clock=time.perf_counter
    )
    return [Verdict("oddshot --help: seconds", seconds, TARGET, seconds <= TARGET)]
