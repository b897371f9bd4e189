"""Meta-training: from labelled tasks to a model, by encoding, splitting off validation tasks, training, calibration."""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oddshot import __version__
from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.data.episodes.splits import split_tasks
from oddshot.data.tables.label_copies import warn_of_label_copies
from oddshot.data.task import ANOMALY, NORMAL, Task
from oddshot.errors import InputError, require_type, require_whole_number
from oddshot.methods import find_method
from oddshot.methods.contract import Method
from oddshot.methods.ensemble import Ensemble, typical_scores
from oddshot.methods.relative import RelativeConfig
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import Model
from oddshot.training.algorithm import History, TrainingConfig, TrainingData, train
from oddshot.training.arguments import check_callbacks, check_seed, check_settings, check_tasks, split_settings
from oddshot.training.batches import validation_episodes
from oddshot.training.candidates import AUTO, CandidateTraining
from oddshot.training.choosing import choose_model, compared_fleet
from oddshot.training.device import resolve_device
from oddshot.training.held_out import learn_decisions
from oddshot.training.interruption import check_resumable, interruption_facts, resumed_config
from oddshot.training.interrupts import until_interrupted
from oddshot.training.progress import ProgressMode, training_bar, until_stopped, working_bar
from oddshot.training.ranks import Ranks
from oddshot.training.thresholds import find_threshold
from oddshot.training.trainable import Trainable
from oddshot.training.validation import of_replica
from oddshot.universal.shipped import find_model


def meta_train(
    tasks: Sequence[Task],
    *,
    validation: Sequence[Task] | None = None,
    method: str = AUTO,
    start: Model | str | Path | None = None,
    members: int = 1,
    seed: int = 0,
    device: str = "auto",
    sizes: EpisodeSizes | None = None,
    encoding: Encoding | None = None,
    training: TrainingConfig | None = None,
    progress: ProgressMode = True,
    ranks: Ranks | None = None,
    stop: Callable[[], bool] | None = None,
    resume: Model | None = None,
    **settings: Any,
) -> Model:
    """Train a model on many labelled tasks, so that it adapts to a new task from a few labelled rows.

    Parameters
    ----------
    tasks : sequence of Task
        Labelled tasks with the same columns. One with too few rows for an episode is skipped with a warning.
    validation : sequence of Task, optional
        Tasks for early stopping and calibration, and for the choice of a method; by default they are taken from
        `tasks`: with "auto" by cross-validation, with a method a tenth, drawn at random.
    method : str, default="auto"
        The name of a method; `oddshot.methods.method_names` lists them. With "auto", the model that ships, that model
        trained further, simple methods and new networks are compared on held-out tasks: the best of them is trained on
        all tasks, and the model that ships is returned unless another one is clearly ahead of it.
    start : Model, str or Path, optional
        A model of the same method from which training continues, with its settings: the model, the path of its file,
        or its name, such as "universal" for the one that ships. With "auto", its method is trained.
    members : int, default=1
        Number of members of an ensemble, each trained from its own seed; its score is the mean of theirs. Needs the
        name of a method.
    seed : int, default=0
        The same seed gives the same model on the same machine.
    device : str, default="auto"
        "cpu", "cuda", or "auto" for CUDA if it is available.
    sizes : EpisodeSizes, optional
        Numbers of support and query rows of a training episode; by default the paper's.
    encoding : Encoding, optional
        How columns become numbers; by default fitted on the tasks.
    training : TrainingConfig, optional
        Learning rate, batch size, epochs and patience; by default the paper's. With "auto", the last three are limits,
        within which each candidate has its own.
    progress : bool or "epochs", default=True
        Show a progress bar on a terminal, and otherwise a line on stderr every ten seconds or less often. "epochs"
        shows a line for each epoch.
    ranks : Ranks, optional
        Processes that all call this function with the same arguments and share the work, from `torchrun_ranks`.
    stop : callable, optional
        Called after every epoch and every candidate. Once it returns True, training ends, and the best model so far is
        returned, with `"interrupted": True` in its `training`. Not available with several processes. Without it, Ctrl-C
        does the same, with a warning, and a second Ctrl-C raises KeyboardInterrupt; so does the first one outside of
        the main thread, with several processes, and in a program that handles Ctrl-C itself.
    resume : Model, optional
        A model whose training was ended by `stop` or Ctrl-C. With the same tasks, sizes, seed and method, training
        continues from its weights; with "auto", finished candidates keep their figures, and the others are trained from
        the start.
    **settings
        Single fields of `training` and `sizes` by their names, such as `epochs` and `query_normal`, as the options of
        `oddshot train`; and fields of the method's configuration, such as `units` or `dropout`, which need the name of
        a method.

    Returns
    -------
    Model
        The trained method with its encoding, threshold and calibration.

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
    >>> fleet = [machine(f"m{k}") for k in range(6)]
    >>> model = oddshot.meta_train(fleet, method="relative", epochs=2, batch_size=4, progress=False)
    >>> model.method.name
    'relative'
    """
    check_settings(sizes=sizes, encoding=encoding, training=training, ranks=ranks, resume=resume)
    check_callbacks(progress, stop)
    require_type("method", method, str, "the name of a method, such as 'relative'")
    require_whole_number("members", members, least=1)
    tasks, seed, torch_device = check_tasks(tasks), check_seed(seed), resolve_device(device)
    validation = None if validation is None else check_tasks(validation, "validation")
    training, sizes, hyperparameters = split_settings(settings, training, sizes)
    with until_interrupted(stop, ranks) as stop:
        if method == AUTO and start is None:
            refuse_settings_of_methods([*(["members"] if members != 1 else []), *hyperparameters])
            run = CandidateTraining(torch_device, seed, training, progress, ranks, stop, resume)
            return _choose(tasks, validation, encoding, sizes, run)
        start_model = None if start is None else find_model(start, name="start")
        method_type = find_method(method if start_model is None or method != AUTO else start_model.method.name)
        if resume is not None:
            config, start_model = resumed_config(resume, method_type.name, members, hyperparameters), resume
        else:
            config = _make_config(method_type, hyperparameters, start_model)
        tasks = usable_tasks(tasks, sizes)
        held_out = usable_tasks(validation, sizes, "validation tasks") if validation is not None else None
        encoding = encoding or fit_encoding(tasks)
        encoded = _task_set(tasks, encoding)
        if resume is not None:
            check_resumable(resume, encoded, sizes, seed)
        train_tasks, valid_tasks = (
            _split(encoded, seed) if held_out is None else (encoded, _task_set(held_out, encoding))
        )
        replicas = _make_replicas(method_type, encoding.n_attributes, config, members)
        data = TrainingData([train_tasks] * members, [valid_tasks] * members, sizes)
        with training_bar(training, enabled=progress) as on_epoch:
            history = train(
                replicas, data, [seed + k for k in range(members)], config=training, device=torch_device,
                on_epoch=until_stopped(on_epoch, stop), ranks=ranks,
                start=None if start_model is None else start_model.method,
            )  # fmt: skip
        interrupted = interruption_facts(encoded) if stop is not None and stop() else {}
        streams = [np.random.SeedSequence([seed, 1])]
        drawn = of_replica(validation_episodes([valid_tasks], sizes, "resampled", torch_device, streams), 0)
        learned = _as_members(replicas.all_trained(), drawn)
        threshold = find_threshold(learned, *drawn)
        calibration = learn_decisions(learned, valid_tasks, sizes, torch_device, seed)
        return Model(learned, encoding, threshold, _training_facts(history, data, seed) | interrupted, calibration)


