"""Each ablation of `relative` lacks what it says, and nothing else."""

import numpy as np
import pytest

from oddshot.methods.relative_ablations import RELATIVE_ABLATIONS
from oddshot.score.columns import N_KNOTS
from oddshot.score.rows import LabelledRows
from tests.methods.samples import build, random_rows, without_anomalies

NETWORKS = {"relative-pairs": {"pair"}, "relative-columns": {"column", "attention", "marks"}, "relative-figures": set()}
WIDTHS = {"relative-pairs": 3 * 48, "relative-columns": 4 * 24, "relative-figures": 2 * 11 + 5}  # in this order


def with_weights_of(method, name):
    """An ablation with the same weights."""
    ablation = build(name)
    ablation.weights |= {key: value for key, value in method.weights.items() if key in ablation.weights}
    return ablation


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("shape", [(3, 5), (None, N_KNOTS)], ids=["few rows", "many rows of one task"])
def test_descriptions_lack_one_part_and_keep_the_others(name, shape):
    tasks, n_rows = shape
    method = build("relative")
    ablation = with_weights_of(method, name)
    support, rows = random_rows(1, tasks), random_rows(2, tasks, n_normal=n_rows).normal
    unlabelled = random_rows(3, tasks).normal
    whole, part = (each.relate(support, unlabelled, describes_all=True) for each in (method, ablation))
    pairs = (whole.describe(rows), ablation.select(part.describe(rows))), (whole.own_rows, part.own_rows)
    ends = np.cumsum(list(WIDTHS.values()))[:-1]
    for expected, found in pairs:
        parts = zip(WIDTHS, *(np.split(each, ends, axis=-1) for each in (expected, found)), strict=True)
        for part_name, in_whole, in_part in parts:
            assert np.count_nonzero(in_whole) > 0
            np.testing.assert_array_equal(in_part, np.zeros_like(in_whole) if part_name == name else in_whole)
    scores = part.distance(ablation.select(part.describe(rows)))
    np.testing.assert_array_equal(part(rows), scores)


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_do_not_depend_on_networks_of_an_absent_part(name):
    support, query = random_rows(1), random_rows(2).joined()
    method = build(name)
    before = method.adapt(support)(query)
    seen = set()
    for weight_name, kept in list(method.weights.items()):
        part = weight_name.split(".")[0]
        if part in {"pair", "column", "attention", "marks"}:
            seen.add(part)
            method.weights[weight_name] = kept + 0.3
            after = method.adapt(support)(query)
            method.weights[weight_name] = kept
            assert np.array_equal(before, after) == (part in NETWORKS[name]), weight_name
    assert seen == {"pair", "column", "attention", "marks"}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_centre_does_not_depend_on_networks_of_an_absent_part(name):
    support, normal = random_rows(1, 3), random_rows(2, 3).normal
    method = build(name)
    before = method.center_of(support, normal)
    for weight_name in ("pair.weights.0", "column.weights.0", "attention.weights.0", "marks"):
        kept = method.weights[weight_name]
        method.weights[weight_name] = kept + 0.3
        after = method.center_of(support, normal)
        method.weights[weight_name] = kept
        assert np.array_equal(before, after) == (weight_name.split(".")[0] in NETWORKS[name]), weight_name


def test_without_the_eigenvalue_head_the_direction_is_the_same_for_all_tasks():
    support, query = random_rows(1), random_rows(2).joined()
    method = build("relative-head")
    score = method.relate(support)
    P = score.distance.P
    np.testing.assert_allclose(P, np.broadcast_to(P[:1], P.shape), rtol=1e-12)  # BLAS rounds rows by their place
    z, w = score.embed(query), method.weights["imagined"]
    np.testing.assert_allclose(score(query), (z @ (w / np.linalg.norm(w))) ** 2, rtol=1e-9)
    method.weights["log_eta"] = method.weights["log_eta"] + 1.0
    np.testing.assert_array_equal(method.relate(support)(query), score(query))
    solved = build("relative").relate(support).distance.P
    assert not np.allclose(solved, solved[:1])


def test_without_marks_columns_can_be_exchanged():
    support, query = random_rows(1), random_rows(2).joined()
    exchanged = LabelledRows(*(rows[..., ::-1] for rows in support))
    for name, is_same in (("relative-marks", True), ("relative", False)):
        method = build(name)
        scores, others = method.adapt(support)(query), method.adapt(exchanged)(query[..., ::-1])
        assert np.allclose(scores, others) == is_same
    config = build("relative-marks").config
    assert config.with_marks() is config


@pytest.mark.parametrize("forest_weight", [0.0, 0.5])
def test_without_the_blend_the_score_is_the_learned_one(forest_weight):
    method = build("relative", forest_weight=forest_weight)
    alone, query = build("relative-blend", forest_weight=forest_weight), random_rows(2).joined()
    for support in (random_rows(1), without_anomalies(random_rows(1))):
        np.testing.assert_array_equal(alone.adapt(support)(query), method.relate(support)(query))
        is_blended = support.n_anomaly == 0 or forest_weight > 0
        assert np.array_equal(alone.adapt(support)(query), method.adapt(support)(query)) != is_blended


@pytest.mark.parametrize("ablation", RELATIVE_ABLATIONS, ids=lambda ablation: ablation.name)
@pytest.mark.parametrize("kind", range(4))
def test_gradients_of_every_kind_of_step_are_finite_and_change_the_loss(ablation, kind):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    made = build_trainable(ablation.name)
    episode = made.method.vary_episode(random_tensors(1), random_tensors(2), kind)
    before = made.loss(*episode)
    before.sum().backward()
    gradients = [tensor.grad for tensor in made.parameters if tensor.grad is not None]
    assert gradients
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    torch.optim.SGD(made.parameters, lr=1e-3).step()
    assert (made.loss(*episode) < before).all()
