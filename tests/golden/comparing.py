"""What was recorded as plain JSON, and every place where two recordings differ."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

FILE_HASH = "file_sha256"  # of a file with trained weights: the same on the same machine only
SHORT_LINE = 160
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


class Tolerance(NamedTuple):
    """How far floats may lie apart. exact: texts and hashes of files are equal too, whatever numbers they hold."""

    relative: float
    absolute: float
    exact: bool


SAME_MACHINE = Tolerance(1e-9, 1e-12, True)
ANY_MACHINE = Tolerance(1e-3, 1e-5, False)  # other CPUs round the float32 numbers of training differently


def plain(value: Any) -> Any:
    """Dictionaries, lists, text, numbers and None; numbers that JSON does not have are text."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def to_text(value: Any, indent: str = "") -> str:
    """JSON: an entry a line, lists of numbers and what is short on one line, texts one below the other."""
    inner, whole = indent + " ", json.dumps(value, ensure_ascii=False)
    if len(whole) <= SHORT_LINE:
        return whole
    if isinstance(value, dict):
        entries = (f"{inner}{json.dumps(key)}: {to_text(one, inner)}" for key, one in value.items())
        return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
    if isinstance(value, list) and len(value) > 1 and all(isinstance(one, str) for one in value):
        return "[\n" + ",\n".join(inner + json.dumps(one, ensure_ascii=False) for one in value) + f"\n{indent}]"
    return whole


def differences(expected: Any, found: Any, tolerance: Tolerance, path: str = "") -> Iterator[str]:
    """A line for each place where the two differ, with both values."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            below = f"{path}/{key}"
            if key not in found:
                yield f"{below}: {_short(expected[key])} is gone"
            elif key not in expected:
                yield f"{below}: {_short(found[key])} is new"
            elif key != FILE_HASH or tolerance.exact:
                yield from differences(expected[key], found[key], tolerance, below)
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path}: {len(expected)} entries -> {len(found)}: {_short(expected)} -> {_short(found)}"
        for k, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(one, other, tolerance, f"{path}[{k}]")
    elif not _same(expected, found, tolerance):
        yield f"{path}: {_short(expected)} -> {_short(found)}"


def _same(expected: Any, found: Any, tolerance: Tolerance) -> bool:
    if type(expected) is not type(found):
        return False
    if isinstance(expected, float):
        return math.isclose(expected, found, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)
    if isinstance(expected, str) and not tolerance.exact:
        return _same_words(expected, found, tolerance)
    return bool(expected == found)


def _same_words(expected: str, found: str, tolerance: Tolerance) -> bool:
    """Texts that are equal but for the last digits of decimal numbers in them."""
    if _DECIMAL.split(expected) != _DECIMAL.split(found):
        return False
    pairs = zip(_DECIMAL.findall(expected), _DECIMAL.findall(found), strict=True)
    return all(_same(float(one), float(other), tolerance) for one, other in pairs)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."
