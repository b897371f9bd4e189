"""The end of the process of a command."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from oddshot.data.signals import ending_signals

INTERRUPTED = 130  # the exit code after Ctrl-C, and the other signals that ask the program to end


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt at the signals that ask the program to end and would end it at once, as Ctrl-C does."""
    if threading.current_thread() is threading.main_thread():
        for number in ending_signals():
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)


def run_program(main: Callable[[], NoReturn]) -> NoReturn:
    """Call the function of a program and end the process with its exit code, without freeing what it leaves.

    After large libraries, the interpreter takes more than a tenth of a second to free all objects of all modules one
    by one. Threads are waited for and functions that were registered to run at the end do run, those of Ray and of
    temporary folders for example: the first that is registered is the last to run.
    """
    codes: list[int] = []
    program = sys.modules["__main__"]

    def leave() -> None:
        is_program = sys.modules.get("__main__") is program  # not a part of another one, which ends in its own way
        if is_program and codes and _is_flushed():
            os._exit(codes[0])

    atexit.register(leave)
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, int):
            codes.append(ended.code)
        raise


def _is_flushed() -> bool:
    """Whether all output is written; if it cannot be, the interpreter says so in its own way."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):  # a ValueError where the stream is closed
        return False
    return True
