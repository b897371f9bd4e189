"""Training that is interrupted and continued later: what the model file records, and what is read from it."""

import dataclasses
import hashlib
from typing import Any

import numpy as np

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.errors import InputError
from oddshot.storage.model_file import Model
from oddshot.training.candidates import AUTO, CandidateTraining, Contender
from oddshot.training.comparison import Figure


def is_interrupted(model: Model) -> bool:
    """Whether the training of a model was stopped before its end."""
    return model.training.get("interrupted") is True


def interruption_facts(tasks: TaskSet) -> dict[str, Any]:
    """What the training facts of a model say where its training was stopped before its end."""
    return {"interrupted": True, "fleet": _digest(tasks)}


def check_resumable(model: Model, tasks: TaskSet, sizes: EpisodeSizes, seed: int) -> None:
    """Refuse to go on with other tasks, episodes or another seed: other tasks would be held out than before."""
    if not is_interrupted(model):
        raise InputError("the training to resume was not interrupted")
    expected = {
        "other tasks or columns": ("fleet", _digest(tasks)),
        "other numbers of rows in a simulated task": ("sizes", dataclasses.asdict(sizes)),
        "another seed": ("seed", seed),
    }
    changed = [title for title, (name, value) in expected.items() if model.training.get(name) != value]
    if changed:
        raise InputError(f"the training to resume had {' and '.join(changed)}")


def check_resumed_method(model: Model, method: str, members: int = 1) -> None:
    """Refuse to go on with another method than before, or with an ensemble, whose members are not kept apart."""
    earlier = AUTO if "candidates" in model.training else model.method.name
    if earlier != method:
        raise InputError(f"the training to resume was of method {earlier!r}, not {method!r}")
    if members > 1 or "members" in model.training:
        raise InputError("training of several members cannot be resumed")


def resumed_config(model: Model, method: str, members: int, hyperparameters: dict[str, Any]) -> Any:
    """The configuration of a method whose training is continued; changed settings are refused."""
    check_resumed_method(model, method, members)
    values = dataclasses.asdict(model.method.config)
    for name, value in hyperparameters.items():
        if values.get(name) != value:
            raise InputError(f"the training to resume had {name} {values.get(name)}, not {value}")
    return model.method.config


def earlier_contenders(run: CandidateTraining) -> dict[str, tuple[Contender, Figure]]:
    """The candidates of an interrupted comparison, by their titles; only the chosen one still has its model."""
    if run.resume is None:
        return {}
    model, facts = run.resume, run.resume.training
    earlier = {}
    for title, entry in facts["candidates"].items():
        is_chosen = title == facts["chosen"]
        contender = Contender(
            title,
            np.empty(0),
            (lambda new_facts: dataclasses.replace(model, training=new_facts)) if is_chosen else None,
            facts["epochs"] if is_chosen else 0,
            entry["best_epoch"],
            "interrupted" in entry,
        )
        earlier[title] = (contender, Figure(entry["auc"], entry["lead"], entry["standard_error"]))
    return earlier


def _digest(tasks: TaskSet) -> str:
    """A hash of the encoded rows and of which task and label each belongs to."""
    digest = hashlib.sha256()
    for part in (tasks.X, tasks.order, tasks.normal_start, tasks.normal_count, tasks.anomaly_count):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return digest.hexdigest()[:16]
