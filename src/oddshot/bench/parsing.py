"""Parsing of the dataset names, method names and settings that are given on the command line."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, TypeVar

from oddshot.bench import plugins
from oddshot.bench.paper import METHOD_TITLES, OUTLIER_DATASETS
from oddshot.bench.settings import RunSettings
from oddshot.data.episodes.sampling import EpisodeSizes
from oddshot.data.sources.cards import CARDS, find_card
from oddshot.data.sources.catalogue import locate_dataset
from oddshot.errors import InputError
from oddshot.methods.registry import find_method, method_names, plugin_methods
from oddshot.training import TrainingConfig

ConfigType = TypeVar("ConfigType", TrainingConfig, EpisodeSizes)


def parse_datasets(text: str, data_dir: str | None = None, cache_dir: str | None = None) -> tuple[str, ...]:
    """Dataset names from a comma-separated list.

    `outlier` stands for the paper's 22 outlier detection tables, `all` for every dataset that is available, and -NAME
    excludes a dataset.
    """

    def expand(word: str) -> list[str]:
        if word == "outlier":
            return list(OUTLIER_DATASETS)
        if word == "all":
            return _available_datasets(data_dir, cache_dir)
        return [word if word in plugins.DATASETS else find_card(word).name]

    words = _split_list(text)
    excluded = {name for word in words if word.startswith("-") for name in expand(word[1:])}
    included = dict.fromkeys(name for word in words if not word.startswith("-") for name in expand(word))
    return tuple(name for name in included if name not in excluded)


def parse_methods(text: str) -> tuple[str, ...]:
    """Method names from a comma-separated list.

    `all` stands for the paper's 13 methods, its 3 ablations, and every method that a plugin has registered.
    """
    names: list[str] = []
    for word in _split_list(text):
        if word == "all":
            names += [*(name for name in METHOD_TITLES if name in method_names()), *plugin_methods()]
        else:
            names.append(find_method(word).name)
    return tuple(dict.fromkeys(names))


def parse_override(text: str) -> tuple[str, str, Any]:
    """(method, setting, value) from `method.setting=value`; the value is JSON, or else a string."""
    name, equals, value = text.partition("=")
    method, dot, setting = name.partition(".")
    if not (equals and dot and method and setting):
        raise InputError(f"--set {text}: expected METHOD.SETTING=VALUE, as in eigen.units=128")
    return method.lower(), setting, _parse_value(value)


def parse_where(text: str) -> tuple[str, Any]:
    """(setting, value) from `setting=value`; the value is JSON, or else a string."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--where {text}: expected SETTING=VALUE, as in training.epochs=1000")
    return name, _parse_value(value)


def make_settings(
    protocol: str,
    changes: Sequence[str] = (),
    *,
    epochs: int | None = None,
    patience: int | None = None,
    n_training: int | None = None,
    seed: int = 0,
) -> RunSettings:
    """The paper's settings with changes.

    changes: `METHOD.SETTING=VALUE`, `training.SETTING=VALUE` or `sizes.SETTING=VALUE`; they take precedence over epochs
    and patience, which are None for the defaults.
    """
    overrides: list[tuple[str, str, Any]] = []
    given = {"epochs": epochs, "patience": patience}
    training = {name: value for name, value in given.items() if value is not None}
    sizes: dict[str, Any] = {}
    for owner, setting, value in map(parse_override, changes):
        if owner == "training":
            training[setting] = value
        elif owner == "sizes":
            sizes[setting] = value
        else:
            overrides.append((find_method(owner).name, setting, value))
    settings = RunSettings(
        protocol=protocol,  # type: ignore[arg-type]  # checked by RunSettings
        n_training=n_training,
        seed=seed,
        overrides=tuple(sorted(overrides)),
    )
    return dataclasses.replace(
        settings,
        training=_replace_settings("training", settings.training, training),
        sizes=_replace_settings("sizes", settings.sizes, sizes),
    )


def _replace_settings(group: str, defaults: ConfigType, changes: dict[str, Any]) -> ConfigType:
    known = [field.name for field in dataclasses.fields(defaults)]
    for setting in changes:
        if setting not in known:
            raise InputError(f"--set {group}.{setting}: there is no such setting; there are {', '.join(known)}")
    try:
        return dataclasses.replace(defaults, **changes)
    except (TypeError, ValueError) as error:
        raise InputError(f"--set {group}: {error}") from error


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return text


def _split_list(text: str) -> list[str]:
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if not words:
        raise InputError("expected at least one name; several with commas between")
    return words


def _available_datasets(data_dir: str | None, cache_dir: str | None) -> list[str]:
    """Names of the paper's datasets that are in a folder or the cache, and of those that plugins have registered."""
    return [card.name for card in CARDS.values() if locate_dataset(card, data_dir, cache_dir)] + list(plugins.DATASETS)
