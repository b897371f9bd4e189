"""Training: Algorithm 1, with batches of tasks, validation tasks and early stopping."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oddshot.training.algorithm import EpochProgress, History, TrainingConfig, TrainingData, train
    from oddshot.training.batches import Episodes, validation_episodes
    from oddshot.training.ranks import Ranks, torchrun_ranks
    from oddshot.training.validation import evaluate

__all__ = [
    "Episodes",
    "EpochProgress",
    "History",
    "Ranks",
    "TrainingConfig",
    "TrainingData",
    "evaluate",
    "torchrun_ranks",
    "train",
    "validation_episodes",
]

_MODULES = {
    **dict.fromkeys(("EpochProgress", "History", "TrainingConfig", "TrainingData", "train"), "algorithm"),
    **dict.fromkeys(("Episodes", "validation_episodes"), "batches"),
    **dict.fromkeys(("Ranks", "torchrun_ranks"), "ranks"),
    "evaluate": "validation",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: `oddshot score` draws a bar of this package's, and needs no torch."""
    if name not in _MODULES:
        raise AttributeError(f"module 'oddshot.training' has no attribute {name!r}")
    return getattr(import_module(f"oddshot.training.{_MODULES[name]}"), name)
