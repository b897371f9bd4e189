"""Figures that do not compare with the paper's are marked: of other rows than the catalogue's, or other settings."""

import dataclasses
import json
from dataclasses import replace
from typing import Any

from oddshot.bench.paper import dataset_title, method_title
from oddshot.bench.record import RunRecord
from oddshot.bench.selection import PAPER_SETTINGS, Selection, flat_settings
from oddshot.bench.tables import ResultTable
from oddshot.data.sources.cards import CARDS
from oddshot.methods.registry import BUILT_IN, find_method
from oddshot.training import TrainingConfig

OTHER_ROWS, OTHER_SETTINGS = "†", "‡"  # behind the names of datasets and of methods
_NO_MEANS = ("#Best",)  # rows of a table that are neither a dataset nor a mean over datasets


def mark_incomparable(table: ResultTable, selection: Selection) -> ResultTable:
    """The table of a selection with marks behind names, and notes that say what they mean.

    Means over datasets are marked where one of the datasets is.
    """
    datasets, settings = datasets_of_other_rows(selection), other_settings(selection)
    titles = {dataset_title(name) for name in selection.datasets}
    marked = {dataset_title(name) for name in datasets}
    columns = {method_title(name) for name in settings}
    rows = tuple(
        replace(row, title=f"{row.title} {OTHER_ROWS}")
        if row.title in marked or (marked and row.title not in titles and row.title not in _NO_MEANS)
        else row
        for row in table.rows
    )
    notes = list(table.notes)
    if datasets:
        notes.append(f"{OTHER_ROWS} Other rows than those whose digest the catalogue has: not comparable.")
    if settings:
        differing = ", ".join(dict.fromkeys(setting for found in settings.values() for setting in found))
        notes.append(f"{OTHER_SETTINGS} Other settings than the usual ones, {differing}: not comparable.")
    shown = tuple(f"{name} {OTHER_SETTINGS}" if name in columns else name for name in table.columns)
    return replace(table, columns=shown, rows=rows, notes=tuple(notes))


def datasets_of_other_rows(selection: Selection) -> list[str]:
    """The datasets of the catalogue that were run on other rows than it knows; those of plugins are not in it."""
    return sorted(
        {
            record.dataset
            for record in selection.records
            if record.dataset in CARDS and record.settings["data"] != CARDS[record.dataset].rows
        }
    )


def other_settings(selection: Selection) -> dict[str, list[str]]:
    """By method, the settings that are neither the paper's nor, where it has none, the default ones."""
    found: dict[str, dict[str, None]] = {}
    for record in selection.records:
        known, usual = flat_settings(record), _usual_settings(record)
        for name in usual:
            if known.get(name, usual[name]) != usual[name]:
                found.setdefault(record.method, {})[f"{name} = {json.dumps(known[name])}"] = None
    return {method: list(settings) for method, settings in found.items()}


def _usual_settings(record: RunRecord) -> dict[str, Any]:
    """The settings with which a run compares, by the names of `flat_settings`.

    The paper says nothing of the patience, which may be longer than the default one, nor of methods of plugins.
    """
    training = TrainingConfig()
    patience = (record.settings["training"] or {}).get("patience", training.patience)
    training = replace(training, patience=max(training.patience, patience))
    usual = dict(PAPER_SETTINGS) | {f"training.{name}": value for name, value in dataclasses.asdict(training).items()}
    if record.method in BUILT_IN:
        default = dataclasses.asdict(find_method(record.method).config_type())
        usual |= {f"{record.method}.{name}": value for name, value in json.loads(json.dumps(default)).items()}
    return usual
