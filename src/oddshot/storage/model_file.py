"""A trained model and its file: one safetensors file with everything that scoring needs, without pickle."""

import dataclasses
import math
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as parse

from oddshot.data.encoding import Encoding
from oddshot.data.files import as_path, write_bytes
from oddshot.decisions.calibration import Calibration
from oddshot.errors import InputError, ModelFileError, OddshotError, one_line, require_type
from oddshot.methods import find_method
from oddshot.methods.contract import Method
from oddshot.methods.ensemble import Ensemble
from oddshot.storage.container import read_container, read_header, to_sealed_bytes
from oddshot.storage.display import model_facts, to_html, to_line
from oddshot.storage.finite_scores import require_finite_scores

FORMAT = 3  # format 1 had no calibration, format 2 one that was learned for few sizes of supports
EARLIER_CALIBRATION = (
    "the model was written by an earlier version, whose thresholds held for few numbers of rows only: it is read "
    "without its calibration; train it again"
)
KEY = "oddshot"
MAX_WEIGHT = 1e18  # the squares of larger weights would exceed the range of float32
DEFAULT_THRESHOLD = 0.25  # if none was learned; scores are squared distances, so this is half of the distance
_HEADER_TYPES: dict[str, type | tuple[type, ...]] = {
    "method": str,
    "config": dict,
    "n_attributes": int,
    "replicas": int,
    "encoding": (dict, NoneType),
    "threshold": float,
    "training": dict,
}


@dataclass(frozen=True)
class Model:
    """A meta-trained method with everything that is needed to encode a table, to score its rows and to decide.

    Parameters
    ----------
    method : Method
        The trained method.
    encoding : Encoding or None
        How columns become numbers; None if the method takes tables of any width, each with an encoding of its own.
    threshold : float
        Without calibration, a row is an anomaly above this fraction of the span from normal rows to labelled anomalies.
    training : dict
        How it was trained, for `oddshot info`.
    calibration : Calibration or None
        From scores to false-positive rates and probabilities.

    Raises
    ------
    InputError
        If the parts do not fit together.

    Examples
    --------
    >>> import oddshot
    >>> model = oddshot.load_universal()
    >>> model
    <Model 'relative': 51,075 weights, tables of any width, calibrated>
    >>> sorted(model.training)
    ['context_share', 'learning_rate', 'seed', 'steps', 'tasks', 'weight_decay']
    """

    method: Method
    encoding: Encoding | None
    threshold: float
    training: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        require_type("method", self.method, Method, "a Method")
        require_type("encoding", self.encoding, (Encoding, NoneType), "an Encoding or None")
        require_type("training", self.training, dict, "a dict")
        require_type("calibration", self.calibration, (Calibration, NoneType), "a Calibration or None")
        if not (isinstance(self.threshold, Real) and abs(self.threshold) <= sys.float_info.max):
            raise InputError(f"the threshold is {one_line(self.threshold)}; it must be a finite number")
        if self.encoding is not None and self.method.n_attributes != self.encoding.n_attributes:
            raise InputError(
                f"the method takes {self.method.n_attributes} attributes, the encoding gives "
                f"{self.encoding.n_attributes}"
            )

    def save(self, path: str | Path) -> None:
        """Write the model to one safetensors file, atomically.

        Parameters
        ----------
        path : str or Path
            Where to write it; an existing file is replaced.

        Raises
        ------
        FileError
            If the file cannot be written.
        CapacityError
            If the disk is full.

        Examples
        --------
        >>> import oddshot
        >>> oddshot.load_universal().save("model.safetensors")  # in the working folder
        >>> oddshot.load_model("model.safetensors").n_weights
        51075
        """
        write_bytes(as_path(path), to_bytes(self))

    def __repr__(self) -> str:
        return to_line(self)

    def _repr_html_(self) -> str:
        """The model as a table in a notebook."""
        return to_html("Model", model_facts(self))

    @property
    def n_weights(self) -> int:
        """Number of learned weights."""
        return count_weights(self.method)


def load_model(path: str | Path) -> Model:
    """Read a model file.

    Parameters
    ----------
    path : str or Path
        A file that `Model.save` or `oddshot train` wrote.

    Returns
    -------
    Model

    Raises
    ------
    FileError
        If the file cannot be read.
    ModelFileError
        If it is damaged, of another program, or written by a newer version.

    Examples
    --------
    >>> import tempfile, oddshot
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     oddshot.load_universal().save(f"{folder}/model.safetensors")
    ...     model = oddshot.load_model(f"{folder}/model.safetensors")
    >>> model.method.name
    'relative'
    """
    data = read_container(path)
    try:
        return from_bytes(data)
    except OddshotError as error:
        raise type(error)(f"{path}: {error}") from None


