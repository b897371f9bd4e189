import numpy as np
import pytest
import scipy.stats
import torch

from oddshot.data.episodes.mixing import Mixing
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet, draw_episode
from oddshot.data.episodes.synthesis import mixed_tasks
from oddshot.errors import InputError
from oddshot.methods.ablations import WoNN, WoNNConfig
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.methods.relative import Relative
from oddshot.training import Episodes, TrainingConfig, TrainingData, evaluate, train, validation_episodes
from oddshot.training.device import resolve_device
from oddshot.training.device_sampling import draw_without_replacement
from oddshot.training.trainable import Trainable
from oddshot.training.validation import Validator, evaluate_replicas, of_replica
from tests import references

SIZES = EpisodeSizes(3, 1, 6, 3)
SHORT = TrainingConfig(epochs=4, batch_size=5)


def tasks(seed, n_tasks=12, M=3):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n_tasks):
        y = (np.arange(40) % 5 == 0).astype(np.int8)
        X = rng.normal(size=(40, M))
        X[y == 1, 0] += 3
        made.append((X, y))
    return TaskSet.from_tasks(made)


def small(replicas=1, **settings):
    return Trainable(Eigen, 3, EigenConfig(units=16, **settings), replicas)


def mean_auc(trainable, episodes):
    return evaluate(trainable.trained(), *of_replica(episodes, 0))[1].mean()


def test_same_seed_same_model_and_nothing_seeds_globally():
    trained = []
    for _ in range(2):
        torch.manual_seed(np.random.default_rng().integers(1000))
        np.random.seed(np.random.default_rng().integers(1000))  # noqa: NPY002
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        learned = small()
        train(learned, TrainingData([tasks(0)], [tasks(1, 4)], SIZES), [5], config=SHORT)
        assert torch.equal(before[0], torch.get_rng_state())
        assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002
        trained.append(learned.state())
    for name, value in trained[0].items():
        assert torch.equal(value, trained[1][name]), name


def test_replicas_train_as_separate_models_do(monkeypatch):
    """Each with its own tasks, seed and stopping; dropout draws from one stream for all, so it is off here.

    Those that have stopped are not trained any more, which changes nothing for the others.
    """
    trained, loss = [], Trainable.loss
    monkeypatch.setattr(Trainable, "loss", lambda self, *rows: (trained.append(self.replicas), loss(self, *rows))[1])
    config, R = TrainingConfig(epochs=30, batch_size=5, patience=3), 4
    together = small(R, dropout=0.0)
    pools, held_out = [tasks(2 * r) for r in range(R)], [tasks(2 * r + 1, 4) for r in range(R)]
    history = train(together, TrainingData(pools, held_out, SIZES), [5 + r for r in range(R)], config=config)
    assert sorted(set(trained)) == [1, 2, 3, 4]
    assert trained == sorted(trained, reverse=True)
    for r in range(R):
        alone = small(dropout=0.0)
        mine = train(alone, TrainingData(pools[r : r + 1], held_out[r : r + 1], SIZES), [5 + r], config=config)
        assert mine.best_epoch[0] == history.best_epoch[r]
        assert mine.epochs[0] == history.epochs[r]
        for name, value in alone.state().items():
            torch.testing.assert_close(value[0], together.state()[name][r], rtol=1e-3, atol=1e-5)


def test_the_best_weights_are_kept():
    learned, held_out = small(), [tasks(1, 4)]
    seen = []
    history = train(
        learned, TrainingData([tasks(0)], held_out, SIZES), [5], config=TrainingConfig(epochs=25, batch_size=5),
        on_epoch=lambda state: seen.append(state.valid_auc),
    )  # fmt: skip
    stream = np.random.SeedSequence(5).spawn(4)[2]
    episodes = validation_episodes(held_out, SIZES, "resampled", torch.device("cpu"), [stream])
    assert history.best_auc[0] == pytest.approx(max(seen))
    assert history.best_epoch[0] == int(np.argmax(seen)) + 1
    assert mean_auc(learned, episodes) == pytest.approx(max(seen))


