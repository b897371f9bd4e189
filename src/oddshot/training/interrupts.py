"""Ctrl-C that ends training in an orderly way: the best model so far is kept."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from oddshot.data.signals import ending_signals
from oddshot.training.ranks import Ranks

COMMAND_MESSAGE = (
    "stopping: the best model so far is finished and written; Ctrl-C again ends at once and writes nothing"
)
FUNCTION_MESSAGE = "stopping: the best model so far is finished and returned; Ctrl-C again ends at once"
WARNING = "Ctrl-C: meta_train returns the best model so far; with resume=model and the same arguments it goes on"

Stop = Callable[[], bool]


@contextmanager
def catch_interrupt(
    message: str, signals: Sequence[signal.Signals] | None = None, *, enabled: bool = True
) -> Iterator[Stop | None]:
    """Yields a function that says whether Ctrl-C was pressed in the block; the second time it ends the block at once.

    The other signals that ask a program to end are the same. If not enabled, yields None, and they end the block at
    once. message: what is written to stderr the first time. signals: all of them by default.
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
        with suppress(OSError):  # the terminal was closed
            os.write(2, f"{message}\n".encode())  # a stream may be in use where the signal comes

    numbers = ending_signals() if signals is None else signals
    previous = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield lambda: is_pressed
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def until_interrupted(stop: Stop | None, ranks: Ranks | None) -> Iterator[Stop | None]:
    """Yields `stop`, or in its place a function that says whether Ctrl-C was pressed; if so, there is a warning.

    Ctrl-C raises KeyboardInterrupt as ever with several processes, outside of the main thread, whose signals these are,
    and where the program has a handler of its own.
    """
    is_free = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if stop is not None or not is_free or (ranks is not None and ranks.size > 1):
        yield stop
        return
    with catch_interrupt(FUNCTION_MESSAGE, (signal.SIGINT,)) as pressed:
        yield pressed
    if pressed is not None and pressed():
        warnings.warn(WARNING, stacklevel=4)  # at the call of the function that holds the block
