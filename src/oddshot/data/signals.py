"""The signals that ask a program to end, before which it deletes what it has half written."""

import signal
import sys

# Ctrl-C, `timeout` or a scheduler, and a terminal that is closed.
_ALL = (signal.SIGINT, signal.SIGTERM) if sys.platform == "win32" else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ending_signals() -> tuple[signal.Signals, ...]:
    """Those that are not ignored, as `nohup` has SIGHUP ignored, and a shell SIGINT in what ends in &."""
    return tuple(number for number in _ALL if signal.getsignal(number) is not signal.SIG_IGN)