def refuse_settings_of_methods(names: Sequence[str], advice: str = "name a method, such as 'relative'") -> None:
    """Refuse settings, by their names, that only make sense for one method."""
    if names:
        raise InputError(f"{', '.join(names)}: method 'auto' has no such setting; {advice}")


def _choose(
    tasks: Sequence[Task],
    validation: Sequence[Task] | None,
    encoding: Encoding | None,
    sizes: EpisodeSizes,
    run: CandidateTraining,
) -> Model:
    """The best of several candidates on held-out tasks."""
    tasks = usable_tasks(tasks, sizes, stacklevel=5)
    held_out = [] if validation is None else usable_tasks(validation, sizes, "validation tasks", stacklevel=5)
    encoding = encoding or fit_encoding(tasks)
    everything = [*tasks, *held_out]
    with working_bar("choosing the tasks to hold out", enabled=run.progress):
        fleet = compared_fleet(everything, encoding, _task_set(everything, encoding), sizes, len(held_out), run.seed)
    return choose_model(fleet, run)


def usable_tasks(
    tasks: Sequence[Task],
    sizes: EpisodeSizes,
    what: str = "tasks",
    stacklevel: int = 3,
    smaller: str = "query_normal, query_anomaly",
) -> list[Task]:
    """The tasks with enough rows for an episode; a warning names each of the others.

    smaller: by what a person asks for smaller episodes, for messages.
    """
    counts = [(int((task.y == NORMAL).sum()), int((task.y == ANOMALY).sum())) for task in tasks]
    needed = _describe_episode(sizes)
    if not any(n_anomaly for _, n_anomaly in counts):
        raise InputError(
            f"none of the {len(tasks)} {what} has a row that is labelled anomalous, and {needed}; without anomalies, "
            "take the model that ships, which adapts to normal rows alone"
        )
    usable = []
    for task, (n_normal, n_anomaly) in zip(tasks, counts, strict=True):
        if n_normal >= sizes.normal and n_anomaly >= sizes.anomaly:
            usable.append(task)
            continue
        warnings.warn(
            f"task {task.name!r} skipped: {n_normal} normal and {n_anomaly} anomalous rows; {needed} (smaller "
            f"episodes: {smaller})",
            stacklevel=stacklevel,
        )
    if not usable:
        raise InputError(f"none of the {len(tasks)} {what} has rows enough: {needed} (smaller episodes: {smaller})")
    return usable


