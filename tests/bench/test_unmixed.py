import dataclasses

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from oddshot.bench.unmixed import SIZES, compare_methods, draw_episodes, mean_auc
from oddshot.data.sources.catalogue import CARDS, Dataset
from oddshot.methods import find_method
from oddshot.model.auc import exact_auc
from oddshot.universal.shipped import load_universal


def one_table(n=120, M=3, shift=6):
    rng = np.random.default_rng(0)
    y = (np.arange(n) % 6 == 0).astype(np.int8)
    X = rng.normal(size=(n, M)) + shift * y[:, None]
    return Dataset("glass", X, y, None, (), dataclasses.replace(CARDS["glass"], n_attributes=M))


def test_draws_are_different_rows_of_the_right_label():
    data = one_table()
    draws = draw_episodes(data, 4, 30, np.random.default_rng(1))
    assert draws.unlabelled.shape == (1, 4, 30, 3)
    assert (draws.support.normal.shape[2], draws.support.anomaly.shape[2]) == (SIZES.support_normal, 1)
    rows = torch.cat([*draws.support, *draws.query, draws.unlabelled], dim=2)
    table = StandardScaler().fit_transform(data.X).astype(np.float32)
    for t in range(4):
        distance = np.abs(rows[0, t].numpy()[:, None] - table).max(axis=2)
        numbers = distance.argmin(axis=1)  # of the drawn rows in the table
        assert distance.min(axis=1).max() < 1e-5
        assert len(set(numbers)) == len(numbers)
        assert data.y[numbers[:36]].tolist() == [0] * 5 + [1] + [0] * 25 + [1] * 5
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
    assert lines[2][1:] == lines[1][1:]  # the average of one dataset


def test_the_table_has_the_aucs_of_scikit_learn():
    data = one_table(shift=1.5)
    header, row, _ = compare_methods([data], 3, 20, lambda row: None)
    draws = draw_episodes(data, 3, 20, np.random.default_rng([0, 120]))
    ridge = find_method("ridge+nearest")
    methods = {"relative": load_universal().method, "ridge+nearest": ridge(3, ridge.config_type())}
    for name, method in methods.items():
        for column, unlabelled in ((name, None), (f"{name} + 20 unlabelled", draws.unlabelled)):
            with torch.no_grad():
                score = method.adapt(draws.support, unlabelled)
                scores = torch.cat([score(draws.query.normal), score(draws.query.anomaly)], dim=2)[0]
            expected = np.mean([roc_auc_score(np.repeat([0, 1], [25, 5]), one) for one in scores])
            assert 0.5 < expected < 1
            assert float(row[header.index(column)]) == pytest.approx(expected, abs=5e-5)
