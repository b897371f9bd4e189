"""The universal model's file, which ships with the package."""

import copy
import dataclasses
from functools import cache
from pathlib import Path

from oddshot.errors import require_type
from oddshot.model.device import resolve_device
from oddshot.storage.model_file import Model, load_model
from oddshot.universal.names import UNIVERSAL, UNIVERSAL_MODEL_FILE, model_file


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


def find_model(model: Model | str | Path | None, device: str = "cpu", name: str = "model") -> Model:
    """A model as it is, or the one that is meant: by its path, by its name, or by None for the one that ships.

    name: of the argument in messages.
    """
    if isinstance(model, Model):
        return model
    if model is None or str(model) == UNIVERSAL:
        return load_universal(device)
    require_type(name, model, (str, Path), f"a Model, the path of its file, or {UNIVERSAL!r}")
    return load_model(model_file(model), device)


@cache
def _load_once() -> Model:
    return load_model(UNIVERSAL_MODEL_FILE)
