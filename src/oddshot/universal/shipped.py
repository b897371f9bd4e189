"""The universal model's file, which ships with the package."""

from functools import cache
from pathlib import Path

from oddshot.errors import require_type
from oddshot.storage.model_file import Model, load_model
from oddshot.universal.names import UNIVERSAL, UNIVERSAL_MODEL_FILE, model_file


@cache
def load_universal() -> Model:
    """Load the model that ships with the package, for tables of any width.

    It is read once: every call returns the same object.

    Returns
    -------
    Model

    Examples
    --------
    >>> import oddshot
    >>> model = oddshot.load_universal()
    >>> model.method.name
    'relative'
    >>> model.encoding is None  # each table gets an encoding of its own
    True
    """
    return load_model(UNIVERSAL_MODEL_FILE)


def find_model(model: Model | str | Path | None, name: str = "model") -> Model:
    """A model as it is, or the one that is meant: by its path, by its name, or by None for the one that ships.

    name: of the argument in messages.
    """
    if isinstance(model, Model):
        return model
    if model is None or str(model) == UNIVERSAL:
        return load_universal()
    require_type(name, model, (str, Path), f"a Model, the path of its file, or {UNIVERSAL!r}")
    return load_model(model_file(model))
