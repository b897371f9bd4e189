"""Which datasets, methods and settings the words of a command mean."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from oddshot.bench import plugins
from oddshot.bench.paper import METHOD_TITLES, OUTLIER_DATASETS
from oddshot.bench.settings import RunSettings, parse_override
from oddshot.data.sources.cards import CARDS, find_card
from oddshot.errors import InputError
from oddshot.methods.registry import METHODS, find_method, plugin_methods


def parse_datasets(text: str, data_dir: str | None = None, cache_dir: str | None = None) -> tuple[str, ...]:
    """Names with commas; `outlier` are the paper's 22 tables, `all` is all that is here, -NAME leaves one out."""

    def find(word: str) -> list[str]:
        if word == "outlier":
            return list(OUTLIER_DATASETS)
        if word == "all":
            return _all_here(data_dir, cache_dir)
        return [word if word in plugins.DATASETS else find_card(word).name]

    words = _words(text)
    left_out = {name for word in words if word.startswith("-") for name in find(word[1:])}
    chosen = dict.fromkeys(name for word in words if not word.startswith("-") for name in find(word))
    return tuple(name for name in chosen if name not in left_out)


def parse_methods(text: str) -> tuple[str, ...]:
    """Names with commas; `all` are the paper's 13 and its 3 ablations, and the user's own."""

    names: list[str] = []
    for word in _words(text):
        known = [name for name in METHOD_TITLES if name in METHODS]
        names += [*known, *plugin_methods()] if word == "all" else [find_method(word).name]
    return tuple(dict.fromkeys(names))


def make_settings(protocol: str, changes: Sequence[str], **given: Any) -> RunSettings:
    """The paper's settings with what the user gave.

    changes: `METHOD.SETTING=VALUE`, or `training.` or `sizes.` in the place of the method. given: fields of RunSettings,
    or `epochs` and `patience`; None leaves the default.
    """
    given = {name: value for name, value in given.items() if value is not None}
    overrides: list[tuple[str, str, Any]] = []
    groups: dict[str, dict[str, Any]] = {"training": {}, "sizes": {}}
    for name in ("epochs", "patience"):
        if name in given:
            groups["training"][name] = given.pop(name)
    for owner, setting, value in map(parse_override, changes):
        if owner in groups:
            groups[owner][setting] = value
        else:
            overrides.append((find_method(owner).name, setting, value))
    settings = RunSettings(protocol=protocol, overrides=tuple(sorted(overrides)), **given)  # type: ignore[arg-type]
    parts = {name: _changed(name, getattr(settings, name), group) for name, group in groups.items()}
    return dataclasses.replace(settings, **parts)


def _changed(name: str, defaults: Any, changes: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(defaults)]
    for setting in changes:
        if setting not in known:
            raise InputError(f"--set {name}.{setting}: there is no such setting; there are {', '.join(known)}")
    try:
        return dataclasses.replace(defaults, **changes)
    except (TypeError, ValueError) as error:
        raise InputError(f"--set {name}: {error}") from error


def _words(text: str) -> list[str]:
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if not words:
        raise InputError("expected at least one name; several with commas between")
    return words


def _all_here(data_dir: str | None, cache_dir: str | None) -> list[str]:
    from oddshot.data.sources.catalogue import where_is

    return [card.name for card in CARDS.values() if where_is(card, data_dir, cache_dir)] + list(plugins.DATASETS)
