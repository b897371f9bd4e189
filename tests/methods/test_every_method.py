"""The checks that every method must pass, whatever it does inside."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from oddshot.data.encoding import Encoding
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet, draw_episode
from oddshot.errors import InputError
from oddshot.methods import find_method, method_names
from oddshot.score.auc import exact_auc
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import Model, from_bytes, to_bytes
from tests.methods.samples import build, in_float32, learned_names, pick, random_rows, small_config, without_anomalies

NEED_AN_ANOMALY = {"eigen", "proto", "r2d2", "maml", "ft", "lr", "knn", "rf", "catboost", "xgboost"}
NEED_TWO_NORMALS = {"if", "lof"}  # a forest or a neighbourhood of one row has no shape
RANGES_OF_THEIR_OWN = {"wonn", "woanomaly"}  # from 0, the score of a row on the centre
SEEDED_BY_THE_ROWS = {"if", "rf", "catboost"}  # the same rows in float32 give another forest
EASY = EpisodeSizes(5, 1, 8, 5)
MORE_NORMALS = {"if": 12}  # a forest of five rows is blind towards the corner where most of them crowd

every_method = pytest.mark.parametrize("name", method_names())
every_learned_method = pytest.mark.parametrize("name", learned_names())


def easy_tasks(seed, n_tasks, M=4):
    """Normal rows around 0, the anomalies of each task far away towards a corner of its own."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n_tasks):
        y = (np.arange(30) % 3 == 0).astype(np.int8)
        X = 0.5 * rng.normal(size=(30, M)) + np.outer(y, 4 * rng.choice([-1, 1], M))
        made.append((X, y))
    return TaskSet.from_tasks(made)


def train_briefly(name, epochs=10):
    if name not in learned_names():
        return find_method(name)(4, small_config(name))
    pytest.importorskip("torch")
    from oddshot.training import TrainingConfig, TrainingData, train
    from oddshot.training.trainable import Trainable

    trainable = Trainable(find_method(name), 4, small_config(name))
    config = TrainingConfig(epochs=epochs, learning_rate=0.01, batch_size=10)
    train(trainable, TrainingData([easy_tasks(0, 20)], [easy_tasks(1, 3)], EASY), [7], config=config)
    return trainable.trained()


@cache
def trained(name):
    return train_briefly(name)


def easy_episodes(sizes=EASY):
    """Support and query of four tasks, none of which is among those of training."""
    tasks, rng = easy_tasks(2, 4), np.random.default_rng(3)
    parts = [tasks.X[rows] for rows in draw_episode(tasks, np.arange(4), sizes, "resampled", rng)]
    return LabelledRows(*parts[:2]), LabelledRows(*parts[2:])


@every_method
def test_an_easy_task_is_solved(name):
    sizes = replace(EASY, support_normal=MORE_NORMALS.get(name, EASY.support_normal))
    support, query = easy_episodes(sizes)
    assert exact_auc(*map(trained(name).adapt(support), query)).mean() > 0.9


@every_method
def test_same_seed_same_result(name):
    methods = [train_briefly(name, epochs=2) for _ in range(2)]
    support, query = easy_episodes()
    first, second = (method.adapt(support)(query.normal) for method in methods)
    np.testing.assert_array_equal(first, second)


@every_method
def test_saved_and_loaded_it_scores_the_same(name):
    encoding = Encoding.fit([np.random.default_rng(0).normal(size=(20, 4))])
    method = build(name, dtype=np.float32)
    loaded = from_bytes(to_bytes(Model(method, encoding, 0.25))).method
    support, query = map(in_float32, (random_rows(1), random_rows(2)))
    assert type(loaded) is find_method(name)
    np.testing.assert_array_equal(loaded.adapt(support)(query.normal), method.adapt(support)(query.normal))


@every_method
def test_scores_are_float64_and_not_all_equal(name):
    for dtype, rows in ((np.float64, tuple), (np.float32, in_float32)):
        support, query = (LabelledRows(*rows(random_rows(seed))) for seed in (1, 2))
        scores = build(name, dtype=dtype).adapt(support)(query.joined())
        assert scores.shape == (3, 7)
        assert scores.dtype == np.float64
        assert np.isfinite(scores).all()
        assert (scores.max(-1) > scores.min(-1)).all()


