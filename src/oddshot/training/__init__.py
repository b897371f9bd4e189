"""Training: Algorithm 1, with batches of tasks, validation tasks and early stopping."""

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
