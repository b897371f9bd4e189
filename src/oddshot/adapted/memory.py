"""How much memory objects hold."""

import ctypes
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
_ARROW = (pa.Table, pa.ChunkedArray, pa.Array)


def held_bytes(*objects: Any, shared: Iterable[Any] = ()) -> int:
    """Bytes of all arrays and other objects that can be reached from the objects, each counted once.

    shared: objects that exist anyway, such as the model; what can be reached from these is not counted.
    """
    found: set[int] = set()
    _add_up(shared, found)
    return _add_up(objects, found)


def return_free_memory() -> None:
    """Give the memory that is free but still this process's back to the operating system, where the library can."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)


def _add_up(objects: Iterable[Any], found: set[int]) -> int:
    """The bytes of what is not among the found memory yet, which is added there."""
    pending, total = list(objects), 0
    while pending:
        one = pending.pop()
        identity, n_bytes = _memory_of(one)
        if identity not in found:
            found.add(identity)
            total += n_bytes
            pending += _parts(one)
    return total


def _memory_of(one: Any) -> tuple[int, int]:
    """An identifier of the memory of an object and its number of bytes; for a view, those of the whole storage."""
    if isinstance(one, np.ndarray):
        while isinstance(one.base, np.ndarray):
            one = one.base
        return one.__array_interface__["data"][0], one.nbytes
    if isinstance(one, _ARROW):
        return id(one), one.nbytes
    return id(one), 0 if isinstance(one, _CODE) else sys.getsizeof(one)


def _parts(one: Any) -> list[Any]:
    """The objects that an object refers to."""
    if isinstance(one, Mapping):
        return [*one.keys(), *one.values()]
    if isinstance(one, list | tuple | set | frozenset):
        return list(one)
    if isinstance(one, (*_CODE, np.ndarray)) or type(one).__dictoffset__ == 0:
        return []
    return [vars(one)]
