"""The methods by name, all under the contract in contract.py."""

from oddshot.errors import InputError
from oddshot.methods.contract import Method
from oddshot.methods.eigen import Eigen
from oddshot.methods.woanomaly import WoAnomaly
from oddshot.methods.wonn import WoNN

METHODS: dict[str, type[Method]] = {method.name: method for method in (Eigen, WoAnomaly, WoNN)}


def find_method(name: str) -> type[Method]:
    """The method of this name, in any case."""
    if name.lower() not in METHODS:
        raise InputError(f"no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name.lower()]
