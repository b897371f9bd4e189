"""Find anomalies in a new task from a handful of labels, after learning from many related tasks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oddshot.data.episodes.sampling import EpisodeSizes
    from oddshot.data.tables import read_tasks
    from oddshot.data.task import Task
    from oddshot.detector import FewShotDetector, load_detector
    from oddshot.errors import InputError
    from oddshot.storage.model_file import Model, load_model
    from oddshot.training import TrainingConfig
    from oddshot.training.meta_training import meta_train
    from oddshot.universal.shipped import load_universal

__version__ = "0.1.0"

__all__ = [
    "EpisodeSizes",
    "FewShotDetector",
    "InputError",
    "Model",
    "Task",
    "TrainingConfig",
    "load_detector",
    "load_model",
    "load_universal",
    "meta_train",
    "read_tasks",
]

_HOMES = {
    "EpisodeSizes": "data.episodes.sampling",
    "FewShotDetector": "detector",
    "InputError": "errors",
    "Model": "storage.model_file",
    "Task": "data.task",
    "TrainingConfig": "training",
    "load_detector": "detector",
    "load_model": "storage.model_file",
    "load_universal": "universal.shipped",
    "meta_train": "training.meta_training",
    "read_tasks": "data.tables",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used: torch takes seconds, and `oddshot --help` needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'oddshot' has no attribute {name!r}")
    return getattr(import_module(f"oddshot.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
