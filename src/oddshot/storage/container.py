"""A safetensors file with a JSON header of our own and a SHA-256 over every byte: damage is detected, no pickle."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from safetensors.torch import save as serialise_tensors
from torch import Tensor

from oddshot.errors import ModelFileError

_NO_DIGEST = "0" * 64  # placeholder of the SHA-256 while it is computed


def seal(tensors: Mapping[str, Tensor], header: Mapping[str, Any], key: str) -> bytes:
    """The file's content, with the header as JSON under this key; the digest is taken with zeros in its own place."""
    metadata = {key: json.dumps(header, sort_keys=True), "sha256": _NO_DIGEST}
    data = _with_metadata(serialise_tensors(dict(tensors)), metadata)
    return data.replace(_quoted(_NO_DIGEST), _quoted(hashlib.sha256(data).hexdigest()), 1)


def read_header(data: bytes, key: str, kind: str, newest: int) -> dict[str, Any]:
    """The header of a file that is whole and of a format up to the newest. kind: what messages call it."""
    header, digest = _parse(data, key, kind)
    version = header.get("format")
    if isinstance(version, int) and version > newest:
        raise ModelFileError(f"{kind} of format {version}, written by a newer oddshot; this one reads up to {newest}")
    blank = data.replace(_quoted(digest), _quoted(_NO_DIGEST), 1)
    if hashlib.sha256(blank).hexdigest() != digest:
        raise ModelFileError(f"the {kind} file is damaged (its SHA-256 does not match)")
    return header


def digest_of(data: bytes) -> str:
    """The SHA-256 that a sealed file states, which identifies its content."""
    length = int.from_bytes(data[:8], "little")
    return str(json.loads(data[8 : 8 + length])["__metadata__"]["sha256"])


def _with_metadata(data: bytes, metadata: Mapping[str, str]) -> bytes:
    """The serialised tensors with metadata in the header; safetensors itself would write it in random order."""
    length = int.from_bytes(data[:8], "little")
    header = json.dumps({"__metadata__": metadata, **json.loads(data[8 : 8 + length])}).encode()
    header += b" " * (-len(header) % 8)  # the tensors stay aligned
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def _parse(data: bytes, key: str, kind: str) -> tuple[dict[str, Any], str]:
    """Our part of the safetensors header, and the digest it states."""
    try:
        length = int.from_bytes(data[:8], "little")
        if not 0 < length <= len(data) - 8:
            raise ValueError("cut short")
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
        header, digest = json.loads(metadata[key]), metadata["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"not an oddshot {kind} file, or one that was cut short") from None
    if not isinstance(header, dict) or not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise ModelFileError(f"not an oddshot {kind} file")
    return header, digest


def _quoted(digest: str) -> bytes:
    return f'"{digest}"'.encode()
