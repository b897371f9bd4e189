"""All methods by name: those of this package and those that plugins register."""

from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from oddshot.errors import InputError
from oddshot.methods.contract import Method

# Names and where the classes are, which are imported when they are asked for.
TABLE_1 = {
    "eigen": "eigen:Eigen",
    "svdd": "embedding:SVDD",
    "ssvdd": "embedding:SSVDD",
    "proto": "embedding:Proto",
    "r2d2": "embedding:R2D2",
    "maml": "gradient:MAML",
    "ft": "gradient:FT",
    "osvm": "classical:OSVM",
    "if": "classical:IF",
    "lof": "classical:LOF",
    "lr": "classical:LR",
    "knn": "classical:KNN",
    "rf": "classical:RF",
}
ABLATIONS = {"wonn": "ablations:WoNN", "woproj": "ablations:WoProj", "woanomaly": "ablations:WoAnomaly"}  # Table 2
# Not in the paper; `bench --methods all` leaves them out. A new method of this package goes here.
BEYOND = {
    "relative": "relative:Relative",
    "ridge+nearest": "ridge:RidgeNearest",
    "catboost": "boosted:CatBoost",
    "xgboost": "boosted:XGBoost",
    "deepsad": "embedding:DeepSAD",
}
RELATIVE_ABLATIONS = {
    "relative-pairs": "relative_ablations:RelativeWithoutPairs",
    "relative-columns": "relative_ablations:RelativeWithoutColumns",
    "relative-figures": "relative_ablations:RelativeWithoutFigures",
    "relative-head": "relative_ablations:RelativeWithoutHead",
    "relative-marks": "relative_ablations:RelativeWithoutMarks",
    "relative-blend": "relative_ablations:RelativeWithoutBlend",
}
BUILT_IN = TABLE_1 | ABLATIONS | BEYOND | RELATIVE_ABLATIONS

_REGISTERED: dict[str, type[Method]] = {}


def find_method(name: str) -> type[Method]:
    """The method of this name, in any case."""
    key = name.lower()
    if key in BUILT_IN:
        module, _, class_name = BUILT_IN[key].partition(":")
        found: type[Method] = vars(import_module(f"oddshot.methods.{module}"))[class_name]
        return found
    if key not in _REGISTERED:
        # Table 1 of the paper calls its method Ours.
        near = ["eigen"] if key == "ours" else get_close_matches(key, method_names(), n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"no method {name!r}; there are {', '.join(method_names())}{hint}")
    return _REGISTERED[key]


def method_names() -> list[str]:
    """Of this package, then of plugins in the order in which these were registered."""
    return [*BUILT_IN, *_REGISTERED]


def all_methods() -> Iterator[type[Method]]:
    """All of them."""
    return (find_method(name) for name in method_names())


def plugin_methods() -> list[str]:
    """Names of the methods that plugins have registered, in that order."""
    return list(_REGISTERED)


def register_method(method: Any) -> Any:
    """Register a method under its `name`. Usable as a class decorator.

    A registered method can be given by name to `oddshot.meta_train`, and `oddshot.load_model` reads models that were
    trained with it. The commands of `oddshot bench` execute files given as `--plugin`, which call this function; the
    other commands have no such option and know the methods of this package only.

    Parameters
    ----------
    method : type
        A subclass of `oddshot.methods.contract.Method` with a `name` of lower-case letters, digits and underscores,
        and a `config_type`, a frozen dataclass of hyperparameters. A method with weights is trained over many
        tasks; one without only adapts to each.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    InputError
        If `method` is no such class, or its name is malformed or taken by a method of this package.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from oddshot.bench import register_method
    >>> from oddshot.methods import find_method
    >>> from oddshot.methods.contract import Method, Score
    >>> from oddshot.score.arrays import float64
    >>> @dataclass(frozen=True)
    ... class CentroidConfig:
    ...     power: float = 2.0
    >>> class CentroidScore(Score):
    ...     def __init__(self, center, power):
    ...         self.center, self.power = center, power
    ...
    ...     def __call__(self, x):
    ...         return float64(abs(x - self.center) ** self.power).sum(-1)
    >>> @register_method
    ... class Centroid(Method):
    ...     name = "centroid"
    ...     config_type = CentroidConfig
    ...
    ...     def adapt(self, support, unlabelled=None):
    ...         return CentroidScore(support.normal.mean(-2)[..., None, :], self.config.power)
    >>> find_method("centroid") is Centroid
    True
    """
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise InputError(
            f"register_method was given {method!r}; expected a class under oddshot.methods.contract.Method"
        )
    name = getattr(method, "name", "")
    if not isinstance(name, str) or name != name.lower() or not name.isidentifier():
        raise InputError(f"{method.__name__}.name is {name!r}; expected lower-case letters, digits and _")
    if name in BUILT_IN:
        raise InputError(f"the name {name!r} of {method.__name__} is taken by a method of this package")
    _REGISTERED[name] = method
    return method
