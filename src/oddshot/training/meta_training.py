"""From a fleet's labelled tasks to a model: encode, set validation tasks aside, train, calibrate."""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oddshot import __version__
from oddshot.data.encoding import Encoding
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.data.episodes.splits import split_tasks
from oddshot.data.task import ANOMALY, NORMAL, Task
from oddshot.errors import InputError
from oddshot.methods import find_method
from oddshot.methods.contract import LabelledRows, Method
from oddshot.methods.ensemble import Ensemble, split_replicas, typical_scores
from oddshot.methods.relative import RelativeConfig
from oddshot.model.device import resolve_device
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model
from oddshot.training.algorithm import History, TrainingConfig, TrainingData, train
from oddshot.training.batches import validation_episodes
from oddshot.training.held_out import learn_decisions
from oddshot.training.progress import training_bar
from oddshot.training.ranks import Ranks


def meta_train(
    tasks: Sequence[Task],
    *,
    validation: Sequence[Task] | None = None,
    method: str = "relative",
    start: Model | None = None,
    members: int = 1,
    seed: int = 0,
    device: str = "auto",
    sizes: EpisodeSizes | None = None,
    encoding: Encoding | None = None,
    training: TrainingConfig | None = None,
    progress: bool = True,
    ranks: Ranks | None = None,
    **hyperparameters: Any,
) -> Model:
    """Learn from many labelled tasks a model that adapts to a new one.

    Parameters
    ----------
    tasks : sequence of Task
        Labelled tasks with the same columns. One with too few rows for an episode is skipped with a warning.
    validation : sequence of Task, optional
        Tasks for early stopping and calibration; by default a tenth of `tasks`, drawn at random.
    method : str, default="relative"
        The name of a method; `oddshot.methods.METHODS` lists them.
    start : Model, optional
        A model of the same method whose training goes on, with its settings; `load_universal()` is the one that ships.
    members : int, default=1
        Networks of an ensemble, trained together from seeds of their own; its score is the mean of theirs.
    seed : int, default=0
        The same seed gives the same model on the same machine.
    device : str, default="auto"
        "cpu", "cuda", or "auto": CUDA where there is one.
    sizes : EpisodeSizes, optional
        Numbers of support and query rows of a training episode.
    encoding : Encoding, optional
        How columns become numbers; by default fitted on the tasks.
    training : TrainingConfig, optional
        Learning rate, batch size, epochs and patience.
    progress : bool, default=True
        Show a progress bar on a terminal.
    ranks : Ranks, optional
        Processes that all call this with the same arguments and share the work, from `joined_ranks`.
    **hyperparameters
        Fields of the method's configuration, such as `units` or `dropout`.

    Returns
    -------
    Model
        The trained method with its encoding, threshold, calibration and familiarity.

    Raises
    ------
    InputError
        If no task has enough rows, or a name or setting is unknown.

    Examples
    --------
    >>> import numpy as np, oddshot
    >>> rng = np.random.default_rng(0)
    >>> def machine(name):
    ...     X, y = rng.normal(size=(40, 3)), np.arange(40) % 5 == 0
    ...     X[y, 0] += 5
    ...     return oddshot.Task(name, X, y * 1)
    >>> config = oddshot.TrainingConfig(epochs=2, batch_size=4)
    >>> model = oddshot.meta_train([machine(f"m{k}") for k in range(6)], training=config, progress=False)
    >>> model.method.name
    'relative'
    """
    sizes, training, where = sizes or EpisodeSizes(), training or TrainingConfig(), resolve_device(device)
    chosen = find_method(method)
    config = _configure(chosen, hyperparameters) if start is None else _config_of(start, chosen, hyperparameters)
    tasks = usable_tasks(tasks, sizes)
    held_out = usable_tasks(validation, sizes, "validation tasks") if validation is not None else None
    encoding = encoding or fit_encoding(tasks)
    pool = _task_set(tasks, encoding)
    train_pool, valid_pool = _split(pool, seed) if held_out is None else (pool, _task_set(held_out, encoding))
    network = _networks(chosen, encoding.n_attributes, config, members)
    data = TrainingData([train_pool] * members, [valid_pool] * members, sizes)
    with training_bar(training, enabled=progress) as on_epoch:
        history = train(
            network, data, [seed + k for k in range(members)], config=training, device=where, on_epoch=on_epoch,
            ranks=ranks, start=None if start is None else start.method,
        )  # fmt: skip
    held_out_rows = validation_episodes([valid_pool], sizes, "resampled", where, [np.random.SeedSequence([seed, 1])])
    if members > 1:
        parts = split_replicas(network, lambda: chosen(encoding.n_attributes, config))
        network = Ensemble(parts, typical_scores(parts, *held_out_rows))
    threshold = find_threshold(network, *held_out_rows)
    decisions = learn_decisions(network, train_pool, valid_pool, sizes, where, seed)
    return Model(network, encoding, threshold, _facts(history, data, seed), *decisions)


