"""Fleets of the field trial: a model trained with the defaults on some tasks, on targets that took no part in training.

Digits, Landmine and N-BaIoT have tasks of their own; mixings of breast cancer's columns stand for many alike machines;
the wide fleets are lifted to hundreds of columns by a fixed random non-linear map. All but Landmine and N-BaIoT are
made of data that ships with scikit-learn.
"""

import hashlib
import itertools
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.field.episodes import draw_episode
from oddshot.bench.field.opponents import scale_episode, score_opponent
from oddshot.bench.field.product import PRODUCT, SHIPPED, score_product
from oddshot.bench.field.situations import Situation
from oddshot.bench.field.tables import FieldTable
from oddshot.data.task import ANOMALY, NORMAL, Task
from oddshot.errors import InputError
from oddshot.storage.model_file import Model

FloatArray = NDArray[np.float64]
LabelledTable = tuple[str, FloatArray, NDArray[np.int8]]
RankedRows = tuple[FloatArray, NDArray[np.bool_]]  # scores and which rows are anomalies

FLEET_SIZES = (1, 2, 3, 5, 10, 30, 100, 400)
FLEET_NAMES = ("digits", "breast cancer mixings", "landmine", "nbaiot", "wide digits", "wide breast cancer")
N_REPETITIONS = 3
MAX_WIDE_TASKS = 12
N_MIXINGS, N_MIXED_TARGETS = 400, 5
N_LANDMINE_TARGETS = 4
WIDE_DIGITS_COLUMNS, WIDE_CANCER_COLUMNS = 512, 1000
MAX_ROWS_OF_MIXING = (200, 50)  # normal rows and anomalies of each task


@dataclass(frozen=True)
class Fleet(FieldTable):
    """Training tasks in the order in which they join the fleet, and targets; X and y are the targets' rows."""

    training: tuple[Task, ...] = field(default=(), repr=False)
    targets: tuple[FieldTable, ...] = field(default=(), repr=False)

    def fingerprint(self) -> str:
        """Hash of the rows and labels of targets and training tasks."""
        digest = hashlib.sha256(super().fingerprint().encode())
        for task in self.training:
            digest.update(np.ascontiguousarray(task.X).tobytes() + task.y.tobytes())
        return digest.hexdigest()[:16]


def load_fleets(data_dir: str | None, cache_dir: str | None = None, names: Sequence[str] = FLEET_NAMES) -> list[Fleet]:
    """Three repetitions of every fleet whose data are here, with other tasks as targets or in another order."""
    fleets = []
    for name in names:
        if name in ("landmine", "nbaiot") and not _is_here(name, data_dir, cache_dir):
            continue
        for repetition in range(N_REPETITIONS):
            rng = np.random.default_rng([zlib.crc32(name.encode()), repetition])
            training, targets = _make_tasks(name, rng, repetition, data_dir, cache_dir)
            fleets.append(_make_fleet(name, repetition, training, targets, rng))
    return fleets


def fleet_situations(fleets: Sequence[Fleet]) -> list[tuple[Situation, Fleet]]:
    """Every fleet at every size that it has tasks for; 5 normal rows and 1 anomaly of a target are labelled."""
    return [
        (Situation("fleets", fleet.source, f"{n} task{'s' * (n > 1)}", 5, 1, n_training_tasks=n), fleet)
        for fleet in fleets
        for n in FLEET_SIZES
        if n <= len(fleet.training)
    ]


_SCORED: dict[tuple[str, str, int], list[RankedRows]] = {}  # of methods that the size of the fleet does not matter to


def fleet_scores(situation: Situation, fleet: Fleet, method: str, n_draws: int) -> list[RankedRows]:
    """Scores and truth of a method on the draws of all targets; the detector is trained once for all of them."""
    if method == PRODUCT:
        model = train_model(fleet.training[: situation.n_training_tasks])
        return _score_targets(situation, fleet, method, n_draws, model)
    key = (fleet.name, method, n_draws)
    if key not in _SCORED:
        _SCORED[key] = _score_targets(situation, fleet, method, n_draws)
    return _SCORED[key]


def _score_targets(
    situation: Situation, fleet: Fleet, method: str, n_draws: int, model: Model | None = None
) -> list[RankedRows]:
    scored = []
    for target, draw in itertools.product(fleet.targets, range(n_draws)):
        episode = draw_episode(situation, target, draw)
        if method in (PRODUCT, SHIPPED):
            scores = score_product(episode, model)
        else:
            scores = score_opponent(method, scale_episode(episode))
        scored.append((scores, episode.is_anomaly))
    return scored


def train_model(tasks: Sequence[Task]) -> Model:
    """A model trained with the defaults."""
    from oddshot.training.meta_training import meta_train

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return meta_train(tasks, progress=False, device="cpu")


def _is_here(name: str, data_dir: str | None, cache_dir: str | None) -> bool:
    from oddshot.data.sources.catalogue import find_card, locate_dataset

    return locate_dataset(find_card(name), data_dir, cache_dir) is not None