@every_method
def test_order_of_the_support_does_not_matter(name):
    method, support, query = build(name), random_rows(3), random_rows(4).joined()
    shuffled = LabelledRows(support.normal[:, ::-1], support.anomaly[:, ::-1])
    np.testing.assert_allclose(method.adapt(shuffled)(query), method.adapt(support)(query), rtol=1e-7, atol=1e-9)


@every_method
def test_tasks_together_equal_tasks_alone(name):
    assert_tasks_alone_score_the_same(build(name), random_rows(5), random_rows(6).joined())


def assert_tasks_alone_score_the_same(method, support, query):
    together = method.adapt(support)(query)
    for t in range(3):
        one = slice(t, t + 1)
        np.testing.assert_allclose(method.adapt(pick(support, one))(query[one])[0], together[t], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(method.adapt(pick(support, t))(query[t]), together[t], rtol=1e-7, atol=1e-9)


@every_learned_method
def test_replicas_trained_together_equal_separate_models(name):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    both, support, query = build_trainable(name), random_tensors(7), random_tensors(8)
    scores = both.method.learned(support)(query.joined()).detach()
    losses, gradients = loss_and_gradients(both, support, query)
    for r in range(2):
        one, alone = slice(r, r + 1), build_trainable(name, replicas=1)
        alone.load({key: value[one] for key, value in both.tensors.items()})
        mine = [pick(rows, one) for rows in (support, query)]
        found = alone.method.learned(mine[0])(mine[1].joined()).detach()
        torch.testing.assert_close(found[0], scores[r])
        loss, own_gradients = loss_and_gradients(alone, *mine)
        torch.testing.assert_close(loss[0], losses[r])
        assert own_gradients.keys() == gradients.keys()
        for key, gradient in own_gradients.items():
            torch.testing.assert_close(gradient[0], gradients[key][r])


def loss_and_gradients(trainable, support, query):
    """The loss of each replica, and the gradients of the weights that it depends on."""
    import torch

    from tests.methods.tensors import learned_names_of

    loss = trainable.loss(support, query)
    gradients = torch.autograd.grad(loss.sum(), trainable.parameters, allow_unused=True)
    named = zip(learned_names_of(trainable), gradients, strict=True)
    found = {name: gradient for name, gradient in named if gradient is not None}
    assert found
    return loss.detach(), found


@every_learned_method
@pytest.mark.parametrize("n_anomaly", [0, 1, 2])
def test_trained_tensors_and_the_numpy_model_of_each_replica_score_the_same(name, n_anomaly):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors, replica_of

    if n_anomaly == 0 and name in NEED_AN_ANOMALY - {"ft"}:
        return
    both, support, query = build_trainable(name), random_tensors(7, n_anomaly=n_anomaly), random_tensors(8)
    scores = both.method.learned(support)(query.joined())
    for r in range(2):
        method = both.trained(r)
        assert all(isinstance(weight, np.ndarray) for weight in method.weights.values())
        alone = method.learned(replica_of(support, r))(replica_of(query, r).joined())
        torch.testing.assert_close(torch.from_numpy(alone), scores[r].detach(), rtol=1e-9, atol=1e-11)


@every_method
def test_a_score_does_not_depend_on_the_rows_beside_it(name):
    score, query = build(name).adapt(random_rows(9)), random_rows(10).joined()
    together = score(query)
    np.testing.assert_allclose(score(query[:, 2:3])[:, 0], together[:, 2], rtol=1e-7, atol=1e-10)
    assert score(query[:, :0]).shape == (3, 0)


@every_method
def test_inputs_and_weights_are_left_as_they_were(name):
    method, support, query = build(name), random_rows(11), random_rows(12)
    unlabelled = random_rows(13).normal
    before = copy.deepcopy((support, query, unlabelled, method.weights))
    score = method.adapt(support, unlabelled if method.uses_unlabelled else None)
    score(query.joined())
    score.score_range(support)
    score.own()
    method.adapt(pick(support, 0)).prepare()(query.normal[0])
    for old, new in zip((*before[0], *before[1], before[2]), (*support, *query, unlabelled), strict=True):
        np.testing.assert_array_equal(new, old)
    assert before[3].keys() == method.weights.keys()
    for key, weight in method.weights.items():
        np.testing.assert_array_equal(weight, before[3][key])


@every_learned_method
def test_a_loss_and_its_gradient_leave_tensors_as_they_were(name):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    made, support, query = build_trainable(name), random_tensors(11), random_tensors(12)
    before, weights = copy.deepcopy((*support, *query)), made.state()
    made.loss(support, query).sum().backward()
    assert all(torch.equal(old, new) for old, new in zip(before, (*support, *query), strict=True))
    assert all(torch.equal(weights[key], value) for key, value in made.tensors.items())


@every_learned_method
def test_scores_are_the_same_without_gradients(name):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    made, support, query = build_trainable(name), random_tensors(13), random_tensors(14).joined()
    with_gradients = made.method.learned(support)(query)
    assert with_gradients.requires_grad
    with torch.no_grad():
        without = made.method.learned(support)(query)
    torch.testing.assert_close(with_gradients.detach(), without)


@every_method
def test_a_support_without_anomalies_works_or_is_refused_in_one_line(name):
    method, support = build(name), without_anomalies(random_rows(15))
    if name in NEED_AN_ANOMALY:
        with pytest.raises(InputError, match=f"method '{name}' needs at least one labelled anomaly") as refusal:
            method.adapt(support)
        assert "\n" not in str(refusal.value)
        return
    score, query = method.adapt(support), random_rows(16).joined()
    assert_tasks_alone_score_the_same(method, support, query)
    low, high = score.score_range(support)
    if name in RANGES_OF_THEIR_OWN:
        assert (low == 0).all()
        assert (high > 0).all()
    else:
        own = score.own()
        of_normal = score(support.normal) if own is None else own.scores
        np.testing.assert_allclose(low, of_normal.mean(-1))
        np.testing.assert_allclose(high, of_normal.mean(-1) + 4 * of_normal.std(-1))


@every_method
def test_with_anomalies_the_range_is_from_mean_to_mean_of_the_support(name):
    support = random_rows(15)
    score = build(name).adapt(support)
    if name == "woanomaly":
        low, high = score.score_range(support)
        np.testing.assert_allclose(low, 0)
        np.testing.assert_allclose(high, build(name).weights["center"] @ build(name).weights["center"])
        return
    for found, rows in zip(score.score_range(support), support, strict=True):
        np.testing.assert_allclose(found, score(rows).mean(-1))


@every_method
def test_one_normal_row_works_or_is_refused_in_one_line(name):
    method, support = build(name), random_rows(17, n_normal=1, n_anomaly=1)
    if name in NEED_TWO_NORMALS:
        with pytest.raises(InputError, match=f"method '{name}' needs 2 or more rows labelled normal; .* has 1"):
            method.adapt(support)
    else:
        assert_tasks_alone_score_the_same(method, support, random_rows(18).joined())


@every_method
def test_equal_rows_and_large_numbers_score_in_float32_as_in_float64(name):
    normal, anomaly = random_rows(19)
    query = random_rows(20).joined()
    for support in (
        LabelledRows(np.broadcast_to(normal[:, :1], normal.shape), anomaly),
        LabelledRows(normal, normal[:, :2]),
        LabelledRows(np.zeros_like(normal), np.zeros_like(anomaly)),
        LabelledRows(normal * 1e12, anomaly * 1e12),
    ):
        scores = build(name, dtype=np.float32).adapt(in_float32(support))(query.astype(np.float32))
        if name in SEEDED_BY_THE_ROWS:
            assert np.isfinite(scores).all()
        else:
            expected = build(name).adapt(support)(query)
            np.testing.assert_allclose(scores, expected, rtol=0, atol=max(0.02 * np.abs(expected).max(), 1e-6))
