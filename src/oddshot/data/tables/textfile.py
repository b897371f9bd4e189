"""The text encoding of a file, found by looking at all of its bytes."""

import codecs
from pathlib import Path

import numpy as np

from oddshot.errors import InputError

_START, _BLOCK = 1 << 12, 1 << 20
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def scan_text(path: Path) -> tuple[str, int]:
    """The encoding (utf-8, utf-8-sig, utf-16 or latin-1) and how many quotation marks there are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_quotes = 0
    with open(path, "rb") as file:
        encoding = _encoding_by_start(file.read(_START), path)
        file.seek(0)
        while block := file.read(_BLOCK):
            n_quotes += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord('"')))
            if encoding is None and not _decodes(decoder, block):
                encoding = "latin-1"
    if encoding is None:
        encoding = "utf-8" if _decodes(decoder, b"", final=True) else "latin-1"
    return encoding, n_quotes


def _encoding_by_start(start: bytes, path: Path) -> str | None:
    """The encoding that the first bytes give away, if they do."""
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            return name
    if b"\0" not in start:
        return None
    for name, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if 2 * zeros.count(0) > len(zeros):
            return name
    raise InputError(f"{path}: not a text file; expected CSV, or a name that ends in .parquet or .arff")


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True
