import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oddshot import FewShotDetector
from oddshot.bench.unmixed import SIZES, compare_methods, draw_episodes, mean_auc, untrained_model
from oddshot.data.sources.catalogue import CARDS, Dataset


def one_table(n=120, M=3, shift=6):
    rng = np.random.default_rng(0)
    y = (np.arange(n) % 6 == 0).astype(np.int8)
    X = 100 + 7 * (rng.normal(size=(n, M)) + shift * y[:, None])
    return Dataset("glass", X, y, None, (), dataclasses.replace(CARDS["glass"], n_attributes=M))


def test_draws_are_different_rows_of_the_right_label_in_the_units_of_the_file():
    data = one_table()
    for support, unlabelled, query in draw_episodes(data, 4, 30, [1]):
        assert (len(support), len(unlabelled), len(query)) == (6, 30, 30)
        rows = np.concatenate([support, query, unlabelled])
        numbers = [int(np.flatnonzero((row == data.X).all(axis=1)).item()) for row in rows]
        assert len(set(numbers)) == len(numbers)
        assert data.y[numbers[:36]].tolist() == [0] * 5 + [1] + [0] * 25 + [1] * 5
    assert len(draw_episodes(data, 1, 10_000, [1])[0].unlabelled) == 120 - SIZES.normal - SIZES.anomaly


def test_the_table_has_all_methods_with_and_without_unlabelled_rows():
    told = []
    lines = compare_methods([one_table()], 2, 20, told.append)
    assert told == lines
    assert [line[0] for line in lines] == ["dataset", "Glass", "Average"]
    assert lines[0][1:4] == ["relative", "ridge+nearest", "catboost"]
    assert lines[0][4] == "relative + 20 unlabelled"
    assert lines[2][1:] == lines[1][1:]  # the average of one dataset


def test_the_aucs_of_the_shipped_model_are_those_that_a_user_gets():
    data = one_table(shift=1.5)
    header, row, _ = compare_methods([data], 3, 20, lambda row: None)
    episodes = draw_episodes(data, 3, 20, [0, len(data.y)])
    truth = np.repeat([0, 1], [25, 5])
    for name, n in (("relative", 0), ("relative + 20 unlabelled", 20)):
        aucs = []
        for support, unlabelled, query in episodes:
            X, y = np.concatenate([support, unlabelled[:n]]), [0] * 5 + [1] + [-1] * n
            aucs.append(roc_auc_score(truth, FewShotDetector().fit(X, y).score_samples(query)))
        assert 0.5 < np.mean(aucs) < 1
        assert float(row[header.index(name)]) == pytest.approx(np.mean(aucs), abs=5e-5)


def test_queries_do_not_scale_the_columns():
    episodes = draw_episodes(one_table(shift=1.5), 3, 20, [0])
    shifted = []
    for support, unlabelled, query in episodes:
        far = query.copy()
        far[0] = 1e6  # one normal query: last of all, the others stay as they are
        shifted.append((support, unlabelled, far))
    model = untrained_model("ridge+nearest")
    lost = mean_auc(model, episodes, 20) - mean_auc(model, shifted, 20)
    assert 0 <= lost <= 1 / SIZES.query_normal
