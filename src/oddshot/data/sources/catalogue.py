"""Load datasets by name, from a folder of .npz files or from the cache that `oddshot data fetch` fills."""

import io
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oddshot.data.files import write_bytes
from oddshot.data.sources.arrays import DatasetArrays
from oddshot.data.sources.cards import CARDS, PAPER_DATASETS, Card, find_card
from oddshot.data.sources.dami import read_dami
from oddshot.data.sources.fetch import MANUAL_FOLDER, cache_folder, find_in_cache, unpack_dataset
from oddshot.data.sources.landmine import read_landmine
from oddshot.data.sources.nbaiot import read_nbaiot
from oddshot.data.sources.npz import read_npz
from oddshot.errors import FileError, InputError, OddshotError

__all__ = ["CARDS", "PAPER_DATASETS", "Card", "Dataset", "device_tasks", "find_card", "load_dataset", "locate_dataset"]


@dataclass(frozen=True)
class Dataset:
    """The rows and labels of one named dataset.

    X: [n, M]. y: [n], 1 = anomaly, 0 = normal. task: [n], an index into task_names, or None if all rows are one task.
    notes: a line for each count that differs from the card's.
    """

    name: str
    X: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.int8] = field(repr=False)
    task: NDArray[np.int64] | None = field(repr=False)
    task_names: tuple[str, ...] = field(repr=False)
    card: Card = field(repr=False)
    notes: tuple[str, ...] = ()


def load_dataset(name: str, data_dir: str | Path | None = None, cache_dir: str | Path | None = None) -> Dataset:
    """Load a dataset of the paper by its name or an alias, from data_dir/name.npz or else from the cache.

    A device of N-BaIoT (doorbell1, ...) comes with the tasks of all nine devices: `device_tasks` returns its own.
    """
    card = find_card(name)
    path = locate_dataset(card, data_dir, cache_dir)
    if path is None:
        searched = "not in the cache" if data_dir is None else f"neither in {data_dir} nor in the cache"
        raise InputError(
            f"{card.title} is not here ({searched}): `oddshot data fetch {card.name}` gets it, or give --data-dir DIR "
            f"with {card.name}.npz in it"
        )
    arrays = _read(card, path, cache_folder(cache_dir))
    if arrays.task is not None and not arrays.task_names:
        n_tasks = int(arrays.task.max()) + 1
        numbered = tuple(f"task {i}" for i in range(n_tasks))
        arrays = arrays._replace(task_names=card.task_names if n_tasks == len(card.task_names) else numbered)
    return Dataset(card.name, *arrays, card, tuple(_compare_counts(card, arrays)))


def locate_dataset(card: Card, data_dir: str | Path | None = None, cache_dir: str | Path | None = None) -> Path | None:
    """Return the path that a dataset would be read from, None if there is none; nothing is unpacked."""
    if data_dir is not None:
        if not Path(data_dir).is_dir():
            raise FileError(f"{data_dir}: no such folder; expected one with NAME.npz files")
        path = Path(data_dir) / f"{card.name}.npz"
        if path.is_file():
            return path
    return find_in_cache(card, cache_folder(cache_dir))


def device_tasks(dataset: Dataset, device: str | None = None) -> NDArray[np.int64]:
    """Return the indices of the tasks of one N-BaIoT device: that of the card, or the one given by name or folder."""
    folder = dataset.card.device if device is None else find_card(device).device
    return np.array([i for i, name in enumerate(dataset.task_names) if name.split("/")[0] == folder], dtype=np.int64)


def _read(card: Card, path: Path, cache: Path) -> DatasetArrays:
    """Read a dataset in the format of its file."""
    if path.suffix == ".npz":
        return read_npz(path)
    if card.format == "csv":
        arrays = read_nbaiot(cache / card.source.file_name, cache / MANUAL_FOLDER)
        _write_cache(cache / card.cache_file, arrays)
        return arrays
    file = unpack_dataset(card, cache)
    return DatasetArrays(*(read_landmine(file) if card.format == "mat" else read_dami(file)))


def _write_cache(path: Path, arrays: DatasetArrays) -> None:
    """Store rows that take minutes to sample."""
    buffer = io.BytesIO()
    X, y, task, task_names = arrays
    np.savez_compressed(buffer, X=X, y=y, task=np.asarray(task), task_names=np.array(task_names))
    with suppress(OddshotError):  # without a cache the rows are sampled again next time
        write_bytes(path, buffer.getvalue())


def _compare_counts(card: Card, arrays: DatasetArrays) -> list[str]:
    """Return a line for each count that differs from the paper's Table 4."""
    X, y, task, names = arrays
    notes = []
    if X.shape[1] != card.n_attributes:
        notes.append(f"{card.title}: {X.shape[1]} attributes here, {card.n_attributes} in the paper's Table 4")
    if card.task_names and len(names) != len(card.task_names):
        notes.append(f"{card.title}: {max(len(names), 1)} tasks here, {len(card.task_names)} in the paper")
    n_tasks = len(names) if task is not None and card.per_task else 1
    task_of_row = task if task is not None and card.per_task else np.zeros(len(y), dtype=np.int64)
    unit = " a task" if card.per_task else ""
    for label, word, expected in ((0, "normal", card.n_normal), (1, "anomalous", card.n_anomaly)):
        counts = np.bincount(task_of_row[y == label], minlength=n_tasks)
        if (counts != expected).any():
            here = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
            notes.append(f"{card.title}: {here} {word} rows{unit} here, {expected} in the paper's Table 4")
    return notes
