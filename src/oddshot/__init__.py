"""Find anomalies in a new task from a handful of labels, after learning from many related tasks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oddshot.data.episodes.sampling import EpisodeSizes
    from oddshot.data.tables import read_tasks
    from oddshot.data.task import Task
    from oddshot.detector import FewShotDetector, load_detector
    from oddshot.errors import CapacityError, FileError, InputError, ModelFileError, OddshotError
    from oddshot.storage.model_file import Model, load_model
    from oddshot.training import TrainingConfig
    from oddshot.training.meta_training import meta_train
    from oddshot.universal.shipped import load_universal

__version__ = "0.1.0"

__all__ = [
    "CapacityError",
    "EpisodeSizes",
    "FewShotDetector",
    "FileError",
    "InputError",
    "Model",
    "ModelFileError",
    "OddshotError",
    "Task",
    "TrainingConfig",
    "load_detector",
    "load_model",
    "load_universal",
    "meta_train",
    "read_tasks",
]

_MODULES = {
    "CapacityError": "errors",
    "EpisodeSizes": "data.episodes.sampling",
    "FewShotDetector": "detector",
    "FileError": "errors",
    "InputError": "errors",
    "Model": "storage.model_file",
    "ModelFileError": "errors",
    "OddshotError": "errors",
    "Task": "data.task",
    "TrainingConfig": "training",
    "load_detector": "detector",
    "load_model": "storage.model_file",
    "load_universal": "universal.shipped",
    "meta_train": "training.meta_training",
    "read_tasks": "data.tables",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, as most programs need few of them, and training alone needs torch."""
    if name not in _MODULES:
        raise AttributeError(f"module 'oddshot' has no attribute {name!r}")
    try:
        return getattr(import_module(f"oddshot.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        from oddshot.errors import OPTIONAL_PACKAGES, missing_package

        if error.name not in OPTIONAL_PACKAGES:
            raise
        raise missing_package(f"oddshot.{name}", error.name, OPTIONAL_PACKAGES[error.name]) from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
