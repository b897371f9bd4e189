"""Training: Algorithm 1, with batches of tasks, validation tasks and early stopping."""

from oddshot.training.algorithm import History, Progress, TrainingConfig, TrainingData, train
from oddshot.training.batches import Episodes, validation_episodes
from oddshot.training.ranks import Ranks, joined_ranks
from oddshot.training.validation import evaluate

__all__ = [
    "Episodes",
    "History",
    "Progress",
    "Ranks",
    "TrainingConfig",
    "TrainingData",
    "evaluate",
    "joined_ranks",
    "train",
    "validation_episodes",
]
