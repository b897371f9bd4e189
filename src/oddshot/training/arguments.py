"""Checks of the arguments of `meta_train`, each with one line that names the argument."""

from dataclasses import fields, replace
from typing import Any

from oddshot.data.encoding import Encoding
from oddshot.data.episodes.sampling import EpisodeSizes
from oddshot.data.task import Task
from oddshot.errors import InputError, as_list, one_line, require_type, require_whole_number, wrong_type
from oddshot.storage.model_file import Model
from oddshot.training.algorithm import TrainingConfig
from oddshot.training.ranks import Ranks

MAX_SEED = 2**63 - 1  # of torch's generators

_EXPECTED: dict[str, tuple[type, str]] = {
    "sizes": (EpisodeSizes, "an EpisodeSizes"),
    "encoding": (Encoding, "an Encoding"),
    "training": (TrainingConfig, "a TrainingConfig"),
    "ranks": (Ranks, "the Ranks of torchrun_ranks"),
    "resume": (Model, "a Model whose training was interrupted"),
}


def check_settings(**given: object) -> None:
    """Refuse settings of another type; each of them may be None."""
    for name, value in given.items():
        if value is not None:
            require_type(name, value, *_EXPECTED[name])


def split_settings(
    given: dict[str, Any], training: TrainingConfig | None, sizes: EpisodeSizes | None
) -> tuple[TrainingConfig, EpisodeSizes, dict[str, Any]]:
    """Settings that were given by their names: those of training, those of episodes, and the others, of a method."""
    parts: list[dict[str, Any]] = []
    rest = dict(given)
    for kind in (TrainingConfig, EpisodeSizes):
        parts.append({field.name: rest.pop(field.name) for field in fields(kind) if field.name in rest})
    return replace(training or TrainingConfig(), **parts[0]), replace(sizes or EpisodeSizes(), **parts[1]), rest


def check_tasks(tasks: object, name: str = "tasks") -> list[Task]:
    """The tasks as a list."""
    expected = "a list of Task, as read_tasks returns"
    found: list[Task] = as_list(name, tasks, expected)
    if not found:
        raise InputError(f"{name} is empty; expected {expected}")
    for k, task in enumerate(found):
        require_type(f"{name}[{k}]", task, Task, "a Task, as those that read_tasks returns")
    return found


def check_seed(seed: Any) -> int:
    """The seed as an int."""
    require_whole_number("seed", seed, least=0)
    if seed > MAX_SEED:
        raise InputError(f"seed is {one_line(seed)}; it must be below 2**63")
    return int(seed)


def check_callbacks(progress: object, stop: object) -> None:
    """Refuse another progress than True, False and "epochs", and a stop that cannot be called."""
    if not (isinstance(progress, bool) or (isinstance(progress, str) and progress == "epochs")):
        raise InputError(f"progress is {one_line(progress)}; it must be True, False or 'epochs'")
    if stop is not None and not callable(stop):
        raise wrong_type("stop", stop, "a function without arguments")
