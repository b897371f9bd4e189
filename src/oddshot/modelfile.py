"""A trained model, on disk and back: one safetensors file with everything that scoring needs, and no pickle."""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as serialise_tensors
from torch import Tensor

from oddshot.calibration import Calibration
from oddshot.data.encoding import Encoding
from oddshot.data.files import write_bytes
from oddshot.device import resolve_device
from oddshot.errors import InputError
from oddshot.familiarity import Familiarity
from oddshot.methods import find_method
from oddshot.methods.contract import Method

FORMAT = 2  # 1 has no calibration
HALF_WAY = 0.25  # threshold where none was learned; scores are squared distances, so this is half the distance
_NO_DIGEST = "0" * 64  # stands in the file's place for its own SHA-256 while that is computed
_TYPES: dict[str, type | tuple[type, ...]] = {
    "method": str,
    "config": dict,
    "n_attributes": int,
    "replicas": int,
    "encoding": (dict, type(None)),
    "threshold": float,
    "training": dict,
}


@dataclass(frozen=True)
class Model:
    """A meta-trained method with what it needs to read a table.

    encoding: how columns become numbers; None where the method takes tables of any width, each with an encoding of its
    own. threshold: the fraction of `method.span` above which a row counts as an anomaly where there is no calibration.
    training: how it was trained, for `oddshot info`. calibration: from scores to decisions. familiarity: what the tasks
    that it knows are like.
    """

    method: Method
    encoding: Encoding | None
    threshold: float
    training: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None
    familiarity: Familiarity | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise InputError(f"the threshold is {self.threshold}; it must be a finite number")
        if self.method.replicas != 1:
            raise InputError(f"the method has {self.method.replicas} replicas; a model has one")
        if self.encoding is not None and self.method.n_attributes != self.encoding.n_attributes:
            raise InputError(
                f"the method takes {self.method.n_attributes} attributes, the encoding gives "
                f"{self.encoding.n_attributes}"
            )

    def save(self, path: str | Path) -> None:
        """Write one file, whole or not at all."""
        write_bytes(Path(path), to_bytes(self))

    @property
    def n_weights(self) -> int:
        """Numbers that were learned."""
        return sum(parameter.numel() for parameter in self.method.parameters())


def load_model(path: str | Path, device: str = "cpu") -> Model:
    """Read a file that `Model.save` wrote; a damaged, foreign or newer one is refused."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        model = from_bytes(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    model.method.to(resolve_device(device))
    return model


def to_bytes(model: Model) -> bytes:
    """The file's content. The SHA-256 covers every byte of it, with the digest's own place filled with zeros."""
    method = model.method
    header = {
        "format": FORMAT,
        "method": method.name,
        "config": dataclasses.asdict(method.config),
        "n_attributes": method.n_attributes,
        "replicas": method.replicas,
        "encoding": None if model.encoding is None else model.encoding.to_dict(),
        "threshold": float(model.threshold),
        "training": model.training,
        "calibration": None if model.calibration is None else model.calibration.to_dict(),
        "familiarity": None if model.familiarity is None else model.familiarity.to_dict(),
    }
    metadata = {"oddshot": json.dumps(header, sort_keys=True), "sha256": _NO_DIGEST}
    tensors = {name: value.detach().cpu().contiguous() for name, value in method.state_dict().items()}
    data = _with_metadata(serialise_tensors(tensors), metadata)
    return data.replace(_quoted(_NO_DIGEST), _quoted(hashlib.sha256(data).hexdigest()), 1)


def from_bytes(data: bytes) -> Model:
    """The model in a file's content."""
    header, digest = _read_header(data)
    version = header.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise InputError(f"model of format {version}, written by a newer oddshot; this one reads up to {FORMAT}")
    blank = data.replace(_quoted(digest), _quoted(_NO_DIGEST), 1)
    if hashlib.sha256(blank).hexdigest() != digest:
        raise InputError("the model file is damaged (its SHA-256 does not match)")
    try:
        if version not in (1, FORMAT):
            raise ValueError(f"format is {version!r}")
        for name, kind in _TYPES.items():
            if not isinstance(header[name], kind):
                raise TypeError(f"{name} is {str(header[name])[:40]!r}")
        method = _build_method(header, parse_tensors(data))
        encoding = None if header["encoding"] is None else Encoding.from_dict(header["encoding"])
        return Model(method, encoding, header["threshold"], header["training"], *_learned_on_held_out(header))
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())[:160]
        raise InputError(f"the model file does not fit together: {reason}") from None


def _learned_on_held_out(header: Mapping[str, Any]) -> tuple[Calibration | None, Familiarity | None]:
    """Of format 2; a file of format 1 has neither."""
    calibration, familiarity = header.get("calibration"), header.get("familiarity")
    for part in (calibration, familiarity):
        if part is not None and not (isinstance(part, dict) and all(isinstance(case, dict) for case in part.values())):
            raise TypeError(f"calibration is {str(part)[:40]!r}")
    return (
        None if calibration is None else Calibration.from_dict(calibration),
        None if familiarity is None else Familiarity.from_dict(familiarity),
    )


def _build_method(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Method:
    """The method that the header describes, with these weights. The sizes it states are not trusted."""
    method_type = find_method(header["method"])
    config = method_type.config_type(**header["config"])
    for name, value in header["config"].items():
        if name.startswith("layers") and value > len(tensors):  # each layer has a tensor of its own
            raise ValueError(f"{name} is {value}, with {len(tensors)} tensors")
    with torch.device("meta"):  # no memory is taken before the shapes are known to fit the file
        method = method_type(header["n_attributes"], config, header["replicas"])
    for name, value in method.state_dict().items():
        if name in tensors and tensors[name].dtype != value.dtype:
            raise TypeError(f"{name} holds {tensors[name].dtype} numbers")
    for name, value in tensors.items():
        if not value.isfinite().all():
            raise ValueError(f"{name} holds NaN or infinity")
    method.load_state_dict(tensors, assign=True)
    return method.eval()


def _with_metadata(data: bytes, metadata: Mapping[str, str]) -> bytes:
    """The serialised tensors with metadata in the header; safetensors itself would write it in random order."""
    length = int.from_bytes(data[:8], "little")
    header = json.dumps({"__metadata__": metadata, **json.loads(data[8 : 8 + length])}).encode()
    header += b" " * (-len(header) % 8)  # the tensors stay aligned
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def _read_header(data: bytes) -> tuple[dict[str, Any], str]:
    """Our part of the safetensors header, and the digest it states."""
    try:
        length = int.from_bytes(data[:8], "little")
        if not 0 < length <= len(data) - 8:
            raise ValueError("cut short")
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
        header, digest = json.loads(metadata["oddshot"]), metadata["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("not an oddshot model file, or one that was cut short") from None
    if not isinstance(header, dict) or not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise InputError("not an oddshot model file")
    return header, digest


def _quoted(digest: str) -> bytes:
    return f'"{digest}"'.encode()
