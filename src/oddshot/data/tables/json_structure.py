"""What a parser of JSON would exhaust the stack or the memory with, told from the bytes before it sees them."""

import re

import numpy as np

MAX_DEPTH = 100
"""How deep values may be nested; parsers that call themselves crash on some thousands."""

_STRING = re.compile(rb'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+"?')  # to the end of the line where it is never closed
_NAME = re.compile(rb'"([^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+)"[ \t\r\n]*+:')
_NOT_KEPT = bytes(set(range(256)) - set(b"[]{}\n"))
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_MAX_CELLS_PER_BYTE, _ALLOWED_CELLS = 16, 1 << 24


def find_deep_line(content: bytes) -> int | None:
    """Return the number of the first line in which values are nested deeper than MAX_DEPTH, or None.

    Also where the brackets do not match, and wherever a parser begins to read.
    """
    if b"[" not in content and content.count(b"{") == content.count(b"}\n{") + content.startswith(b"{"):
        return None  # each object begins below the end of one, as in most files
    signs = np.frombuffer(_STRING.sub(b"", content).translate(None, _NOT_KEPT), np.uint8)
    depth = np.cumsum(_STEPS[signs], dtype=np.int64)
    is_deep = depth - np.minimum.accumulate(np.minimum(depth, 0)) > MAX_DEPTH
    if not is_deep.any():
        return None
    return 1 + int((signs[: is_deep.argmax()] == ord("\n")).sum())


def are_names_too_many(content: bytes) -> bool:
    """Return whether a table with a column for each name would be far larger than the text, most of it gaps."""
    n_rows, allowed = content.count(b"{"), _ALLOWED_CELLS + _MAX_CELLS_PER_BYTE * len(content)
    if n_rows * content.count(b":") <= allowed:
        return False
    return n_rows * len(set(_NAME.findall(content))) > allowed
