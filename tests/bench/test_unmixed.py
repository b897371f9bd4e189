import csv
import dataclasses

import numpy as np
import pytest
import torch

from oddshot.bench.unmixed import SIZES, compare_methods, draw_episodes, mean_auc
from oddshot.data.sources.catalogue import CARDS, Dataset
from oddshot.methods import find_method
from oddshot.model.auc import exact_auc


def one_table(n=120, M=3):
    rng = np.random.default_rng(0)
    y = (np.arange(n) % 6 == 0).astype(np.int8)
    X = rng.normal(size=(n, M)) + 6 * y[:, None]
    return Dataset("glass", X, y, None, (), dataclasses.replace(CARDS["glass"], n_attributes=M))


def test_draws_are_different_rows_of_the_right_label():
    data = one_table()
    draws = draw_episodes(data, 4, 30, np.random.default_rng(1))
    assert draws.unlabelled.shape == (1, 4, 30, 3)
    assert (draws.support.normal.shape[2], draws.support.anomaly.shape[2]) == (SIZES.support_normal, 1)
    rows = torch.cat([*draws.support, *draws.query, draws.unlabelled], dim=2)
    for t in range(4):
        assert len({tuple(row.tolist()) for row in rows[0, t]}) == rows.shape[2]
    assert float(draws.query.anomaly.mean()) > float(draws.query.normal.mean()) + 1
    assert draw_episodes(data, 1, 10_000, np.random.default_rng(1)).unlabelled.shape[2] == 120 - 36


def test_means_over_draws_in_chunks_are_those_over_all(monkeypatch):
    draws = draw_episodes(one_table(), 5, 30, np.random.default_rng(1))
    method = find_method("ridge+nearest")(3, find_method("ridge+nearest").config_type())
    monkeypatch.setattr("oddshot.bench.unmixed.MAX_EPISODES_PER_CHUNK", 2)
    score = method.adapt(draws.support)
    expected = float(exact_auc(score(draws.query.normal), score(draws.query.anomaly)).mean())
    assert mean_auc(method, draws, use_unlabelled=False) == pytest.approx(expected)


def test_the_table_has_all_methods_with_and_without_unlabelled_rows():
    told = []
    lines = compare_methods([one_table()], 2, 20, told.append)
    assert told == lines
    assert [line[0] for line in lines] == ["dataset", "Glass", "Average"]
    assert lines[0][1:4] == ["relative", "ridge+nearest", "catboost"]
    assert lines[0][4] == "relative + 20 unlabelled"
    assert all(float(value) > 0.9 for value in lines[1][1:3])
    assert next(csv.reader([",".join(lines[0])])) == lines[0]
