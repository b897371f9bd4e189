"""Datasets that users register, and the plugin files (`--plugin`) that register datasets and methods."""

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oddshot.data.sources import cards, catalogue
from oddshot.data.sources.cards import CARDS, Card
from oddshot.data.sources.catalogue import Dataset
from oddshot.errors import FileError, InputError, OddshotError

DatasetReader = Callable[[], tuple[Any, ...]]

DATASETS: dict[str, "PluginDataset"] = {}
_NO_DOWNLOAD = cards.ArchiveSource("", "", None, "", "")


@dataclass(frozen=True)
class Plugin:
    """A plugin file. Its text is sent with every job, so that other machines do not need the file."""

    path: str
    text: str


@dataclass(frozen=True)
class DatasetSource:
    """Where datasets are loaded from: a folder of .npz files, the download cache, or the readers of plugins."""

    data_dir: str | None = None
    cache_dir: str | None = None
    plugins: tuple[Plugin, ...] = ()

    def load(self, name: str) -> Dataset:
        """Load a registered dataset or one of the paper's."""
        if name.lower() in DATASETS:
            return DATASETS[name.lower()].load()
        return catalogue.load_dataset(name, self.data_dir, self.cache_dir)


@dataclass(frozen=True)
class PluginDataset:
    """A registered dataset.

    title: its name in tables. splits: numbers of training, validation and target tasks, None for the defaults.
    """

    name: str
    title: str
    read: DatasetReader
    splits: tuple[int, int, int] | None

    def load(self) -> Dataset:
        """Call the reader and check the arrays that it returns."""
        try:
            arrays = self.read()
        except Exception as error:
            raise InputError(
                f"dataset {self.name!r}: its read failed: {type(error).__name__}: {_first_line(error)}"
            ) from error
        if len(arrays) not in (2, 3):
            raise InputError(
                f"dataset {self.name!r}: its function gave {len(arrays)} values; expected X, y or X, y, task"
            )
        X, y = np.asarray(arrays[0], dtype=np.float64), np.asarray(arrays[1])
        if X.ndim != 2 or y.shape != X.shape[:1] or not np.isfinite(X).all() or not np.isin(y, (0, 1)).all():
            raise InputError(f"dataset {self.name!r}: expected finite numbers X [n, M] and labels y [n] of 0 and 1")
        task, task_names = (None, ()) if len(arrays) == 2 else _number_tasks(self.name, arrays[2], len(y))
        n_anomaly = int(y.sum())
        card = Card(
            self.name,
            self.title,
            n_normal=len(y) - n_anomaly,
            n_anomaly=n_anomaly,
            n_attributes=X.shape[1],
            source=_NO_DOWNLOAD,
            file="",
            format="plugin",
            splits=self.splits if self.splits or task is not None else (400, 50, 50),
            task_names=task_names,
        )
        return Dataset(self.name, X, y.astype(np.int8), task, task_names, card)


def register_dataset(
    name: str, read: DatasetReader, title: str | None = None, splits: tuple[int, int, int] | None = None
) -> None:
    """Register a dataset, so that the commands of `oddshot bench` know it by its name.

    Parameters
    ----------
    name : str
        Name of lower-case letters, digits and underscores that no dataset of the paper has.
    read : callable
        Function without parameters, called whenever the dataset is loaded. It returns (X, y) or (X, y, task): the rows
        X of shape (n_rows, n_attributes), the labels y of shape (n_rows,) where 1 is an anomaly and 0 is normal, and
        the task of every row, of shape (n_rows,). Without `task`, tasks are generated from the one table by random
        linear maps of its attributes, as in Section 4.1 of the paper.
    title : str, optional
        Name of the dataset in tables. Default: `name`.
    splits : tuple of three int, optional
        Numbers of training, validation and target tasks. Default: 400, 50 and 50 generated tasks; where `read` returns
        tasks, about 7 % of them are validation tasks and 14 % are target tasks.

    Raises
    ------
    InputError
        If the name is malformed or taken by a dataset of the paper, or a number of tasks is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from oddshot.bench import register_dataset
    >>> def read_pumps():
    ...     rng = np.random.default_rng(0)
    ...     y = np.repeat([0, 1], [90, 10])
    ...     return rng.normal(size=(100, 3)) + 2 * y[:, None], y
    >>> register_dataset("pumps", read_pumps, title="Pumps", splits=(40, 5, 5))

    In a file `pumps.py`, these lines make `oddshot bench run --plugin pumps.py --datasets pumps` possible. In Python:

    >>> from oddshot.bench.plugins import DatasetSource
    >>> DatasetSource().load("pumps").X.shape
    (100, 3)
    """
    if name != name.lower() or not name.isidentifier():
        raise InputError(f"a dataset is registered as {name!r}; expected lower-case letters, digits and _")
    if name in CARDS:
        raise InputError(f"the name {name!r} is taken by a dataset of the paper")
    if splits is not None and (len(splits) != 3 or min(splits) < 1):
        raise InputError(f"dataset {name!r}: splits {splits}; expected three counts of at least 1")
    DATASETS[name] = PluginDataset(name, title or name, read, splits)


def make_dataset_source(data_dir: str | None, cache_dir: str | None, plugin_paths: Sequence[Path]) -> DatasetSource:
    """Read and execute the plugin files, and return the source that provides their datasets and the paper's."""
    plugins = []
    for path in plugin_paths:
        try:
            plugins.append(Plugin(str(path), path.read_text(encoding="utf-8")))
        except OSError as error:
            raise FileError(f"plugin {path}: cannot be read ({error})") from error
        except UnicodeDecodeError as error:
            raise InputError(f"plugin {path}: cannot be read ({error})") from error
        load_plugin(plugins[-1])
    return DatasetSource(data_dir, cache_dir, tuple(plugins))


def load_plugin(plugin: Plugin) -> None:
    """Execute a plugin file, which registers its methods and datasets; at most once in each process."""
    name = "oddshot_plugin_" + hashlib.sha256(f"{plugin.path}\n{plugin.text}".encode()).hexdigest()[:16]
    if name in sys.modules:
        return
    module = module_from_spec(ModuleSpec(name, None, origin=plugin.path))
    module.__file__ = plugin.path
    sys.modules[name] = module  # the dataclass decorator looks up the module of its class by name
    try:
        exec(compile(plugin.text, plugin.path, "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[name]
        error_type = "" if isinstance(error, OddshotError) else f"{type(error).__name__}: "
        raise InputError(f"plugin {plugin.path}: {error_type}{_first_line(error)}") from error


def _number_tasks(name: str, task: ArrayLike, n_rows: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number the tasks in the order of their names. task: [n_rows]. Returns the numbers [n_rows] and the names."""
    task = np.asarray(task)
    if task.shape != (n_rows,):
        raise InputError(f"dataset {name!r}: task has shape {task.shape}; expected [{n_rows}]")
    values, numbers = np.unique(task, return_inverse=True)
    return numbers.astype(np.int64), tuple(str(value) for value in values)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
