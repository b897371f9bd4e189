"""Warnings of the library as notes of a response, while several threads adapt detectors."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_lock = threading.Lock()
_notes_by_thread: dict[int, list[str]] = {}
_filters = ExitStack()  # what is undone when the last thread has finished: the filters are those of the process


@contextmanager
def noted_warnings() -> Iterator[list[str]]:
    """Collect the texts of the user warnings of this thread."""
    thread, notes = threading.get_ident(), list[str]()
    with _lock:
        if not _notes_by_thread:
            _filters.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always")
            warnings.showwarning = _note
        _notes_by_thread[thread] = notes
    try:
        yield notes
    finally:
        with _lock:
            del _notes_by_thread[thread]
            if not _notes_by_thread:
                _filters.close()


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    notes = _notes_by_thread.get(threading.get_ident())
    if notes is not None and issubclass(category, UserWarning):
        notes.append(str(message))
