from pathlib import Path

import pytest

from oddshot.bench.comparability import datasets_of_other_rows, mark_incomparable, other_settings
from oddshot.bench.export import read_runs
from oddshot.bench.render import render
from oddshot.bench.selection import select
from oddshot.bench.tables import table1, table3
from tests.bench.samples import record

RESULTS = Path(__file__).parents[2] / "results"
DATASETS = ("glass", "wdbc", "landmine")


def selected(*records, where=None, **changes):
    usual = [record(name, method, **changes) for name in DATASETS for method in ("eigen", "lr")]
    return select([*usual, *records], "published", where)


def titles(selection, make=table1):
    """The names of the columns and rows of a table that are marked."""
    table = mark_incomparable(table1(selection, "strict") if make is table1 else make(selection), selection)
    return [name for name in (*table.columns, *(row.title for row in table.rows)) if name[-1] in "†‡"], table.notes


@pytest.mark.parametrize("protocol", ["published", "resampled"])
def test_the_committed_runs_are_comparable(protocol):
    selection = select(read_runs(RESULTS / protocol / "runs.csv"), protocol)
    assert datasets_of_other_rows(selection) == []
    assert other_settings(selection) == {}
    table = table1(selection, "strict", compare=True)
    assert mark_incomparable(table, selection) == table


def test_rows_other_than_the_catalogues_are_marked_and_means_over_them():
    own = record("wbc", "eigen", data="rows of my file"), record("wbc", "lr", data="rows of my file")
    assert titles(selected()) == ([], table1(selected(), "strict").notes)
    marked, notes = titles(selected(*own))
    assert marked == ["WBC †", "Average †"]
    assert notes[-1] == "† Other rows than those whose digest the catalogue has: not comparable."
    assert titles(selected(*own), table3)[0] == ["Seconds †"]


def test_rows_of_a_dataset_of_the_paper_without_a_digest_are_marked_and_those_of_plugins_are_not():
    marked, _ = titles(selected(record("doorbell1", "eigen"), record("toy", "eigen")))
    assert marked == ["Doorbell1 †", "Average †"]


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"training__epochs": 3}, "training.epochs = 3"),
        ({"training__patience": 5}, "training.patience = 5"),
        ({"training__learning_rate": 0.1}, "training.learning_rate = 0.1"),
        ({"method__units": 8}, "eigen.units = 8"),
    ],
)
def test_other_settings_are_marked_at_the_methods_that_have_them(changes, setting):
    records = [record(name, "eigen", **changes) for name in DATASETS] + [record(name, "lr") for name in DATASETS]
    selection = select(records, "published")
    assert other_settings(selection) == {"eigen": [setting]}
    marked, notes = titles(selection)
    assert marked == ["Ours ‡"]
    assert notes[-1] == f"‡ Other settings than the usual ones, {setting}: not comparable."


def test_a_longer_patience_and_another_seed_are_comparable():
    for changes in ({"training__patience": 100}, {"seed": 3}):
        records = [record(name, "eigen", **changes) for name in DATASETS]
        assert other_settings(select(records, "published")) == {}


def test_sizes_that_were_asked_for_are_marked_at_all_methods():
    selection = selected(where={"n_training": 4}, n_training=4)
    assert other_settings(selection) == {"eigen": ["n_training = 4"], "lr": ["n_training = 4"]}
    assert titles(selection)[0] == ["Ours ‡", "LR ‡"]


def test_marks_are_in_every_format():
    selection = selected(record("wbc", "eigen", data="mine"), record("wbc", "lr", data="mine"))
    table = mark_incomparable(table1(selection, "strict", compare=True), selection)
    for form in ("text", "csv", "latex", "html"):
        assert "WBC †" in render(table, form)
        assert "Glass †" not in render(table, form)
