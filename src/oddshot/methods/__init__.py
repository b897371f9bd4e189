"""The methods by name, all under the contract in contract.py."""

from oddshot.errors import InputError
from oddshot.methods.boosted import CatBoost, XGBoost
from oddshot.methods.contract import Method
from oddshot.methods.deepsad import DeepSAD
from oddshot.methods.eigen import Eigen
from oddshot.methods.ft import FT
from oddshot.methods.iforest import IF
from oddshot.methods.knn import KNN
from oddshot.methods.lof import LOF
from oddshot.methods.lr import LR
from oddshot.methods.maml import MAML
from oddshot.methods.osvm import OSVM
from oddshot.methods.proto import Proto
from oddshot.methods.r2d2 import R2D2
from oddshot.methods.relative import Relative
from oddshot.methods.rf import RF
from oddshot.methods.ridge_nearest import RidgeNearest
from oddshot.methods.ssvdd import SSVDD
from oddshot.methods.svdd import SVDD
from oddshot.methods.woanomaly import WoAnomaly
from oddshot.methods.wonn import WoNN
from oddshot.methods.woproj import WoProj

TABLE_1: tuple[type[Method], ...] = (Eigen, SVDD, SSVDD, Proto, R2D2, MAML, FT, OSVM, IF, LOF, LR, KNN, RF)
ABLATIONS: tuple[type[Method], ...] = (WoNN, WoProj, WoAnomaly)  # Table 2
BEYOND: tuple[type[Method], ...] = (Relative, RidgeNearest, CatBoost, XGBoost, DeepSAD)

METHODS: dict[str, type[Method]] = {method.name: method for method in TABLE_1 + ABLATIONS + BEYOND}


def find_method(name: str) -> type[Method]:
    """The method of this name, in any case."""
    if name.lower() not in METHODS:
        raise InputError(f"no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name.lower()]


def parse_methods(names: str) -> list[str]:
    """The methods of a list with commas, "eigen, LR" -> ["eigen", "lr"], each once and in the order given."""
    parsed = [find_method(part.strip()).name for part in names.split(",") if part.strip()]
    if not parsed:
        raise InputError(f"no method in {names!r}; there are {', '.join(METHODS)}")
    return list(dict.fromkeys(parsed))