def _make_fleet(
    name: str,
    repetition: int,
    training: Sequence[LabelledTable],
    targets: Sequence[LabelledTable],
    rng: np.random.Generator,
) -> Fleet:
    order = rng.permutation(len(training))
    tables = tuple(FieldTable(f"{name}: {title}", name, "reporting", X, y) for title, X, y in targets)
    return Fleet(
        f"{name} ({repetition})",
        name,
        "reporting",
        np.concatenate([table.X for table in tables]),
        np.concatenate([table.y for table in tables]),
        tuple(Task(*training[k]) for k in order),
        tables,
    )


def _make_tasks(
    name: str, rng: np.random.Generator, repetition: int, data_dir: str | None, cache_dir: str | None
) -> tuple[list[LabelledTable], list[LabelledTable]]:
    """Training tasks and targets of a fleet."""
    if name in ("digits", "wide digits"):
        return _digit_tasks(rng, WIDE_DIGITS_COLUMNS if name == "wide digits" else 0)
    if name == "breast cancer mixings":
        tasks = _mixings(rng, N_MIXINGS + N_MIXED_TARGETS)
        return tasks[N_MIXED_TARGETS:], tasks[:N_MIXED_TARGETS]
    if name == "wide breast cancer":
        tasks = [
            (title, _lift(X, WIDE_CANCER_COLUMNS), y) for title, X, y in _mixings(rng, MAX_WIDE_TASKS + 5, strength=0.3)
        ]
        return tasks[5:], tasks[:5]
    tasks, devices = _stored_tasks(name, data_dir, cache_dir)
    if name == "nbaiot":
        device = sorted(set(devices))[repetition % len(set(devices))]
        is_target = np.array([own == device for own in devices])
    else:
        is_target = rng.permutation(len(tasks)) < N_LANDMINE_TARGETS
    training = [task for task, chosen in zip(tasks, is_target, strict=True) if not chosen]
    return training, [task for task, chosen in zip(tasks, is_target, strict=True) if chosen]


def _digit_tasks(rng: np.random.Generator, n_columns: int) -> tuple[list[LabelledTable], list[LabelledTable]]:
    """Pairs of digits, one of them normal: six kinds for training, and pairs of the four other kinds as targets."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    X = _lift(X, n_columns) if n_columns else X
    kinds = rng.permutation(10)

    def pairs(group: NDArray[np.int64]) -> list[LabelledTable]:
        tasks: list[LabelledTable] = []
        for normal, anomaly in itertools.permutations(sorted(group), 2):
            rows = np.isin(digit, (normal, anomaly))
            tasks.append((f"{normal} and {anomaly}", X[rows], (digit[rows] == anomaly).astype(np.int8)))
        return tasks

    training = pairs(kinds[:6])
    if n_columns:
        training = [training[k] for k in rng.permutation(len(training))[:MAX_WIDE_TASKS]]
    return training, pairs(kinds[6:])


def _mixings(rng: np.random.Generator, n: int, strength: float = 1.0) -> list[LabelledTable]:
    """Breast cancer's rows with their columns mixed by a matrix of each task. strength: 0 for unmixed columns, 1."""
    from sklearn.datasets import load_breast_cancer

    X, benign = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    normal, anomaly = np.flatnonzero(benign == 1), np.flatnonzero(benign == 0)
    tasks = []
    for k in range(n):
        groups = zip((normal, anomaly), MAX_ROWS_OF_MIXING, strict=True)
        rows = [rng.permutation(group)[:limit] for group, limit in groups]
        mixing = rng.normal(size=(X.shape[1], X.shape[1])) / np.sqrt(X.shape[1])
        matrix = strength * mixing + (1 - strength) * np.eye(X.shape[1])
        labels = np.repeat([NORMAL, ANOMALY], [*map(len, rows)]).astype(np.int8)
        tasks.append((f"mixing {k}", X[np.concatenate(rows)] @ matrix, labels))
    return tasks


def _lift(X: FloatArray, n_columns: int) -> FloatArray:
    """Columns that are fixed non-linear functions of the given ones: tanh of random projections. [n, M] -> [n, N]."""
    rng = np.random.default_rng(n_columns)
    scale = np.sqrt((X**2).mean() * X.shape[1]) or 1.0
    lifted: FloatArray = np.tanh(X @ rng.normal(size=(X.shape[1], n_columns)) * 2 / scale + rng.normal(size=n_columns))
    return lifted


def _stored_tasks(name: str, data_dir: str | None, cache_dir: str | None) -> tuple[list[LabelledTable], list[str]]:
    """The tasks of Landmine or N-BaIoT, and the device of each."""
    from oddshot.data.sources.catalogue import load_dataset

    dataset = load_dataset(name, data_dir, cache_dir)
    if dataset.task is None:
        raise InputError(f"{name}: no tasks in it; expected an array `task` with the number of each row's task")
    tasks: list[LabelledTable] = []
    for number, title in enumerate(dataset.task_names):
        rows = dataset.task == number
        tasks.append((title, dataset.X[rows], dataset.y[rows]))
    return tasks, [title.split("/")[0] for title in dataset.task_names]
