"""The Ray cluster that work is sent to, or one started on this machine."""

from importlib import import_module
from pathlib import Path
from typing import Any

from oddshot.errors import InputError


def find_ray() -> Any:
    """The module, where it is installed."""
    try:
        return import_module("ray")
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install 'oddshot[ray]'") from None


def connect(ray: Any, address: str | None, workers: int | None = None) -> None:
    """Connect, unless it is done. workers: CPUs of a cluster that is started here."""
    if ray.is_initialized():
        return
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    if address is None:
        settings |= {"num_cpus": workers}
    else:
        # The cluster's nodes need no oddshot of their own: they get this one, so that all run the same code.
        package = str(Path(__file__).parents[1])
        settings = {"address": address, "log_to_driver": False, "runtime_env": {"py_modules": [package]}}
    try:
        ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"Ray does not answer at {address or 'this machine'}: {reason}") from error
