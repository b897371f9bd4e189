"""Rows described by networks, against loops over single rows; the table of knots against the direct way."""

import dataclasses
import itertools
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.model import description, relations
from oddshot.model.curves import N_KNOTS
from oddshot.model.description import Describer
from oddshot.model.networks import Network
from oddshot.model.relations import N_ROW_FEATURES, N_TASK_FEATURES, TaskContext
from tests.model.test_curves import values_at
from tests.model.test_relations import (
    ANOMALY_FIGURES,
    SIZES,
    TASKS,
    assert_near,
    changed,
    draw,
    loops,
    make,
    padded,
    reordered,
    seeds,
    sizes,
)
from tests.references import layers_of

PAIR, COLUMN, HEADS = 5, 3, 2
COLUMNS = slice(3 * PAIR, 3 * PAIR + (2 + HEADS) * COLUMN)  # where a description tells of the columns
FIGURES = slice(COLUMNS.stop, COLUMNS.stop + 2 * N_ROW_FEATURES)
D = FIGURES.stop + N_TASK_FEATURES


def describer(relations, seed=0):
    """Random networks, the same whatever the tasks are."""
    replicas = relations.normal.shape[0]
    shapes = [10, PAIR], [7, COLUMN + 1, COLUMN], [3, 6, HEADS]
    networks = [Network(shape, replicas=replicas).double() for shape in shapes]
    for k, network in enumerate(networks):
        network.initialise([torch.Generator().manual_seed(seed + 10 * k + r) for r in range(replicas)])
        with torch.no_grad():
            for bias in network.biases:
                bias += 0.3  # few numbers are 0 for all rows
    return Describer(*networks, relations)


def one_task(n=5, a=2, u=6, M=4, seed=0, dtype=torch.float64):
    relations = changed(make(n, a, u, M, seed, replicas=1, tasks=1), lambda rows: rows.to(dtype))
    ours = describer(relations)
    return dataclasses.replace(
        ours, **{name: getattr(ours, name).to(dtype) for name in ("pair", "column", "attention")}
    )


def at_once(describe, x):
    """By the table; that it was made shows that it was looked into."""
    out = describe(x.contiguous())
    assert "table" in vars(describe)
    return out


def directly(describe, x):
    """In pieces too small for the table."""
    fresh = dataclasses.replace(describe)
    out = torch.cat([fresh(part) for part in x.split(N_KNOTS - 1, dim=2)], dim=2)
    assert "table" not in vars(fresh)
    return out


def of_references(describe, r):
    return [layers_of(network, r) for network in (describe.pair, describe.column, describe.attention)]


@torch.no_grad()
@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_other_rows_are_described_as_by_loops(n, a, u):
    describe, x = describer(make(n, a, u)), draw(1, 2, 3, 4, 4) * torch.tensor([0.1, 1.0, 3.0, 30.0])[:, None]
    ours = describe(x)
    assert ours.shape == (2, 3, 4, D)
    for (r, t), k in itertools.product(TASKS, range(4)):
        task = loops(describe.context, r, t)
        assert_near(ours[r, t, k], task.description(of_references(describe, r), x[r, t, k].numpy()))


@torch.no_grad()
@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_support_rows_are_described_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    describe = describer(make(n, a, u))
    ours = describe.describe_support()
    assert ours.shape == (2, 3, a + n, D)
    for (r, t), k in itertools.product(TASKS, range(a + n)):
        task = loops(describe.context, r, t)
        assert_near(ours[r, t, k], task.description(of_references(describe, r), task.support[k], k))


@torch.no_grad()
@pytest.mark.parametrize(("n", "a", "u"), [(1, 0, 0), (1, 1, 0), (5, 3, 12), (2, 0, 12)])
def test_many_rows_of_one_task_are_described_as_by_loops(n, a, u):
    describe, x = one_task(n, a, u), 3 * draw(1, 1, 1, N_KNOTS, 4)
    ours, task = at_once(describe, x), loops(describe.context, 0, 0)
    for k in range(0, N_KNOTS, 5):
        assert_near(ours[0, 0, k], task.description(of_references(describe, 0), x[0, 0, k].numpy()))


