"""All methods by name: those of this package and those that plugins register."""

from difflib import get_close_matches
from typing import Any

from oddshot.errors import InputError
from oddshot.methods.ablations import WoAnomaly, WoNN, WoProj
from oddshot.methods.boosted import CatBoost, XGBoost
from oddshot.methods.classical import IF, KNN, LOF, LR, OSVM, RF
from oddshot.methods.contract import Method
from oddshot.methods.eigen import Eigen
from oddshot.methods.embedding import R2D2, SSVDD, SVDD, DeepSAD, Proto
from oddshot.methods.gradient import FT, MAML
from oddshot.methods.relative import Relative
from oddshot.methods.relative_ablations import RELATIVE_ABLATIONS
from oddshot.methods.ridge import RidgeNearest

TABLE_1: tuple[type[Method], ...] = (Eigen, SVDD, SSVDD, Proto, R2D2, MAML, FT, OSVM, IF, LOF, LR, KNN, RF)
ABLATIONS: tuple[type[Method], ...] = (WoNN, WoProj, WoAnomaly)  # Table 2
# Not in the paper; `bench --methods all` leaves them out. A new method of this package goes here.
BEYOND: tuple[type[Method], ...] = (Relative, RidgeNearest, CatBoost, XGBoost, DeepSAD)

METHODS: dict[str, type[Method]] = {method.name: method for method in TABLE_1 + ABLATIONS + BEYOND + RELATIVE_ABLATIONS}
BUILT_IN = frozenset(METHODS)


def find_method(name: str) -> type[Method]:
    """The method of this name, in any case."""
    if name.lower() not in METHODS:
        # Table 1 of the paper calls its method Ours.
        near = ["eigen"] if name.lower() == "ours" else get_close_matches(name.lower(), METHODS, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"no method {name!r}; there are {', '.join(METHODS)}{hint}")
    return METHODS[name.lower()]


def plugin_methods() -> list[str]:
    """Names of the methods that plugins have registered, in that order."""
    return [name for name in METHODS if name not in BUILT_IN]


def register_method(method: Any) -> Any:
    """Register a method under its `name`. Usable as a class decorator.

    A registered method can be given by name to `oddshot.meta_train`, and `oddshot.load_model` reads models that were
    trained with it. The commands of `oddshot bench` execute files given as `--plugin`, which call this function; the
    other commands have no such option and know the methods of this package only.

    Parameters
    ----------
    method : type
        A subclass of `oddshot.methods.contract.Method` with a `name` of lower-case letters, digits and underscores,
        and a `config_type`, a frozen dataclass of hyperparameters. A method with parameters is trained over many
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
    >>> @dataclass(frozen=True)
    ... class CentroidConfig:
    ...     power: float = 2.0
    >>> class CentroidScore(Score):
    ...     def __init__(self, center, power):
    ...         self.center, self.power = center, power
    ...
    ...     def __call__(self, x):
    ...         return (x - self.center).double().abs().pow(self.power).sum(-1)
    >>> @register_method
    ... class Centroid(Method):
    ...     name = "centroid"
    ...     config_type = CentroidConfig
    ...
    ...     def adapt(self, support, unlabelled=None):
    ...         return CentroidScore(support.normal.mean(dim=2, keepdim=True), self.config.power)
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
    METHODS[name] = method
    return method
