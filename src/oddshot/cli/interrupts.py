"""Ctrl-C and SIGTERM that end a command in an orderly way."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MESSAGE = b"stopping: the best model so far is finished and written; Ctrl-C again ends at once and writes nothing\n"


@contextmanager
def catch_interrupt(*, enabled: bool = True) -> Iterator[Callable[[], bool] | None]:
    """Yields a function that says whether Ctrl-C was pressed in the block; the second time it ends the block at once.

    SIGTERM, which `timeout` and schedulers send, is the same. If not enabled, yields None, and both end the block at
    once.
    """
    if not enabled:
        yield None
        return
    is_pressed = False

    def on_signal(number: int, frame: Any) -> None:
        nonlocal is_pressed
        if is_pressed:
            raise KeyboardInterrupt
        is_pressed = True
        os.write(2, MESSAGE)  # a stream may be in use where the signal comes

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: is_pressed
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