def _describe_episode(sizes: EpisodeSizes) -> str:
    """How many rows an episode needs, and for what."""
    return (
        f"an episode needs {sizes.normal} normal rows ({sizes.support_normal} to adapt to and {sizes.query_normal} to "
        f"test on) and {sizes.anomaly} anomalous ones ({sizes.support_anomaly} and {sizes.query_anomaly})"
    )


def fit_encoding(tasks: Sequence[Task], choice: ColumnChoice | None = None) -> Encoding:
    """One encoding for the columns of all tasks; error messages name the task. choice: of columns and their kinds."""
    encoding = Encoding.fit([task.X for task in tasks], [_describe(task) for task in tasks], choice)
    warn_of_label_copies([(task.X, task.y) for task in tasks], encoding.recognised(choice), f"{len(tasks)} tasks")
    return encoding


def _make_config(method: type[Method], hyperparameters: dict[str, Any], start: Model | None) -> Any:
    """The configuration of a method with these hyperparameters, or of one whose training continues from a model."""
    if start is not None:
        return _continued_model_config(method, hyperparameters, start)
    known = [field.name for field in dataclasses.fields(method.config_type)]
    for name in hyperparameters:
        if name not in known:
            raise InputError(f"method {method.name!r} has no setting {name!r}; it has {', '.join(known)}")
    return method.config_type(**hyperparameters)


def _continued_model_config(method: type[Method], hyperparameters: dict[str, Any], start: Model) -> Any:
    """The configuration of a method whose training continues from a model, which must be of that method."""
    if start.method.name != method.name:
        raise InputError(f"the model to start from is of method {start.method.name!r}, not {method.name!r}")
    if isinstance(start.method, Ensemble):
        raise InputError("the model to start from has several members; training goes on from one of a single network")
    if hyperparameters:
        raise InputError(f"{', '.join(hyperparameters)}: settings are those of the model to start from")
    return continued_config(start.method.config)


def continued_config(config: Any) -> Any:
    """The configuration for further training on tasks that share their columns: in `relative`, columns get marks."""
    return config.with_marks() if isinstance(config, RelativeConfig) else config


def _make_replicas(method: type[Method], n_attributes: int, config: Any, members: int) -> Trainable:
    """The method with one replica for each member of the ensemble."""
    replicas = Trainable(method, n_attributes, config, members)
    if members > 1 and not replicas.is_learned:
        raise InputError(
            f"method {method.name!r} learns nothing from other tasks: all {members} members would be alike"
        )
    return replicas


def _as_members(methods: Sequence[Method], episodes: tuple[LabelledRows, LabelledRows]) -> Method:
    """The members of an ensemble, a single one as it is. episodes: support and query of held-out tasks."""
    return methods[0] if len(methods) == 1 else Ensemble(methods, typical_scores(methods, *episodes))


def _training_facts(history: History, data: TrainingData, seed: int) -> dict[str, Any]:
    """How a model was trained, without durations: the same seed must give the same file."""
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
    encoded = [encoding.clip(encoding.transform(task.X, where=_describe(task))) for task in tasks]
    return TaskSet.from_tasks([(rows, task.y) for rows, task in zip(encoded, tasks, strict=True)])


def _describe(task: Task) -> str:
    return f"task {task.name!r}"


def _split(tasks: TaskSet, seed: int) -> tuple[TaskSet, TaskSet]:
    """Training and validation tasks; a single task is both."""
    if len(tasks) == 1:
        warnings.warn("only one task: early stopping looks at the task it trains on", stacklevel=3)
        return tasks, tasks
    training, validation = split_tasks(len(tasks), np.random.default_rng([seed, 0]))
    return tasks.subset(training), tasks.subset(validation)
