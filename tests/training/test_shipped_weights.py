import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine

from oddshot import FewShotDetector
from oddshot.methods.relative import Relative, RelativeConfig
from oddshot.score.auc import exact_auc
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import load_model
from oddshot.training import shipped_decisions
from oddshot.training.shipped_weights import (
    MAX_WIDTHS,
    UniversalConfig,
    episode_loss,
    learning_rate_factor,
    to_universal_model,
    train_universal,
)
from oddshot.training.validation import of_replica
from oddshot.universal.prior import Prior
from oddshot.universal.shipped import load_universal

SMALL = RelativeConfig(units=16, pair_units=8, column_units=8, dropout=0.0, marks=0)


def auc_on_new_tasks(model, anomaly, unlabelled):
    episodes = Prior(12, torch.Generator().manual_seed(99)).episodes(64, 5, anomaly, unlabelled, 20, 10)
    support, query = of_replica((episodes.support, episodes.query), 0)
    others = None if episodes.unlabelled is None else episodes.unlabelled[0].numpy()
    score = model.adapt(support, others)
    return float(exact_auc(score(query.normal), score(query.anomaly)).mean())


def test_it_learns_and_the_same_seed_gives_the_same_model():
    losses = []
    config = UniversalConfig(steps=25, tasks=8)
    model = train_universal(config, SMALL, on_step=lambda step, loss: losses.append(loss))
    assert len(losses) == 25
    again = train_universal(config, SMALL)
    assert model.weights.keys() == again.weights.keys()
    for name, value in model.weights.items():
        np.testing.assert_array_equal(value, again.weights[name])
    untrained = train_universal(UniversalConfig(steps=0, tasks=8), SMALL)
    assert auc_on_new_tasks(model, 1, 0) > auc_on_new_tasks(untrained, 1, 0)


def test_another_prior_draws_the_tasks_of_every_step():
    drawn = []

    class Doubled(Prior):
        """The same tasks with all rows twice as large before scaling, and a note of each batch."""

        def tasks(self, n_tasks, n_normal, n_anomaly):
            drawn.append((self.width, n_tasks))
            normal, anomaly, column_exists = super().tasks(n_tasks, n_normal, n_anomaly)
            return 2 * normal, 2 * anomaly, column_exists

    config = UniversalConfig(steps=4, tasks=8)
    model, default = train_universal(config, SMALL, make_prior=Doubled), train_universal(config, SMALL)
    assert len(drawn) == 4
    assert all(n_tasks == 8 and width in MAX_WIDTHS for width, n_tasks in drawn)
    for name, value in default.weights.items():  # rows are z-scored: the factor makes no difference
        np.testing.assert_allclose(model.weights[name], value, rtol=1e-3, atol=1e-3)


def test_the_learning_rate_rises_and_falls():
    rates = [learning_rate_factor(step, 1000) for step in range(1000)]
    assert rates[0] == pytest.approx(0.01)
    assert int(np.argmax(rates)) == 99
    assert rates[-1] < 1e-4


def test_it_is_written_without_an_encoding_and_read_back(tmp_path, monkeypatch):
    for name, value in {"MAX_WIDTHS": (6,), "N_BATCHES": 20, "STEPS": 20}.items():
        monkeypatch.setattr(shipped_decisions, name, value)
    model = train_universal(UniversalConfig(steps=1, tasks=8), SMALL)
    to_universal_model(model, UniversalConfig(steps=1)).save(tmp_path / "small.safetensors")
    loaded = load_model(tmp_path / "small.safetensors")
    assert loaded.encoding is None
    assert loaded.training["steps"] == 1
    assert loaded.calibration.to_dict() == to_universal_model(model, UniversalConfig(steps=1)).calibration.to_dict()
    assert auc_on_new_tasks(loaded.method, 1, 3) == auc_on_new_tasks(model, 1, 3)


@pytest.mark.parametrize(("anomaly", "unlabelled"), [(0, 0), (1, 0), (1, 100), (3, 100)])
def test_the_model_that_ships_knows_synthetic_tasks(anomaly, unlabelled):
    assert auc_on_new_tasks(load_universal().method, anomaly, unlabelled) > (0.7 if anomaly else 0.65)


def test_the_model_that_ships_parts_the_kinds_of_wine():
    X, kind = load_wine(return_X_y=True)
    X = ((X - X.mean(0)) / X.std(0)).astype(np.float32)
    normal, anomaly = X[kind == 0], X[kind == 1]
    score = load_universal().method.adapt(LabelledRows(normal[:5], anomaly[:1]))
    assert exact_auc(score(normal[5:]), score(anomaly[1:])) > 0.95


def test_the_model_that_ships_fits_tables_of_any_width():
    for width in (1, 4):
        X = np.random.default_rng(width).normal(size=(30, width))
        X[0] += 6
        detector = FewShotDetector(load_universal()).fit(X[:6], [1, 0, 0, 0, 0, 0])
        assert detector.encoding_.n_attributes == width
        scores = detector.score_samples(X[6:])
        assert scores.shape == (24,)
        assert np.isfinite(scores).all()
        assert detector.score_samples(X[:1])[0] > np.median(scores)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_loss_weighs_queries_and_unlabelled_rows_that_are_hidden_from_themselves(share):
    trained = train_universal(UniversalConfig(steps=0, tasks=8), SMALL)
    model = Relative(1, SMALL, {name: torch.from_numpy(value)[None] for name, value in trained.weights.items()})
    episodes = Prior(6, torch.Generator().manual_seed(3)).episodes(5, 4, 1, 30, 6, 4)
    score = model.relate(episodes.support, episodes.unlabelled, describes_all=True)

    def smooth_auc(normal, anomaly):
        return np.mean([1 / (1 + np.exp(float(n - a))) for n in normal for a in anomaly])

    of_queries = [smooth_auc(score(episodes.query.normal)[0, t], score(episodes.query.anomaly)[0, t]) for t in range(5)]
    own = score.own().scores[0, :, -30:]
    parts = [(own[t][~odd], own[t][odd]) for t, odd in enumerate(episodes.is_anomaly)]
    of_unlabelled = [smooth_auc(*part) for part in parts if len(part[1])]
    assert 0 < len(of_unlabelled) < 6
    expected = -(1 - share) * np.mean(of_queries) - share * np.mean(of_unlabelled)
    assert float(episode_loss(model, episodes, share)) == pytest.approx(expected, rel=1e-5)
