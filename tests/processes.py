"""Processes that tests start: they get signals as in a terminal, and do not outlive the test."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PIPE = subprocess.PIPE


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start a command, and kill it at the end of the block if it still runs."""
    options = {"stdout": PIPE, "stderr": PIPE, "text": True, **options}
    process = subprocess.Popen(command, preexec_fn=_heed_signals, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait(timeout=60)


def _heed_signals() -> None:
    """A process in the background inherits that signals are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
