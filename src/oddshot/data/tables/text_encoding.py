"""Detect the text encoding of a file from all of its bytes."""

import codecs
from pathlib import Path
from typing import NamedTuple

import numpy as np

from oddshot.errors import InputError

_HEAD_BYTES = 1 << 12  # examined for byte-order marks and null bytes
_BLOCK_BYTES = 1 << 20
_BYTE_ORDER_MARKS = {  # that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NOT_IN_CP1252 = (0x81, 0x8D, 0x8F, 0x90, 0x9D)


class TextScan(NamedTuple):
    """The text encoding of a file, and how many quotation marks the file has."""

    encoding: str
    n_quotes: int


def scan_text_file(path: Path) -> TextScan:
    """Detect the encoding, and count the quotation marks, in one pass.

    It is UTF-8, UTF-16 or UTF-32, and otherwise that of Windows in the West, or Latin-1 if a byte has no meaning there.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_quotes, is_utf8 = 0, True
    with open(path, "rb") as file:
        encoding = _encoding_from_head(file.read(_HEAD_BYTES), path)
        file.seek(0)
        while block := file.read(_BLOCK_BYTES):
            if b'"' in block:  # several times as fast as counting
                n_quotes += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord('"')))
            is_utf8 = is_utf8 and (encoding is not None or _decodes(decoder, block))
    if encoding is None:
        encoding = "utf-8" if is_utf8 and _decodes(decoder, b"", final=True) else _single_byte_encoding(path)
    return TextScan(encoding, n_quotes)


def _single_byte_encoding(path: Path) -> str:
    with open(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            if any(byte in block for byte in _NOT_IN_CP1252):
                return "latin-1"
    return "cp1252"


def _encoding_from_head(head: bytes, path: Path) -> str | None:
    """Return the encoding that a byte-order mark or null bytes reveal, or None if there are neither."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return name
    if b"\0" not in head:
        return None
    for name, high_bytes, low_bytes in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if 2 * high_bytes.count(0) > len(high_bytes) and 0 not in low_bytes:
            return name
    raise InputError(f"{path}: not a text file; expected CSV, or a name that ends in .parquet or .arff")


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> bool:
    if block.isascii() and not final and not decoder.getstate()[0]:  # no character continues from the block before
        return True
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True
