"""A safetensors file with a JSON header and a SHA-256 of all of its bytes: damage is detected, no pickle is used."""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save as serialise

from oddshot.data.files import as_path
from oddshot.errors import CapacityError, FileError, ModelFileError, file_error

MAX_FILE_BYTES = 2**32
_FILES = {  # by the key of their header
    "oddshot": "a model file; load_model, FewShotDetector and the commands read it",
    "oddshot-detector": "a detector file, which is adapted to one table; load_detector reads it, commands take a model",
}
_DIGEST_PLACEHOLDER = "0" * 64  # stands where the SHA-256 will be while it is computed


def read_container(path: str | Path) -> bytes:
    """The content of a regular file; a device or a pipe might never end."""
    try:
        status = os.stat(as_path(path))
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise FileError(f"{path}: cannot be read (it is not a regular file)")
        if status.st_size > MAX_FILE_BYTES:
            raise CapacityError(f"{path}: {status.st_size:,} bytes; at most {MAX_FILE_BYTES:,} are read")
        return as_path(path).read_bytes()
    except OSError as error:
        raise file_error("read", path, error) from None


def to_sealed_bytes(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any], key: str) -> bytes:
    """The content of a file with these arrays and, in its metadata, the header as JSON under this key.

    The SHA-256 is that of the content with zeros in the place of the SHA-256 itself.
    """
    metadata = {key: json.dumps(header, sort_keys=True), "sha256": _DIGEST_PLACEHOLDER}
    contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    data = _with_metadata(serialise(contiguous), metadata)
    return data.replace(_quoted(_DIGEST_PLACEHOLDER), _quoted(hashlib.sha256(data).hexdigest()), 1)


def read_header(data: bytes, key: str, kind: str, max_format: int) -> dict[str, Any]:
    """The header of a file, checked against its SHA-256 and the highest format that can be read.

    kind: what error messages call the file.
    """
    header, digest = _parse(data, key, kind)
    version = header.get("format")
    if isinstance(version, int) and version > max_format:
        raise ModelFileError(
            f"{kind} of format {version}, written by a newer oddshot; this one reads up to {max_format}"
        )
    without_digest = data.replace(_quoted(digest), _quoted(_DIGEST_PLACEHOLDER), 1)
    if hashlib.sha256(without_digest).hexdigest() != digest:
        raise ModelFileError(f"the {kind} file is damaged (its SHA-256 does not match)")
    return header


def read_digest(data: bytes) -> str:
    """The SHA-256 in the metadata of a file, which identifies its content."""
    length = int.from_bytes(data[:8], "little")
    return str(json.loads(data[8 : 8 + length])["__metadata__"]["sha256"])


def has_key(data: bytes, key: str) -> bool:
    """Whether a file, which may be anything, has a header under this key."""
    try:
        _parse(data, key, "")
    except ModelFileError:
        return False
    return True


def _with_metadata(data: bytes, metadata: Mapping[str, str]) -> bytes:
    """Serialised tensors with metadata added to their header; safetensors itself writes metadata in random order."""
    length = int.from_bytes(data[:8], "little")
    header = json.dumps({"__metadata__": metadata, **json.loads(data[8 : 8 + length])}).encode()
    header += b" " * (-len(header) % 8)  # keeps the tensors aligned
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def _parse(data: bytes, key: str, kind: str) -> tuple[dict[str, Any], str]:
    """The JSON header and the SHA-256 in the metadata of a safetensors file."""
    try:
        length = int.from_bytes(data[:8], "little")
        if not 0 < length <= len(data) - 8:
            raise ValueError("cut short")
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
        if key not in metadata and (other := next((name for name in _FILES if name in metadata), None)):
            raise ModelFileError(f"this is {_FILES[other]}")
        header, digest = json.loads(metadata[key]), metadata["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"not an oddshot {kind} file, or one that was cut short") from None
    if not isinstance(header, dict) or not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise ModelFileError(f"not an oddshot {kind} file")
    return header, digest


def _quoted(digest: str) -> bytes:
    return f'"{digest}"'.encode()
