"""The checks that every method must pass, whatever it does inside."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from oddshot.data.encoding import Encoding
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.errors import InputError
from oddshot.methods import METHODS
from oddshot.methods.contract import LabelledRows
from oddshot.storage.model_file import Model, from_bytes, to_bytes
from oddshot.training import TrainingConfig, TrainingData, evaluate, train, validation_episodes
from tests.methods.samples import build, is_learned, pick, random_rows, small_config

NEED_AN_ANOMALY = {"eigen", "proto", "r2d2", "maml", "ft", "lr", "knn", "rf", "catboost", "xgboost"}
NEED_TWO_NORMALS = {"if", "lof"}  # a forest or a neighbourhood of one row has no shape
SPANS_OF_THEIR_OWN = {"wonn", "woanomaly"}  # from 0, the score of a row on the centre
SEEDED_BY_THE_ROWS = {"if", "rf", "catboost"}  # the same rows in float32 give another forest
EASY = EpisodeSizes(5, 1, 8, 5)
MORE_NORMALS = {"if": 12}  # a forest of five rows is blind towards the corner where most of them crowd

pytestmark = pytest.mark.parametrize("name", METHODS)


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
    method = METHODS[name](4, small_config(name))
    if is_learned(method):
        config = TrainingConfig(epochs=epochs, learning_rate=0.01, batch_size=10)
        train(method, TrainingData([easy_tasks(0, 20)], [easy_tasks(1, 3)], EASY), [7], config=config)
    return method


@cache
def trained(name):
    return train_briefly(name)


def easy_episodes(sizes=EASY):
    stream = [np.random.SeedSequence(3)]
    return validation_episodes([easy_tasks(2, 4)], sizes, "resampled", torch.device("cpu"), stream, min_episodes=4)


def test_an_easy_task_is_solved(name):
    sizes = replace(EASY, support_normal=MORE_NORMALS.get(name, EASY.support_normal))
    assert float(evaluate(trained(name), *easy_episodes(sizes))[1].mean()) > 0.9


def test_same_seed_same_result(name):
    methods = [train_briefly(name, epochs=2) for _ in range(2)]
    support, query = easy_episodes()
    first, second = (method.adapt(support)(query.normal) for method in methods)
    assert torch.equal(first, second)


@torch.no_grad()
def test_saved_and_loaded_it_scores_the_same(name):
    encoding = Encoding.fit([np.random.default_rng(0).normal(size=(20, 4))])
    loaded = from_bytes(to_bytes(Model(trained(name), encoding, 0.25))).method
    support, query = easy_episodes()
    assert type(loaded) is METHODS[name]
    assert torch.equal(loaded.adapt(support)(query.normal), trained(name).adapt(support)(query.normal))


@torch.no_grad()
def test_scores_are_float64_and_not_all_equal(name):
    scores = build(name).adapt(random_rows(1))(random_rows(2).joined())
    assert scores.shape == (2, 3, 7)
    assert scores.dtype == torch.float64
    assert torch.isfinite(scores).all()
    assert (scores.amax(-1) > scores.amin(-1)).all()


def test_order_of_the_support_does_not_matter(name):
    method, support, query = build(name), random_rows(3), random_rows(4).joined()
    shuffled = LabelledRows(support.normal.flip(2), support.anomaly.flip(2))
    torch.testing.assert_close(method.adapt(shuffled)(query), method.adapt(support)(query))


@torch.no_grad()
def test_tasks_together_equal_tasks_alone(name):
    assert_tasks_alone_score_the_same(build(name), random_rows(5), random_rows(6).joined())


def assert_tasks_alone_score_the_same(method, support, query):
    together = method.adapt(support)(query)
    for t in range(3):
        alone = method.adapt(pick(support, tasks=slice(t, t + 1)))
        torch.testing.assert_close(alone(query[:, t : t + 1])[:, 0], together[:, t])


def test_replicas_equal_separate_models(name):
    method, support, query = build(name), random_rows(7), random_rows(8)
    scores = method.adapt(support)(query.joined())
    for r in range(2):
        one = slice(r, r + 1)
        alone = build(name, replicas=1)
        alone.load_state_dict({key: value[one] for key, value in method.state_dict().items()})
        torch.testing.assert_close(alone.adapt(pick(support, one))(query.joined()[one])[0], scores[r])
        if is_learned(method):
            loss, gradient = loss_and_gradient(alone, pick(support, one), pick(query, one))
            losses, gradients = loss_and_gradient(method, support, query)
            torch.testing.assert_close(loss[0], losses[r])
            for mine, ours in zip(gradient, gradients, strict=True):
                torch.testing.assert_close(mine[0], ours[r])


def loss_and_gradient(method, support, query):
    loss = method.loss(support, query)
    gradients = torch.autograd.grad(loss.sum(), list(method.parameters()), allow_unused=True)
    return loss.detach(), [gradient for gradient in gradients if gradient is not None]


@torch.no_grad()
def test_a_score_does_not_depend_on_the_rows_beside_it(name):
    score, query = build(name).adapt(random_rows(9)), random_rows(10).joined()
    together = score(query)
    torch.testing.assert_close(score(query[:, :, 2:3])[..., 0], together[..., 2])
    assert score(query[:, :, :0]).shape == (2, 3, 0)


@torch.no_grad()
def test_inputs_and_weights_are_left_as_they_were(name):
    method, support, query = build(name), random_rows(11), random_rows(12)
    before = copy.deepcopy((support, query, method.state_dict()))
    method.adapt(support).span(support)
    with torch.enable_grad():
        method.adapt(support)(query.joined())
        if is_learned(method):
            method.loss(support, query).sum().backward()
    after = support, query, method.state_dict()
    for old, new in zip((*before[0], *before[1]), (*after[0], *after[1]), strict=True):
        assert torch.equal(old, new)
    assert all(torch.equal(before[2][key], value) for key, value in after[2].items())


def test_scores_are_the_same_without_gradients(name):
    method, support, query = build(name, replicas=1), random_rows(13, 1, 1), random_rows(14, 1, 1).joined()
    with torch.no_grad():
        without = method.adapt(support)(query)
    torch.testing.assert_close(method.adapt(support)(query).detach(), without)


@torch.no_grad()
def test_a_support_without_anomalies_works_or_is_refused_in_one_line(name):
    method, support = build(name), random_rows(15, n_anomaly=0)
    if name in NEED_AN_ANOMALY:
        with pytest.raises(InputError, match=f"method '{name}' needs at least one labelled anomaly") as refusal:
            method.adapt(support)
        assert "\n" not in str(refusal.value)
    else:
        score, query = method.adapt(support), random_rows(16).joined()
        assert_tasks_alone_score_the_same(method, support, query)
        low, high = score.span(support)
        if name in SPANS_OF_THEIR_OWN:
            assert (low == 0).all()
            assert (high > 0).all()
        else:
            context = score.scored_context()
            of_normal = (
                score(support.normal)
                if context.scores.shape[-1] == 0
                else context.scores[..., : support.normal.shape[2]]
            )
            torch.testing.assert_close(low, of_normal.mean(-1))
            torch.testing.assert_close(high, of_normal.mean(-1) + 4 * of_normal.std(-1, correction=0))


@torch.no_grad()
def test_one_normal_row_works_or_is_refused_in_one_line(name):
    method, support = build(name), random_rows(17, n_normal=1, n_anomaly=1)
    if name in NEED_TWO_NORMALS:
        with pytest.raises(InputError, match=f"method '{name}' needs 2 or more rows labelled normal; .* has 1"):
            method.adapt(support)
    else:
        assert_tasks_alone_score_the_same(method, support, random_rows(18).joined())


@torch.no_grad()
def test_equal_rows_and_large_numbers_score_in_float32_as_in_float64(name):
    in_float64, in_float32, (normal, anomaly) = build(name), build(name).float(), random_rows(19)
    query = random_rows(20).joined()
    for support in (
        LabelledRows(normal[:, :, :1].expand_as(normal), anomaly),
        LabelledRows(normal, normal[:, :, :2]),
        LabelledRows(torch.zeros_like(normal), torch.zeros_like(anomaly)),
        LabelledRows(normal * 1e12, anomaly * 1e12),
    ):
        scores = in_float32.adapt(LabelledRows(*(part.float() for part in support)))(query.float())
        if name in SEEDED_BY_THE_ROWS:
            assert torch.isfinite(scores).all()
        else:
            expected = in_float64.adapt(support)(query)
            torch.testing.assert_close(scores, expected, rtol=0, atol=max(0.02 * float(expected.abs().max()), 1e-6))
