"""Each ablation of `relative` lacks what it says, and nothing else."""

import pytest
import torch

from oddshot.methods.contract import LabelledRows
from oddshot.methods.relative_ablations import RELATIVE_ABLATIONS
from oddshot.model.curves import N_KNOTS
from tests.methods.samples import build, random_rows

NETWORKS = {"relative-pairs": {"pair"}, "relative-columns": {"column", "attention", "marks"}, "relative-figures": set()}
WIDTHS = {"relative-pairs": 3 * 48, "relative-columns": 4 * 24, "relative-figures": 2 * 11 + 5}  # in this order


def without_anomalies(rows):
    return LabelledRows(rows.normal, rows.anomaly[:, :, :0])


def with_weights_of(method, name, replicas=2):
    """An ablation with the same weights."""
    ablation = build(name, replicas)
    own = ablation.state_dict()
    ablation.load_state_dict({key: value for key, value in method.state_dict().items() if key in own})
    return ablation


@torch.no_grad()
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 1, N_KNOTS)], ids=["few rows", "many rows of one task"])
def test_descriptions_lack_one_part_and_keep_the_others(name, shape):
    replicas, tasks, n_rows = shape
    method = build("relative", replicas)
    support, rows = random_rows(1, replicas, tasks), random_rows(2, replicas, tasks, n_normal=n_rows).normal
    unlabelled = random_rows(3, replicas, tasks).normal
    whole, part = (each.describer(support, unlabelled) for each in (method, with_weights_of(method, name, replicas)))
    pairs = (whole(rows), part(rows)), (whole.describe_context(), part.describe_context())
    for expected, found in (*pairs, (whole.describe_support(), part.describe_support())):
        parts = zip(WIDTHS, *(each.split(list(WIDTHS.values()), dim=-1) for each in (expected, found)), strict=True)
        for part_name, in_whole, in_part in parts:
            assert in_whole.count_nonzero() > 0
            assert torch.equal(in_part, torch.zeros_like(in_whole) if part_name == name else in_whole)


@torch.no_grad()
@pytest.mark.parametrize("name", NETWORKS)
def test_scores_do_not_depend_on_networks_of_an_absent_part(name):
    support, query = random_rows(1), random_rows(2).joined()
    method = build(name)
    before = method.adapt(support)(query)
    for parameter_name, parameter in method.named_parameters():
        part = parameter_name.split(".")[0]
        if part in {"pair", "column", "attention", "marks"}:
            kept = parameter.clone()
            parameter.add_(0.3)
            after = method.adapt(support)(query)
            parameter.copy_(kept)
            assert torch.equal(before, after) == (part in NETWORKS[name]), parameter_name


@torch.no_grad()
def test_without_the_eigenvalue_head_the_direction_is_the_same_for_all_tasks():
    support, query = random_rows(1), random_rows(2).joined()
    method = build("relative-head")
    score = method.relate(support)
    assert torch.equal(score.distance.P, score.distance.P[:, :1].expand_as(score.distance.P))
    z = method.embed_rows(score, query)
    w = method.imagined / method.imagined.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(score(query), (z @ w[:, None, :, None]).squeeze(-1).square())
    method.log_eta.add_(1.0)
    assert torch.equal(method.relate(support)(query), score(query))
    solved = build("relative").relate(support).distance.P
    assert not torch.allclose(solved, solved[:, :1].expand_as(solved))


@torch.no_grad()
def test_without_marks_columns_can_be_exchanged():
    support, query = random_rows(1), random_rows(2).joined()
    exchanged = LabelledRows(*(rows.flip(-1) for rows in support))
    for name, is_same in (("relative-marks", True), ("relative", False)):
        method = build(name)
        scores, others = method.adapt(support)(query), method.adapt(exchanged)(query.flip(-1))
        assert torch.allclose(scores, others) == is_same
    config = build("relative-marks").config
    assert config.with_marks() is config


@torch.no_grad()
@pytest.mark.parametrize("forest_weight", [0.0, 0.5])
def test_without_the_blend_the_score_is_the_learned_one(forest_weight):
    method = build("relative", forest_weight=forest_weight)
    alone, query = build("relative-blend", forest_weight=forest_weight), random_rows(2).joined()
    for support in (random_rows(1), without_anomalies(random_rows(1))):
        assert torch.equal(alone.adapt(support)(query), method.relate(support)(query))
        is_blended = support.anomaly.shape[2] == 0 or forest_weight > 0
        assert torch.equal(alone.adapt(support)(query), method.adapt(support)(query)) != is_blended


@pytest.mark.parametrize("ablation", RELATIVE_ABLATIONS, ids=lambda ablation: ablation.name)
@pytest.mark.parametrize("kind", range(4))
def test_gradients_of_every_kind_of_step_are_finite_and_change_the_loss(ablation, kind):
    method = build(ablation.name)
    episode = method.augment_episode(random_rows(1), random_rows(2), kind)
    before = method.loss(*episode)
    before.sum().backward()
    gradients = [parameter.grad for parameter in method.parameters() if parameter.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    torch.optim.SGD(method.parameters(), lr=1e-3).step()
    assert (method.loss(*episode) < before).all()