def test_every_number_of_a_description_says_something():
    """Else the comparisons with loops would compare nothing but zeros."""
    described = describer(make(5, 2, 6))(draw(1, 2, 3, 50, 4)).flatten(1, 2)
    says = described.var(dim=1) > 0
    assert says[:, : FIGURES.stop].float().mean() > 0.9


@torch.no_grad()
@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
@pytest.mark.parametrize(("n", "a", "u"), [(1, 0, 0), (1, 1, 1), (5, 2, 6), (30, 1, 200)])
@pytest.mark.parametrize("M", [1, 4, 50])
def test_the_table_gives_what_the_direct_way_gives(n, a, u, M, dtype, rtol):
    describe = one_task(n, a, u, M, dtype=dtype)
    x = (draw(1, 1, 1, 200, M) * torch.logspace(-2, 3, 200)[:, None]).to(dtype)
    torch.testing.assert_close(at_once(describe, x), directly(describe, x), rtol=rtol, atol=rtol)


@torch.no_grad()
@pytest.mark.parametrize("dead", [0, 3])
def test_the_table_leaves_out_columns_that_do_not_count(dead):
    relations = changed(make(5, 2, 6, replicas=1, tasks=1), lambda rows: rows * (torch.arange(4) != dead))
    describe, x = describer(relations), draw(1, 1, 1, 100, 4)
    moved = x + 5.0 * (torch.arange(4) == dead)
    described = at_once(describe, x)
    torch.testing.assert_close(described, directly(describe, x))
    torch.testing.assert_close(at_once(describe, moved)[..., COLUMNS], described[..., COLUMNS])


@torch.no_grad()
@pytest.mark.parametrize("many", [1, N_KNOTS])
def test_how_rows_lie_in_memory_does_not_matter(many):
    describe, x = one_task(), draw(1, 1, 1, 2 * many, 4)
    for rows in (x.mT.contiguous().mT, x[:, :, ::2], x[:, :, :1].expand(-1, -1, many, -1), x[..., [0]].expand_as(x)):
        torch.testing.assert_close(describe(rows), describe(rows.contiguous()))


def test_where_gradients_are_wanted_many_rows_have_them():
    describe, x = one_task(), draw(1, 1, 1, 2 * N_KNOTS, 4)
    described = describe(x)
    assert "table" not in vars(describe)
    described[..., COLUMNS].sum().backward()
    for network in (describe.column, describe.attention):
        assert all(parameter.grad.abs().max() > 0 for parameter in network.weights)
    with torch.no_grad():
        torch.testing.assert_close(at_once(describe, x), described.detach())


@pytest.mark.parametrize("has_marks", [False, True])
def test_gradients_are_those_that_torch_derives_from_plain_operations(has_marks, monkeypatch):
    def layer(W, x, b=None, is_rectified=False):
        out = torch.einsum("roi,ri...->ro...", W, x)
        out = out if b is None else out + b.view(*b.shape, *[1] * (out.dim() - b.dim()))
        return out.relu() if is_rectified else out

    def pooled(knots, share, weights):
        left, right = knots.chunk(2, dim=-1)
        value, power = (a + share * (b - a) for a, b in ((left, right), (left**4, right**4)))
        means = torch.einsum("rthm,rctmn->rcthn", weights, value)
        return means, torch.einsum("rthm,rctmn->rcthn", weights[:, :, :1], power)

    def gradients():
        describe = describer(make(5, 2, 6, 4, 0))
        networks = (describe.pair, describe.column, describe.attention)
        if has_marks:
            describe = dataclasses.replace(describe, marks=draw(3, *describe.context.rows.shape[:1], 2, 1, 4, 1))
            for network in networks[1:]:
                network.weights[0] = torch.nn.Parameter(torch.cat([network.weights[0], network.weights[0][:, :2]], 1))
        x = draw(1, *describe.context.rows.shape[:2], 9, 4).requires_grad_()
        (describe(x).square().sum() + describe.describe_support().sum()).backward()
        return [x.grad, *(one.grad for network in networks for one in network.parameters())]

    found = gradients()
    monkeypatch.setattr(description, "taskwise_layer", layer)
    monkeypatch.setattr(description, "pool_curves", pooled)
    for one, expected in zip(found, gradients(), strict=True):
        torch.testing.assert_close(one, expected)