def to_bytes(model: Model) -> bytes:
    """The content of the model's file."""
    method = model.method
    ensemble_fields = {"scales": list(method.scales)} if isinstance(method, Ensemble) else {}
    header = {
        "format": FORMAT,
        "method": method.name,
        "config": dataclasses.asdict(method.config),
        "n_attributes": method.n_attributes,
        "replicas": len(method.members) if isinstance(method, Ensemble) else 1,
        **ensemble_fields,
        "encoding": None if model.encoding is None else model.encoding.to_dict(),
        "threshold": float(model.threshold),
        "training": model.training,
        "calibration": None if model.calibration is None else model.calibration.to_dict(),
    }
    # A file has a leading dimension of replicas, of which there is one.
    return to_sealed_bytes({name: np.asarray(value)[None] for name, value in method.weights.items()}, header, KEY)


def from_bytes(data: bytes) -> Model:
    """The model in the content of a file, which may be damaged or forged: everything in it is checked."""
    header = read_header(data, KEY, "model", FORMAT)
    version = header.get("format")
    try:
        if version not in (1, 2, FORMAT):
            raise ValueError(f"format is {version!r}")
        for name, kind in _HEADER_TYPES.items():
            if not isinstance(header[name], kind):
                raise TypeError(f"{name} is {str(header[name])[:40]!r}")
        method = _build_method(header, parse(data))
        encoding = None if header["encoding"] is None else Encoding.from_dict(header["encoding"])
        calibration = header.get("calibration")  # format 1 has none
        if version == 2 and calibration is not None:
            calibration = None
            warnings.warn(EARLIER_CALIBRATION, stacklevel=2)
        calibration = None if calibration is None else Calibration.from_dict(calibration)
        model = Model(method, encoding, header["threshold"], header["training"], calibration)
        require_finite_scores(method, calibration, None if encoding is None else encoding.n_attributes)
        return model
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())[:160]
        raise ModelFileError(f"the model file does not fit together: {reason}") from None


def _read_scales(header: Mapping[str, Any]) -> list[float]:
    """The scales of the members of an ensemble."""
    scales = header["scales"]
    if not (isinstance(scales, list) and all(isinstance(scale, float) and math.isfinite(scale) for scale in scales)):
        raise TypeError(f"scales is {str(scales)[:40]!r}")
    return scales


def count_weights(method: Method) -> int:
    """Number of learned weights."""
    members = method.members if isinstance(method, Ensemble) else (method,)
    specified = members[0].weights_of(method.n_attributes, method.config).values()
    return len(members) * sum(math.prod(weight.shape) for weight in specified if weight.is_learned)


def _build_method(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Method:
    """The method that the header describes, with these weights; the sizes in the header are not trusted."""
    kind = find_method(header["method"])
    config = kind.config_type(**header["config"])
    for name, value in header["config"].items():
        if name.startswith("layers") and value > len(arrays):  # each layer has at least one array
            raise ValueError(f"{name} is {value}, with {len(arrays)} tensors")
    if not 1 <= header["replicas"] <= len(arrays) + 1:  # each member has at least one array
        raise ValueError(f"replicas is {header['replicas']}, with {len(arrays)} tensors")
    members, n_members = [], header["replicas"]
    starts = [""] if n_members == 1 else [f"members.{k}." for k in range(n_members)]
    shapes = {name: weight.shape for name, weight in kind.weights_of(header["n_attributes"], config).items()}
    _check_weights(kind, {f"{start}{name}": shape for start in starts for name, shape in shapes.items()}, arrays)
    for start in starts:
        weights = {name: np.asarray(arrays[f"{start}{name}"][0]) for name in shapes}
        members.append(kind(header["n_attributes"], config, weights))
    return members[0] if n_members == 1 else Ensemble(members, _read_scales(header))


def _check_weights(
    kind: type[Method], expected: Mapping[str, tuple[int, ...]], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Refuse arrays that are not the weights of the method by name, shape and type, or hold absurd numbers."""
    for name in sorted(expected.keys() | arrays.keys()):
        if name not in expected or name not in arrays or arrays[name].shape != (1, *expected[name]):
            raise ValueError(
                f"{name} is not as {kind.name!r} has it in this version of oddshot; train it again, or use the "
                "version that wrote it"
            )
        if arrays[name].dtype != np.float32:
            raise TypeError(f"{name} holds {arrays[name].dtype} numbers")
    for name, value in arrays.items():
        if not np.isfinite(value).all():
            raise ValueError(f"{name} holds NaN or infinity")
        if value.size > 0 and np.abs(value).max() > MAX_WEIGHT:
            raise ValueError(f"{name} holds numbers beyond ±{MAX_WEIGHT:g}")
