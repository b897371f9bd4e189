"""The named datasets: from a folder of .npz files, or from what `oddshot data fetch` left in the cache."""

import io
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oddshot.data.files import write_bytes
from oddshot.data.sources.cards import CARDS, PAPER_DATASETS, Card, find_card
from oddshot.data.sources.dami import read_dami
from oddshot.data.sources.fetch import BY_HAND, cache_folder, cached, unpacked
from oddshot.data.sources.landmine import read_landmine
from oddshot.data.sources.nbaiot import read_nbaiot
from oddshot.data.sources.npz import Arrays, read_npz
from oddshot.errors import InputError, OddshotError

__all__ = ["CARDS", "PAPER_DATASETS", "Card", "Dataset", "device_tasks", "find_card", "load_dataset", "where_is"]


@dataclass(frozen=True)
class Dataset:
    """Rows and labels of one named dataset.

    X: [n, M]. y: [n], 1 = anomaly, 0 = normal. task: [n], a place in task_names, or None where all rows are one task.
    notes: a line for each count that is not the card's.
    """

    name: str
    X: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.int8] = field(repr=False)
    task: NDArray[np.int64] | None = field(repr=False)
    task_names: tuple[str, ...] = field(repr=False)
    card: Card = field(repr=False)
    notes: tuple[str, ...] = ()


def load_dataset(name: str, data_dir: str | Path | None = None, cache_dir: str | Path | None = None) -> Dataset:
    """A dataset of the paper by name (any case, aliases), from data_dir/name.npz or else from the cache.

    A device of N-BaIoT (doorbell1, ...) comes with the tasks of all nine: `device_tasks` tells which are its own.
    """
    card = find_card(name)
    place = where_is(card, data_dir, cache_dir)
    if place is None:
        looked = "not in the cache" if data_dir is None else f"neither in {data_dir} nor in the cache"
        raise InputError(
            f"{card.title} is not here ({looked}): `oddshot data fetch {card.name}` gets it, or give --data-dir DIR "
            f"with {card.name}.npz in it"
        )
    X, y, task, names = _read(card, place, cache_folder(cache_dir))
    if task is not None and not names:
        n_tasks = int(task.max()) + 1
        names = card.task_names if n_tasks == len(card.task_names) else tuple(f"task {i}" for i in range(n_tasks))
    return Dataset(card.name, X, y, task, names, card, tuple(_notes(card, X, y, task, names)))


def where_is(card: Card, data_dir: str | Path | None = None, cache_dir: str | Path | None = None) -> Path | None:
    """The file that a dataset would be read from, None where there is none. Unpacks nothing."""
    if data_dir is not None:
        if not Path(data_dir).is_dir():
            raise InputError(f"{data_dir}: no such folder; expected one with NAME.npz files")
        path = Path(data_dir) / f"{card.name}.npz"
        if path.is_file():
            return path
    return cached(card, cache_folder(cache_dir))


def device_tasks(dataset: Dataset, device: str | None = None) -> NDArray[np.int64]:
    """Numbers of the tasks of one N-BaIoT device: the card's own, or the one given by name or folder."""
    folder = dataset.card.device if device is None else find_card(device).device
    return np.array([i for i, name in enumerate(dataset.task_names) if name.split("/")[0] == folder], dtype=np.int64)


def _read(card: Card, place: Path, cache: Path) -> Arrays:
    if place.suffix == ".npz":
        return read_npz(place)
    if card.format == "csv":
        tables = read_nbaiot(cache / card.source.file_name, cache / BY_HAND)
        _keep(cache / card.kept_as, tables)
        return tables
    path = unpacked(card, cache)
    if card.format == "mat":
        return (*read_landmine(path), ())
    return (*read_dami(path), None, ())


def _keep(path: Path, tables: Arrays) -> None:
    """Drawn once: the next reading takes no minutes."""
    X, y, task, names = tables
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=X, y=y, task=np.asarray(task), task_names=np.array(names))
    with suppress(OddshotError):  # a cache that cannot be written to costs time, nothing else
        write_bytes(path, buffer.getvalue())


def _notes(
    card: Card, X: NDArray[np.float64], y: NDArray[np.int8], task: NDArray[np.int64] | None, names: tuple[str, ...]
) -> list[str]:
    """Both counts, wherever the data have others than Table 4."""
    notes = []
    if X.shape[1] != card.n_attributes:
        notes.append(f"{card.title}: {X.shape[1]} attributes here, {card.n_attributes} in the paper's Table 4")
    if card.task_names and len(names) != len(card.task_names):
        notes.append(f"{card.title}: {max(len(names), 1)} tasks here, {len(card.task_names)} in the paper")
    n_tasks = len(names) if task is not None and card.per_task else 1
    numbers = task if task is not None and card.per_task else np.zeros(len(y), dtype=np.int64)
    unit = " a task" if card.per_task else ""
    for label, word, expected in ((0, "normal", card.n_normal), (1, "anomalous", card.n_anomaly)):
        counts = np.bincount(numbers[y == label], minlength=n_tasks)
        if (counts != expected).any():
            here = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
            notes.append(f"{card.title}: {here} {word} rows{unit} here, {expected} in the paper's Table 4")
    return notes