def test_training_stops_when_patience_is_spent():
    history = train(
        Trainable(WoNN, 3, WoNNConfig()), TrainingData([tasks(0)], [tasks(1, 4)], SIZES), [0],
        config=TrainingConfig(epochs=500, batch_size=5, patience=4, learning_rate=1e-9),
    )  # fmt: skip
    assert history.epochs == [history.best_epoch[0] + 4]


def test_training_learns():
    """Anomalies differ in a direction that only the tasks together show."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (np.arange(300) % 6 == 0).astype(np.int8)
    X[y == 1, 2] *= 4
    pool = mixed_tasks(X, y, 60, seed=0)
    training, validation, target = (pool.subset(np.arange(a, b)) for a, b in ((0, 40), (40, 50), (50, 60)))
    learned, untrained = (Trainable(Eigen, 6, EigenConfig(units=64)) for _ in range(2))
    train(learned, TrainingData([training], [validation]), [0], config=TrainingConfig(epochs=60, patience=60))
    train(untrained, TrainingData([training], [validation]), [0], config=TrainingConfig(epochs=1, learning_rate=1e-12))
    stream = [np.random.SeedSequence(1)]
    episodes = validation_episodes([target], EpisodeSizes(), "resampled", torch.device("cpu"), stream, min_episodes=200)
    after, before = (mean_auc(one, episodes) for one in (learned, untrained))
    assert after > before + 0.05


def test_training_without_dropout_learns():
    """The anomalies of all tasks are shifted by three standard deviations in the first column: this AUC is 0.98."""
    learned = small(dropout=0.0)
    train(learned, TrainingData([tasks(0)], [tasks(1, 4)], SIZES), [5], config=TrainingConfig(epochs=60, patience=60))
    streams = [np.random.SeedSequence(1)]
    episodes = validation_episodes([tasks(7, 20)], SIZES, "resampled", torch.device("cpu"), streams, min_episodes=200)
    assert mean_auc(learned, episodes) == pytest.approx(0.98, abs=0.03)


def test_episodes_as_tensors_are_the_drawn_rows_mixed():
    rng = np.random.default_rng(0)
    pools = [mixed_tasks(rng.normal(size=(40, 3)), np.arange(40) % 2, 4, seed=s) for s in (0, 1)]
    chosen = [np.array([1, 3]), np.array([0, 2])]
    support, query = Episodes(pools, SIZES, "resampled", torch.device("cpu")).draw(
        chosen, [np.random.default_rng(s) for s in (7, 8)]
    )
    for r in range(2):
        episode = draw_episode(pools[r], chosen[r], SIZES, "resampled", np.random.default_rng(7 + r))
        for tensor, rows in zip((*support, *query), episode, strict=True):
            for t in range(2):
                mixed = pools[r].X[rows[t]] @ pools[r].mixing(chosen[r])[t]
                np.testing.assert_allclose(tensor[r, t], mixed, rtol=1e-5, atol=1e-5)


def test_mixing_matrices_are_made_a_few_at_a_time(monkeypatch):
    pool = mixed_tasks(np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2, 9, seed=0)
    asked = []
    derive = Mixing.__call__
    monkeypatch.setattr(Mixing, "__call__", lambda self, tasks: asked.append(len(tasks)) or derive(self, tasks))

    def draw():
        episodes = Episodes([pool], SIZES, "resampled", torch.device("cpu"))
        return episodes.draw([np.arange(9)], [np.random.default_rng(0)])

    together = draw()
    monkeypatch.setattr("oddshot.training.batches.MAX_MIXING_BYTES", 2 * 3 * 3 * 4)
    few = draw()
    assert asked == [9, 2, 2, 2, 2, 1]
    for part, whole in zip((*few[0], *few[1]), (*together[0], *together[1]), strict=True):
        torch.testing.assert_close(part, whole)


def test_published_rows_are_mixed_once_and_looked_up_by_task():
    pools = [mixed_tasks(np.random.default_rng(s).normal(size=(40, 3)), np.arange(40) % 2, 4, seed=s) for s in (0, 1)]
    episodes = Episodes(pools, SIZES, "published", torch.device("cpu"))
    for chosen in ([np.array([1, 3]), np.array([0, 2])], [np.array([2, 0]), np.array([3, 1])]):
        support, query = episodes.draw(chosen, [np.random.default_rng(0)] * 2)
        for r in range(2):
            episode = draw_episode(pools[r], chosen[r], SIZES, "published", np.random.default_rng(0))
            for tensor, rows in zip((*support, *query), episode, strict=True):
                mixed = pools[r].X[rows] @ pools[r].mixing(chosen[r])
                np.testing.assert_allclose(tensor[r], mixed, rtol=1e-5, atol=1e-5)


def test_rows_drawn_on_the_device_are_different_rows_of_the_task_and_label():
    """Rows carry their task, label and number, so that where they came from can be read off them."""
    pools = []
    for r in range(2):
        y = [np.arange(n) % 3 == 0 for n in (20, 31, 26)]
        X = [np.stack([np.full(len(y[t]), t), y[t], np.arange(len(y[t])) + 100 * r], axis=1) for t in range(3)]
        pools.append(TaskSet.from_tasks([(X[t], y[t].astype(np.int8)) for t in range(3)]))
    noise = torch.Generator().manual_seed(0)
    episodes = Episodes(pools, SIZES, "resampled", torch.device("cpu"), noise)
    chosen = [np.array([2, 0]), np.array([1, 1])]
    support, query = episodes.draw(chosen, [])
    for label in (0, 1):
        rows = torch.cat([support[label], query[label]], dim=2)
        np.testing.assert_array_equal(rows[..., 0], np.broadcast_to(np.stack(chosen)[..., None], rows.shape[:3]))
        assert (rows[..., 1] == label).all()
        for r in range(2):
            assert ((rows[r, ..., 2] >= 100) == (r == 1)).all()
            assert all(len(set(numbers.tolist())) == rows.shape[2] for numbers in rows[r, ..., 2])


def test_rows_drawn_on_the_device_are_mixed():
    pools = [mixed_tasks(np.random.default_rng(s).normal(size=(8, 3)), np.arange(8) % 2, 4, seed=s) for s in (0, 1)]
    sizes = EpisodeSizes(2, 2, 2, 2)  # all rows, in random order
    chosen = [np.array([1, 3]), np.array([0, 2])]
    episodes = Episodes(pools, sizes, "resampled", torch.device("cpu"), torch.Generator().manual_seed(0))
    support, query = episodes.draw(chosen, [])
    for r in range(2):
        for t in range(2):
            mixed = pools[r].X @ pools[r].mixing(chosen[r])[t]
            for label in (0, 1):
                drawn = torch.cat([support[label][r, t], query[label][r, t]]).numpy()
                expected = mixed[np.arange(8) % 2 == label]
                order = [np.abs(drawn - row).sum(1).argmin() for row in expected]
                np.testing.assert_allclose(drawn[order], expected, rtol=1e-5, atol=1e-5)
                assert sorted(order) == [0, 1, 2, 3]


@pytest.mark.parametrize("rule", ["resampled", "published"])
def test_episodes_of_some_replicas_are_theirs(rule):
    pools = [mixed_tasks(np.random.default_rng(s).normal(size=(40, 3)), np.arange(40) % 2, 4, seed=s) for s in range(3)]
    chosen = [np.array([3, 1])] * 2
    episodes = Episodes(pools, SIZES, rule, torch.device("cpu"), torch.Generator().manual_seed(0))
    episodes.draw([np.array([0])] * 3, [])  # under `published`, rows are mixed at the first draw
    support, query = episodes.subset(torch.tensor([2, 0])).draw(chosen, [])
    for r, pool in enumerate((pools[2], pools[0])):
        mixed = pool.X @ pool.mixing(chosen[r])
        for rows in (*support, *query):
            for t in range(2):
                nearest = np.abs(rows[r, t].numpy()[:, None] - mixed[t]).max(2).min(1)
                assert (nearest < 1e-5).all()


def test_every_ordered_draw_on_the_device_has_the_same_chance():
    count = torch.full((60_000,), 4)
    drawn = draw_without_replacement(count, 2, torch.Generator().manual_seed(0))
    assert (drawn[:, 0] != drawn[:, 1]).all()
    seen = torch.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16).reshape(4, 4)
    assert (seen.diagonal() == 0).all()
    off_diagonal = seen[~torch.eye(4, dtype=torch.bool)].numpy()
    assert scipy.stats.chisquare(off_diagonal).pvalue > 1e-4


def test_evaluate_gives_both_aucs():
    learned = small()
    learned.initialise([torch.Generator().manual_seed(0)])
    drawn = validation_episodes([tasks(1, 4)], SIZES, "resampled", torch.device("cpu"), [np.random.SeedSequence(0)])
    method, (support, query) = learned.trained(), of_replica(drawn, 0)
    strict, half = evaluate(method, support, query)
    normal, anomaly = map(method.adapt(support), query)
    for t in range(4):
        assert strict[t] == pytest.approx(references.auc(normal[t], anomaly[t], 0.0))
        assert half[t] == pytest.approx(references.auc(normal[t], anomaly[t], 0.5))


def test_replicas_are_evaluated_on_their_own_episodes():
    learned = small(2)
    learned.initialise([torch.Generator().manual_seed(seed) for seed in range(2)])
    streams = [np.random.SeedSequence(seed) for seed in range(2)]
    drawn = validation_episodes([tasks(1, 4), tasks(2, 4)], SIZES, "resampled", torch.device("cpu"), streams)
    methods = learned.all_trained()
    together = evaluate_replicas(methods, *drawn)
    for r, method in enumerate(methods):
        for aucs, alone in zip(together, evaluate(method, *of_replica(drawn, r)), strict=True):
            np.testing.assert_array_equal(aucs[r], alone)


@pytest.mark.parametrize("kind", [Eigen, Relative])
def test_only_the_folds_are_validated_and_all_replicas_have_their_mean(kind):
    learned = Trainable(kind, 3, kind.config_type(units=8), 3)
    learned.initialise([torch.Generator().manual_seed(seed) for seed in range(3)])
    streams = [np.random.SeedSequence(seed) for seed in range(3)]
    held_out = validation_episodes([tasks(seed) for seed in range(3)], SIZES, "resampled", torch.device("cpu"), streams)
    learned.noise = torch.Generator().manual_seed(0)  # as in a training, but validation drops nothing
    validate, validate_all = Validator(learned, *held_out, n_folds=2), Validator(learned, *held_out)
    for _ in range(2):
        of_all = validate_all()
        np.testing.assert_allclose(validate(), [float(of_all[:2].mean())] * 3, rtol=1e-12)
        with torch.no_grad():  # as a step does
            for parameter in learned.parameters:
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    assert not torch.equal(validate_all(), of_all)


def test_few_validation_tasks_are_drawn_several_times_unless_rows_are_fixed():
    arguments = ([tasks(1, 4)], SIZES), (torch.device("cpu"), [np.random.SeedSequence(0)])
    assert validation_episodes(*arguments[0], "resampled", *arguments[1])[0].normal.shape[1] == 64
    assert validation_episodes(*arguments[0], "published", *arguments[1])[0].normal.shape[1] == 4


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"patience": 0}, {"batch_size": 0}, {"learning_rate": 0.0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        TrainingConfig(**wrong)


def test_devices():
    assert resolve_device("cpu").type == "cpu"
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(InputError, match="device 'qpu' cannot be used"):
        resolve_device("qpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_that_is_not_there_is_one_line():
    with pytest.raises(InputError, match="device 'cuda' cannot be used"):
        resolve_device("cuda")
