"""Sizes of every situation, labels that are true, and rows that are given only once."""

import hashlib

import numpy as np
import pytest

from oddshot.bench.field.episodes import draw_episode
from oddshot.bench.field.situations import SITUATIONS, select_situations
from oddshot.bench.field.tables import (
    PAPER_TABLES,
    FieldTable,
    load_keel_tables,
    select_split,
    split_of_source,
    synthetic_tables,
)
from oddshot.errors import FileError, InputError


def make_table(n_normal=1400, n_anomaly=300, name="made/0"):
    """Column 0 is the row's number, column 1 its label: what was drawn can be told from the values."""
    n = n_normal + n_anomaly
    y = np.random.default_rng(0).permutation(np.repeat([0, 1], [n_normal, n_anomaly])).astype(np.int8)
    return FieldTable(name, name.split("/")[0], "choosing", np.column_stack([np.arange(n), y]).astype(float), y)


REAL = [s for s in SITUATIONS if not s.column_kind]
SYNTHETIC = [s for s in SITUATIONS if s.column_kind]


@pytest.mark.parametrize("situation", REAL, ids=lambda s: s.name)
def test_labels_are_true_and_no_row_is_given_twice(situation):
    table = make_table(9000, 1200) if situation.table_rows == 10_000 else make_table()
    assert situation.suits(table)
    episode = draw_episode(situation, table, 0)
    numbers, scored = episode.X[:, 0].astype(int), episode.scored[:, 0].astype(int)
    assert len(set(numbers)) == len(numbers)
    labelled = episode.labels >= 0
    np.testing.assert_array_equal(episode.labels[labelled], table.y[numbers[labelled]])
    np.testing.assert_array_equal(episode.is_anomaly, table.y[scored] == 1)
    assert (episode.labels == 0).sum() == situation.n_normal
    assert (episode.labels == 1).sum() == situation.n_anomaly
    if situation.table_rows:
        assert len(numbers) == situation.table_rows
        np.testing.assert_array_equal(np.sort(scored), np.sort(numbers[~labelled]))
        np.testing.assert_array_equal(numbers[episode.positions], scored)
    else:
        assert episode.positions is None
        assert not set(scored) & set(numbers)
        assert (episode.labels == -1).sum() == situation.n_unlabelled
        assert len(scored) == 400


@pytest.mark.parametrize("situation", [s for s in REAL if s.contamination is not None], ids=lambda s: s.name)
def test_contamination_of_real_tables(situation):
    table = make_table()
    episode = draw_episode(situation, table, 3)
    hidden = table.y[episode.X[episode.labels == -1, 0].astype(int)]
    assert hidden.mean() == pytest.approx(situation.contamination)


@pytest.mark.parametrize("situation", SYNTHETIC, ids=lambda s: s.name)
def test_synthetic_rows(situation):
    table = synthetic_tables()[0]
    assert situation.suits(table)
    assert not situation.suits(make_table())
    episode = draw_episode(situation, table, 0)
    assert episode.X.shape == (situation.n_normal + situation.n_anomaly + situation.n_unlabelled, situation.n_columns)
    assert (episode.labels == 1).sum() == situation.n_anomaly
    assert episode.is_anomaly.sum() == 100
    assert len(episode.scored) == 400
    again = draw_episode(situation, table, 0)
    np.testing.assert_array_equal(again.X, episode.X)
    assert not np.array_equal(draw_episode(situation, table, 1).X, episode.X)
    if situation.column_kind != "binary" or situation.n_columns > 5:
        assert not np.array_equal(draw_episode(situation, synthetic_tables()[1], 0).X, episode.X)


def test_a_fault_cluster_is_among_the_unlabelled_rows():
    (situation,) = select_situations(["contamination/gaussian cluster 5+0/20%"])
    episode = draw_episode(situation, synthetic_tables()[0], 0)
    fault = episode.scored[episode.is_anomaly].mean(0)
    unlabelled = episode.X[episode.labels == -1]
    near = np.linalg.norm(unlabelled - fault, axis=1) < np.linalg.norm(unlabelled, axis=1)
    assert near.sum() == 40


def test_supports_grow_and_are_the_same_with_and_without_unlabelled_rows():
    table = make_table()

    def support(name):
        episode = draw_episode(*select_situations([name]), table, 2)
        return set(episode.X[episode.labels >= 0, 0])

    assert support("apart/5+1") < support("growth/10+2") < support("growth/20+4")
    assert support("apart/5+1") == support("apart/200 unlabelled/5+1")


def test_small_tables_take_no_part_where_they_lack_rows():
    table = make_table(60, 20)
    names = {s.name for s in SITUATIONS if s.suits(table)}
    assert {"apart/5+1", "tiny/1+0", "growth/40+8"} <= names
    assert not {"growth/80+16", "whole/100 rows/5+1", "apart/200 unlabelled/5+1"} & names
    episode = draw_episode(*select_situations(["apart/200 unlabelled/5+1"]), make_table(200, 20), 0)
    assert (episode.labels == -1).sum() == 107  # half of the 214 rows that are left


def test_whole_tables_keep_their_share_of_anomalies():
    episode = draw_episode(*select_situations(["whole/1000 rows/5+1"]), make_table(2700, 300), 0)
    assert episode.is_anomaly.sum() == 99  # a tenth of 1,000, less the labelled one


def test_situations_are_selected_by_group_name_beginning_and_pattern():
    assert [s.name for s in select_situations(["growth/10+2"])] == ["growth/10+2"]
    assert len(select_situations(["apart"])) == 6
    assert len(select_situations(["whole/100 rows"])) == 4
    assert len(select_situations(["*cluster 5+0/*"])) == 30
    assert select_situations([]) == list(SITUATIONS)
    assert len({s.name for s in SITUATIONS}) == len(SITUATIONS)
    with pytest.raises(InputError, match="no such situation"):
        select_situations(["nothing"])


def test_tables_are_divided_by_the_hash_of_their_source(tmp_path):
    arrays = {}
    for source in ("abalone", "wine"):
        for number in (7, 1, 3, 2):
            arrays[f"{source}/{number}/X"] = np.full((4, 2), number, np.float32)
            arrays[f"{source}/{number}/y"] = np.array([0, 0, 1, 1])
    np.savez(tmp_path / "tables.npz", **arrays)
    tables = load_keel_tables(tmp_path / "tables.npz")
    assert [table.name for table in tables] == [f"{s}/{n}" for s in ("abalone", "wine") for n in (1, 2, 3)]
    for table in tables:
        is_even = int(hashlib.sha256(table.source.encode()).hexdigest()[-1], 16) % 2 == 0
        assert table.split == ("reporting" if is_even else "choosing")
    assert (split_of_source("abalone"), split_of_source("wine")) == ("choosing", "reporting")
    assert {table.source for table in select_split(tables, "choosing")} == {"abalone"}
    assert select_split(tables, "all") == tables
    with pytest.raises(InputError, match="choosing, reporting and all"):
        select_split(tables, "both")


def test_files_that_are_no_tables(tmp_path):
    with pytest.raises(FileError):
        load_keel_tables(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(InputError, match="keel_tables"):
        load_keel_tables(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="no tables"):
        load_keel_tables(tmp_path / "other.npz")


def test_the_paper_has_21_tables():
    assert len(set(PAPER_TABLES)) == 21
