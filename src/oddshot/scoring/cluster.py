"""Connection to a Ray cluster, or to one that is started on this machine."""

from importlib import import_module
from pathlib import Path
from typing import Any

from oddshot.errors import InputError, missing_package


def import_ray() -> Any:
    """The module `ray`, if it is installed."""
    try:
        return import_module("ray")
    except ImportError:
        raise missing_package("--engine ray", "Ray", "'ray[default]'") from None


def connect(ray: Any, address: str | None, n_workers: int | None = None) -> bool:
    """Connect to the cluster at this address, unless connected already; without an address, start one here.

    n_workers: the number of CPUs of a cluster that is started here, by default all. Returns whether this call has
    connected: the connection of somebody else is not ours to close.
    """
    if ray.is_initialized():
        return False
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    if address is None:
        # "local" starts a cluster; without an address Ray would join any that runs, or has run, on this machine.
        settings |= {"address": "local", "num_cpus": n_workers}
    else:
        # The nodes of the cluster get this version of oddshot, so that all run the same code.
        package = str(Path(__file__).parents[1])
        settings = {"address": address, "log_to_driver": False, "runtime_env": {"py_modules": [package]}}
    try:
        ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"Ray does not answer at {address or 'this machine'}: {reason}") from error
    return True
