"""The start of a command whose imports take a while: half a second, and with torch more than one."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def starting(*, show: bool = True) -> Iterator[None]:
    """Import in this block what the command needs; a terminal shows a line on stderr until it ends.

    Modules stay to the end of the process. To look for garbage among them is a tenth of the time of the import.
    """
    with _starting_line(enabled=show), _without_collecting_garbage():
        yield


@contextmanager
def _starting_line(*, enabled: bool) -> Iterator[None]:
    if not (enabled and sys.stderr.isatty()):
        yield
        return
    sys.stderr.write("starting …")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write(_CLEAR_LINE)
        sys.stderr.flush()


@contextmanager
def _without_collecting_garbage() -> Iterator[None]:
    """What the block leaves is not looked through later either."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