@torch.no_grad()
@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_the_support_is_described_alone_as_among_all_rows(n, a, u):
    """Where gradients are recorded, unlabelled rows are not described."""
    describe = describer(make(n, a, u))
    with torch.enable_grad():
        alone = dataclasses.replace(describe, context=dataclasses.replace(describe.context)).describe_support()
    torch.testing.assert_close(alone, describe.describe_support())


@torch.no_grad()
@pytest.mark.parametrize("size", [1, N_KNOTS - 1, N_KNOTS, 150])
def test_a_row_is_described_whatever_rows_are_beside_it(size):
    describe, x = one_task(), draw(1, 1, 1, 200, 4)
    alone = torch.cat([describe(x[:, :, k : k + 1]) for k in range(200)], dim=2)
    torch.testing.assert_close(describe(x[:, :, :size]), alone[:, :, :size], rtol=1e-9, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("many", [False, True])
def test_the_curve_is_continuous_at_every_knot(many):
    """A step would show: from one knot to the next the description changes by far more than from side to side."""
    describe = one_task()
    x = values_at(describe.curves, range(N_KNOTS)).mT  # a row for each knot, at it in all columns
    describe_rows = at_once if many else directly
    below, at, above = (describe_rows(describe, x + side)[..., COLUMNS] for side in (-1e-9, 0.0, 1e-9))
    torch.testing.assert_close(below, at, rtol=0.0, atol=1e-6)
    torch.testing.assert_close(above, at, rtol=0.0, atol=1e-6)
    assert (at.diff(dim=2).abs().amax(-1) > 1e-4).all()


@torch.no_grad()
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_curves_and_their_powers_are_straight_between_knots(share, many):
    describe = one_task()
    describe_rows = at_once if many else directly

    def described(offset):
        out = describe_rows(describe, values_at(describe.curves, torch.arange(N_KNOTS) + offset).mT)[0, 0, :, COLUMNS]
        return torch.cat([out[:, :-COLUMN], out[:, -COLUMN:] ** 4], dim=-1)

    at_knots, between = described(0.0), described(share)[:-1]
    torch.testing.assert_close(between, (1 - share) * at_knots[:-1] + share * at_knots[1:], rtol=1e-9, atol=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("many", [False, True])
def test_values_beyond_thirty_spreads_tell_of_their_column_what_the_end_tells(many):
    describe = one_task()
    mean, spread = (part.mT for part in describe.curves.moments)
    describe_rows = at_once if many else directly
    for sign in (-1.0, 1.0):
        sizes = torch.tensor([29.0, 30.0, 31.0, 1e3, 1e9, 1e20], dtype=torch.float64).repeat(20)[:, None]
        described = describe_rows(describe, mean + sign * sizes * spread)[0, 0, :6, COLUMNS]
        torch.testing.assert_close(described[2:], described[1:2].expand(4, -1), rtol=1e-9, atol=1e-9)
        assert not torch.allclose(described[0], described[1], rtol=1e-4)


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_order_of_columns_and_rows_does_not_matter(size, seed, random):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    order = random.sample(range(size[-1]), size[-1])
    moved, anomaly, normal = reordered(changed(relations, lambda rows: rows[..., order]), random)
    with torch.no_grad():
        torch.testing.assert_close(describer(moved)(x[..., order]), describer(relations)(x))
        labelled = [*anomaly, *(size[1] + k for k in normal)]
        torch.testing.assert_close(
            describer(moved).describe_support(), describer(relations).describe_support()[:, :, labelled]
        )


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.integers(1, 5), st.sampled_from([4, N_KNOTS]))
def test_padding_with_zeros_does_not_matter(size, seed, pad, rows):
    relations, x = make(*size, seed=seed, replicas=1, tasks=1), draw(seed + 1, 1, 1, rows, size[-1])
    wide = describer(changed(relations, lambda part: padded(part, pad)))
    with torch.no_grad():
        torch.testing.assert_close(wide(padded(x, pad)), describer(relations)(x))
        torch.testing.assert_close(wide.describe_support(), describer(relations).describe_support())


@settings(deadline=None, max_examples=30)
@given(sizes, seeds)
def test_signs_of_the_columns_matter_to_what_columns_tell_alone(size, seed):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    rest = [k for k in range(D) if not COLUMNS.start <= k < COLUMNS.stop]
    with torch.no_grad():
        ours, flipped = describer(relations)(x), describer(changed(relations, torch.neg))(-x)
    torch.testing.assert_close(flipped[..., rest], ours[..., rest])
    assert not torch.allclose(flipped[..., COLUMNS], ours[..., COLUMNS])


@torch.no_grad()
@pytest.mark.parametrize("u", [0, 12])
@pytest.mark.parametrize("a", [1, 3])
def test_an_anomaly_hidden_from_itself_is_described_as_a_query_of_the_support_without_it(a, u):
    """Exactly so but for what background rows that do see it find usual, and the share of anomalies."""
    relations = make(4, a, u)
    ours, inexact = (
        describer(relations).describe_support(),
        {FIGURES.start + N_ROW_FEATURES + k for k in ANOMALY_FIGURES} | {FIGURES.stop + 2},
    )
    exact = [k for k in range(D) if k not in inexact]
    for k in range(a):
        rest = [other for other in range(a) if other != k]
        without = TaskContext(relations.normal, relations.anomaly[:, :, rest], relations.unlabelled)
        theirs = describer(without)(relations.anomaly[:, :, k : k + 1])
        torch.testing.assert_close(ours[:, :, k : k + 1, exact], theirs[..., exact])


@torch.no_grad()
def test_a_normal_row_hidden_from_itself_is_described_nearly_as_a_query_of_the_support_without_it():
    """Nearly, for it takes part in the normal rows' mean and in the background; not at all as one that sees itself."""
    relations = make(40, 2, 200)
    without = TaskContext(relations.normal[:, :, 1:], relations.anomaly, relations.unlabelled)
    row = relations.normal[:, :, :1]
    ours = describer(relations).describe_support()[:, :, 2:3]
    torch.testing.assert_close(ours, describer(without)(row), rtol=0.05, atol=0.05)
    assert (ours - describer(relations)(row)).abs().max() > 1


@torch.no_grad()
def test_tasks_and_replicas_do_not_see_each_other():
    relations, x = make(5, 2, 6), draw(1, 2, 3, 4, 4)
    described, support = describer(relations)(x), describer(relations).describe_support()
    for t in range(3):
        alone = describer(changed(relations, lambda rows, t=t: rows[:, t : t + 1]))
        torch.testing.assert_close(alone(x[:, t : t + 1]), described[:, t : t + 1])
        torch.testing.assert_close(alone.describe_support(), support[:, t : t + 1])
    first = describer(changed(relations, lambda rows: rows[:1]))  # seeds of replicas count from the first
    torch.testing.assert_close(first(x[:1]), described[:1])


@torch.no_grad()
@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_context_rows_are_described_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    describe = describer(make(n, a, u))
    ours = describe.describe_context()
    assert ours.shape == (2, 3, a + n + u, D)
    for (r, t), k in itertools.product(TASKS, range(a + n + u)):
        task = loops(describe.context, r, t)
        assert_near(ours[r, t, k], task.description(of_references(describe, r), task.rows[k], k))


@torch.no_grad()
@pytest.mark.parametrize("u", [0, 12, 70])
def test_what_was_computed_of_context_rows_is_freed_and_not_needed_again(u, monkeypatch):
    describe = one_task(a=1, u=u)
    view = weakref.ref(describe.context.leave_one_out)
    describe.describe_context()
    assert view() is None
    monkeypatch.setattr(relations, "LeaveOneOutView", None)
    monkeypatch.setattr(relations, "LongLeaveOneOutView", None)
    assert describe(describe.context.rows).isfinite().all()


@pytest.mark.parametrize("chunk", [1, 1000, 2**19])
@pytest.mark.parametrize("a", [0, 1, 3])
def test_many_context_rows_are_described_as_where_gradients_are_wanted(a, chunk, monkeypatch):
    """In place, some rows at a time and by the table; two of the rows are equal."""
    monkeypatch.setattr(relations, "CHUNK_DISTANCES", chunk)
    describe = one_task(a=a, u=70)
    describe.context.unlabelled[:, :, 1] = describe.context.unlabelled[:, :, 0]
    fresh = dataclasses.replace(describe, context=dataclasses.replace(describe.context))
    with torch.no_grad():
        assert isinstance(describe.context.leave_one_out, relations.LongLeaveOneOutView)
        found = describe.describe_context()
    assert "table" in vars(describe)
    torch.testing.assert_close(found, fresh.describe_context())
    assert "table" not in vars(fresh)