def usable_tasks(tasks: Sequence[Task], sizes: EpisodeSizes, what: str = "tasks") -> list[Task]:
    """Those with rows enough for an episode; each other one is named in a warning."""
    usable = []
    for task in tasks:
        n_normal, n_anomaly = int((task.y == NORMAL).sum()), int((task.y == ANOMALY).sum())
        if n_normal >= sizes.normal and n_anomaly >= sizes.anomaly:
            usable.append(task)
            continue
        warnings.warn(
            f"task {task.name!r} skipped: {n_normal} normal and {n_anomaly} anomalous rows, an episode needs "
            f"{sizes.normal} and {sizes.anomaly} (smaller episodes: query_normal, query_anomaly)",
            stacklevel=3,
        )
    if not usable:
        raise InputError(
            f"none of the {len(tasks)} {what} has rows enough: an episode needs {sizes.normal} normal and "
            f"{sizes.anomaly} anomalous rows (smaller episodes: query_normal, query_anomaly)"
        )
    return usable


def fit_encoding(tasks: Sequence[Task]) -> Encoding:
    """One encoding for the columns of all tasks; messages name the task."""
    return Encoding.fit([task.X for task in tasks], [_name_of(task) for task in tasks])


@torch.no_grad()
def find_threshold(method: Method, support: LabelledRows, query: LabelledRows) -> float:
    """The fraction of the scores' span that best separates normal from anomalous queries (balanced accuracy)."""
    score = method.adapt(support)
    low, high = (end.unsqueeze(-1) for end in score.span(support))
    known = (high > low).squeeze(-1)  # a task whose anomaly scores no higher than its normal rows tells nothing
    normal, anomaly = ((score(rows) - low) / (high - low) for rows in query)
    if not known.any():
        return DEFAULT_THRESHOLD
    return best_threshold(normal[known].flatten(), anomaly[known].flatten())


def best_threshold(normal: Tensor, anomaly: Tensor) -> float:
    """Midway between the two neighbouring scores where balanced accuracy is highest. normal: [N], anomaly: [A]."""
    cuts = torch.cat([normal, anomaly]).sort().values
    cuts = (cuts[1:] + cuts[:-1]) / 2
    rejected = torch.searchsorted(normal.sort().values, cuts, right=True) / len(normal)
    missed = torch.searchsorted(anomaly.sort().values, cuts, right=True) / len(anomaly)
    return float(cuts[(rejected - missed).argmax()])


def _configure(method: type[Method], hyperparameters: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(method.config_type)]
    for name in hyperparameters:
        if name not in known:
            raise InputError(f"method {method.name!r} has no setting {name!r}; it has {', '.join(known)}")
    return method.config_type(**hyperparameters)


def _config_of(start: Model, method: type[Method], hyperparameters: dict[str, Any]) -> Any:
    """The configuration of a method whose training goes on from a model."""
    if start.method.name != method.name:
        raise InputError(f"the model to start from is of method {start.method.name!r}, not {method.name!r}")
    if isinstance(start.method, Ensemble):
        raise InputError("the model to start from has several members; training goes on from one of a single network")
    if hyperparameters:
        raise InputError(f"{', '.join(hyperparameters)}: settings are those of the model to start from")
    return continued_config(start.method.config)


def continued_config(config: Any) -> Any:
    """The configuration with which training goes on: the tasks of a fleet share their columns, so these get marks."""
    return config.with_marks() if isinstance(config, RelativeConfig) else config


def _networks(method: type[Method], n_attributes: int, config: Any, members: int) -> Method:
    """As many replicas as an ensemble is to have members."""
    if members < 1:
        raise InputError(f"members is {members}; it must be at least 1")
    network = method(n_attributes, config, members)
    if members > 1 and not network.is_learned:
        raise InputError(
            f"method {method.name!r} learns nothing from other tasks: all {members} members would be alike"
        )
    return network


def _facts(history: History, data: TrainingData, seed: int) -> dict[str, Any]:
    """How a model was trained. Nothing in it differs between two runs: the same seed gives the same file."""
    best, members = history.best_epoch, len(history.epochs)
    facts = {
        "oddshot": __version__,
        "seed": seed,
        "tasks": len(data.training[0]),
        "validation_tasks": len(data.validation[0]),
        "sizes": dataclasses.asdict(data.sizes),
        "epochs": max(history.epochs),
        "best_epoch": best[0] if members == 1 else best,
        "validation_auc": sum(history.best_auc) / members,
    }
    return facts | ({"members": members} if members > 1 else {})


def _task_set(tasks: Sequence[Task], encoding: Encoding) -> TaskSet:
    return TaskSet.from_tasks([(encoding.transform(task.X, where=_name_of(task)), task.y) for task in tasks])


def _name_of(task: Task) -> str:
    return f"task {task.name!r}"


def _split(pool: TaskSet, seed: int) -> tuple[TaskSet, TaskSet]:
    if len(pool) == 1:
        warnings.warn("only one task: early stopping looks at the task it trains on", stacklevel=3)
        return pool, pool
    training, validation = split_tasks(len(pool), np.random.default_rng([seed, 0]))
    return pool.subset(training), pool.subset(validation)
