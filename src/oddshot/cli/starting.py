"""A sign of life on a terminal while torch is imported, which takes seconds."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def starting_line(*, enabled: bool = True) -> Iterator[None]:
    """Show a line on stderr, where it is a terminal, until the block ends."""
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
