"""Methods and datasets of the user's own, registered by a file given as `--plugin`."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oddshot.data.sources import cards, catalogue
from oddshot.data.sources.cards import CARDS, Card
from oddshot.data.sources.catalogue import Dataset
from oddshot.errors import InputError

Reader = Callable[[], tuple[Any, ...]]

DATASETS: dict[str, "PluginDataset"] = {}
_NOWHERE = cards.Source("", "", None, "", "")


@dataclass(frozen=True)
class Plugin:
    """A user's file: its text travels with the runs, so that no other machine needs the file itself."""

    path: str
    text: str


@dataclass(frozen=True)
class DatasetSource:
    """Where datasets come from: a folder of .npz files, the cache of fetched ones, the user's own files."""

    data_dir: str | None = None
    cache_dir: str | None = None
    plugins: tuple[Plugin, ...] = ()

    def load(self, name: str) -> Dataset:
        """A dataset that was registered, or one of the paper's."""
        if name.lower() in DATASETS:
            return DATASETS[name.lower()].load()
        return catalogue.load_dataset(name, self.data_dir, self.cache_dir)


@dataclass(frozen=True)
class PluginDataset:
    """A dataset of the user's own: how it is read, what tables call it, its training, validation and target tasks."""

    name: str
    title: str
    read: Reader
    splits: tuple[int, int, int] | None

    def load(self) -> Dataset:
        """The rows, checked."""
        try:
            arrays = self.read()
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0]
            raise InputError(f"dataset {self.name!r}: its read failed: {type(error).__name__}: {reason}") from error
        if len(arrays) not in (2, 3):
            raise InputError(
                f"dataset {self.name!r}: its function gave {len(arrays)} values; expected X, y or X, y, task"
            )
        X, y = np.asarray(arrays[0], dtype=np.float64), np.asarray(arrays[1])
        if X.ndim != 2 or y.shape != X.shape[:1] or not np.isfinite(X).all() or not np.isin(y, (0, 1)).all():
            raise InputError(f"dataset {self.name!r}: expected finite numbers X [n, M] and labels y [n] of 0 and 1")
        task, names = (None, ()) if len(arrays) == 2 else _number_tasks(self.name, arrays[2], len(y))
        n_anomaly = int(y.sum())
        card = Card(
            self.name, self.title, len(y) - n_anomaly, n_anomaly, X.shape[1], _NOWHERE, "", "plugin",
            self.splits if self.splits or task is not None else (400, 50, 50), task_names=names,
        )  # fmt: skip
        return Dataset(self.name, X, y.astype(np.int8), task, names, card)


def register_dataset(
    name: str, read: Reader, title: str | None = None, splits: tuple[int, int, int] | None = None
) -> None:
    """Let a dataset take part.

    read: called where the rows are needed; gives X [n, M], y [n] (1 = anomaly, 0 = normal), and for a dataset that has
    several tasks of its own also task [n]. Without `task`, tasks are made by mixing the attributes (Sec. 4.1). splits:
    how many training, validation and target tasks.
    """
    if name != name.lower() or not name.isidentifier():
        raise InputError(f"a dataset is registered as {name!r}; expected lower-case letters, digits and _")
    if name in CARDS:
        raise InputError(f"the name {name!r} is taken by a dataset of the paper")
    if splits is not None and (len(splits) != 3 or min(splits) < 1):
        raise InputError(f"dataset {name!r}: splits {splits}; expected three counts of at least 1")
    DATASETS[name] = PluginDataset(name, title or name, read, splits)


def make_dataset_source(data_dir: str | None, cache_dir: str | None, plugins: Sequence[Path]) -> DatasetSource:
    """Read the user's files and let what they register take part."""
    read = []
    for path in plugins:
        try:
            read.append(Plugin(str(path), path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"plugin {path}: cannot be read ({error})") from error
        load_plugin(read[-1])
    return DatasetSource(data_dir, cache_dir, tuple(read))


def load_plugin(plugin: Plugin) -> None:
    """Run the user's file once in this process; what it registers takes part."""
    from importlib.machinery import ModuleSpec
    from importlib.util import module_from_spec
    from sys import modules

    name = "oddshot_plugin_" + hashlib.sha256(f"{plugin.path}\n{plugin.text}".encode()).hexdigest()[:16]
    if name in modules:
        return
    module = module_from_spec(ModuleSpec(name, None, origin=plugin.path))
    module.__file__ = plugin.path
    modules[name] = module  # dataclasses look their own module up by name
    try:
        exec(compile(plugin.text, plugin.path, "exec"), module.__dict__)
    except Exception as error:
        del modules[name]
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        raise InputError(f"plugin {plugin.path}: {kind}{(str(error).splitlines() or [''])[0]}") from error


def _number_tasks(name: str, task: Any, n: int) -> tuple[Any, tuple[str, ...]]:
    task = np.asarray(task)
    if task.shape != (n,):
        raise InputError(f"dataset {name!r}: task has shape {task.shape}; expected [{n}]")
    values, numbers = np.unique(task, return_inverse=True)
    return numbers.astype(np.int64), tuple(str(value) for value in values)
