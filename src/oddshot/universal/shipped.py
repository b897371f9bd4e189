"""The universal model's file, which ships with the package."""

import copy
import dataclasses
from functools import cache
from pathlib import Path

from oddshot.errors import InputError
from oddshot.model.device import resolve_device
from oddshot.storage.model_file import Model, load_model

UNIVERSAL = "universal"  # the name of the model that ships
UNIVERSAL_MODEL_FILE = Path(__file__).with_name("universal.safetensors")


def load_universal(device: str = "cpu") -> Model:
    """Load the model that ships with the package, for tables of any width.

    It is read once: every call for the CPU returns the same object. For another device it is copied first.

    Parameters
    ----------
    device : str, default="cpu"
        Where its weights go: "cpu", "cuda", or "auto" for CUDA if it is available.

    Returns
    -------
    Model

    Raises
    ------
    InputError
        If the device cannot be used.

    Examples
    --------
    >>> import oddshot
    >>> model = oddshot.load_universal()
    >>> model.method.name
    'relative'
    >>> model.encoding is None  # each table gets an encoding of its own
    True
    """
    model, torch_device = _load_once(), resolve_device(device)
    if torch_device == model.method.device:
        return model
    return dataclasses.replace(model, method=copy.deepcopy(model.method).to(torch_device))


def find_model(model: Model | str | Path | None, device: str = "cpu") -> Model:
    """A model as it is, or the one that is meant: by its path, by the name "universal", or by None, which ships too."""
    if isinstance(model, Model):
        return model
    if model is not None and not isinstance(model, str | Path):
        kind = type(model).__name__
        raise InputError(f"model is of type {kind!r}; expected a Model, the path of its file, or {UNIVERSAL!r}")
    return load_universal(device) if model is None or model == UNIVERSAL else load_model(model, device)


@cache
def _load_once() -> Model:
    return load_model(UNIVERSAL_MODEL_FILE)
