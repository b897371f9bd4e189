"""The same equations with torch tensors: their numbers, their leading dimensions, and their gradients."""

import inspect
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from oddshot.score import arrays, auc, blend, columns, context, description, networks, projection, relations
from oddshot.score.context import Context
from oddshot.score.description import DescriptionNetworks
from oddshot.score.networks import Layers
from oddshot.score.relations import Relation, own_relations
from oddshot.score.rows import LabelledRows
from tests import references
from tests.score.tasks import make, make_networks

torch = pytest.importorskip("torch")

R, T = 2, 3


class Operation(NamedTuple):
    """compute: of arrays, to arrays. given: these, each with [R, T] before its own dimensions, or with [R] (a weight).

    gradients: which of them are differentiated.
    """

    compute: Callable
    given: tuple
    n_lead: tuple
    gradients: tuple

    def at(self, *place):
        """What is given of one replica, or of one of its tasks."""
        return [np.asarray(array[place[:n]]) for array, n in zip(self.given, self.n_lead, strict=True)]


def draw(*shape, seed=0, low=None):
    rng = np.random.default_rng([seed, *shape])
    return rng.normal(size=shape) if low is None else rng.uniform(low, 2, size=shape)


def of_tasks(*shape, **settings):
    return draw(R, T, *shape, **settings)


def operation(compute, *given, weights=(), gradients=()):
    """weights: which of the arrays have no dimension of tasks."""
    gradients = range(len(given)) if gradients == "all" else gradients
    return Operation(compute, given, tuple(1 if k in weights else 2 for k in range(len(given))), tuple(gradients))


def symmetric(root):
    return root @ arrays.swap(root)


def line(w):
    """The sign of a direction is free."""
    return w[..., :, None] * w[..., None, :]


def of_context(a, u):
    """Of the rows of tasks: a function of their context, as one of their arrays."""
    tasks = make(4, a, u, lead=(R, T))

    def with_context(compute):
        def computed(normal, anomaly, *others):
            found = Context.of(LabelledRows(normal, anomaly), others[0] if u else None)
            return compute(found, *others[1 if u else 0 :])

        return computed

    return tuple(part for part in tasks if part is not None), with_context


def described(n_marks, a, u=3, *, own, **settings):
    """Descriptions, as a function of other rows, of the labelled rows, and of all weights."""
    task_rows, with_context = of_context(a, u)
    made = make_networks((R,), n_marks=n_marks)
    weights = [part for layers in made[:3] for part in (*layers.weights, *layers.biases)]
    embeddings = () if made.embeddings is None else (made.embeddings,)

    def describe(found, x, *given):
        given, layers = list(given), []
        for one in made[:3]:
            n = len(one.weights)
            layers.append(Layers(tuple(given[:n]), tuple(given[n : 2 * n])))
            given = given[2 * n :]
        built = DescriptionNetworks(*layers, *given)
        describer, of_own = description.describe_task(built, found, **settings)
        return of_own if own else describer(x)

    given = (*task_rows, of_tasks(5, 4), *weights, *embeddings)
    first = len(task_rows)
    return operation(
        with_context(describe),
        *given,
        weights=range(first + 1, len(given)),
        gradients=range(first + own, len(given)),  # own descriptions do not depend on other rows
    )


def hidden_from_itself(pairs):
    """A row meets itself at a distance that nothing depends on."""
    itself = np.arange(pairs.shape[-2])[:, None] == np.arange(pairs.shape[-1])
    xp = arrays.namespace(pairs)
    return xp.where(xp.asarray(itself), xp.zeros_like(pairs), pairs)


def nearest_two(x, reference, *is_itself):
    return blend.mean_distance(x, reference, 2, *is_itself)


def with_neighbours(x, reference, spread):
    found = blend.NeighbourDistance(reference, 2, blend.log_statistics(x[..., 0]), 0.6)
    return blend.NeighbourScore(spread, (found, found)).divided(1.5)(x)


OPERATIONS = {
    "swap": operation(arrays.swap, of_tasks(3, 4), gradients="all"),
    "contiguous": operation(arrays.contiguous, of_tasks(3, 4), gradients="all"),
    "detach": operation(arrays.detach, of_tasks(3, 4)),
    "float64": operation(arrays.float64, of_tasks(3, 4), gradients="all"),
    "over_tasks": operation(
        lambda W, x: arrays.over_tasks(W, x, 2) + 0 * x, draw(R, 3, 4), of_tasks(3, 4), weights=[0], gradients="all"
    ),
    "matmul": operation(arrays.matmul, of_tasks(3, 4), of_tasks(4, 5), gradients="all"),
    "affine": operation(
        lambda W, x, b: arrays.affine(W, x, b, rectified=True),
        draw(R, 3, 4),
        of_tasks(3, 5),
        of_tasks(4, 1),
        weights=[0],
        gradients="all",
    ),
    "affine of each task": operation(arrays.affine, of_tasks(3, 4), of_tasks(3, 5), gradients="all"),
    "affine_rows": operation(
        lambda W, x, b: arrays.affine_rows(W, x, b, rectified=True),
        draw(R, 3, 4),
        of_tasks(5, 3),
        draw(R, 1, 4),
        weights=[0, 2],
        gradients="all",
    ),
    "affine_rows of each task": operation(arrays.affine_rows, of_tasks(3, 4), of_tasks(5, 3), gradients="all"),
    "relu": operation(arrays.relu, of_tasks(9), gradients="all"),
    "clip": operation(lambda x: arrays.clip(x, -0.5, 0.7), of_tasks(9), gradients="all"),
    "broadcast_like": operation(arrays.broadcast_like, of_tasks(1, 4), of_tasks(3, 4), gradients=[0]),
    "with_sign_of": operation(arrays.with_sign_of, of_tasks(9, low=0.1), of_tasks(9, seed=1), gradients=[0]),
    "parted": operation(lambda x: arrays.parted(x, 2, axis=-2), of_tasks(5, 3), gradients="all"),
    "between": operation(
        arrays.between, of_tasks(4, 3), of_tasks(4, 3, seed=1), of_tasks(1, 3, low=0), gradients="all"
    ),
    "lower_median": operation(arrays.lower_median, of_tasks(6), gradients="all"),
    "mean_of_smallest": operation(lambda x: arrays.mean_of_smallest(x, 4), of_tasks(9, low=0.1), gradients="all"),
    "mean_of_smallest of few": operation(lambda x: arrays.mean_of_smallest(x, 9), of_tasks(4, low=0), gradients="all"),
    "rank_bounds": operation(arrays.rank_bounds, np.sort(of_tasks(9).round(1)), of_tasks(20).round(1)),
    "rank_bounds of many": operation(arrays.rank_bounds, np.sort(of_tasks(90).round(1)), of_tasks(20).round(1)),
    "signed_rank_count": operation(arrays.signed_rank_count, np.sort(of_tasks(9).round(1)), of_tasks(20).round(1)),
    "solve_spd": operation(
        lambda root, b: arrays.solve_spd(symmetric(root), b), of_tasks(4, 6), of_tasks(4, 2), gradients="all"
    ),
    "exact_auc": operation(lambda n, a: auc.exact_auc(n, a, ties=0.3), of_tasks(40).round(1), of_tasks(9).round(1)),
    "smooth_auc": operation(auc.smooth_auc, of_tasks(6), of_tasks(3), gradients="all"),
    "smooth_auc_gradient": operation(auc.smooth_auc_gradient, of_tasks(6), of_tasks(3), gradients="all"),
    "sigmoid": operation(auc.sigmoid, 5 * of_tasks(6), gradients="all"),
    "log_statistics": operation(
        lambda d: blend.log_statistics(d).rescaled(0.2, 1.3).standardise(d), of_tasks(9, low=0.1), gradients="all"
    ),
    "compress": operation(blend.compress, 30 * of_tasks(9, 4)),
    "column_spread": operation(blend.column_spread, of_tasks(9, 4) * np.array([1.0, 0.0, 1e-3, 5.0])),
    "mean_distance": operation(nearest_two, of_tasks(5, 4), of_tasks(7, 4)),
    "mean_distance of one column": operation(nearest_two, of_tasks(5, 1), of_tasks(7, 1)),
    "mean_distance of own rows": operation(
        lambda x, itself: blend.mean_distance(x, x, 2, itself > 0), of_tasks(5, 4), np.tile(np.eye(5), (R, T, 1, 1))
    ),
    "neighbours": operation(with_neighbours, of_tasks(5, 4, low=0.1), of_tasks(7, 4), of_tasks(1, 4, low=0.5)),
    "mlp": operation(
        lambda x, r, *w: networks.mlp(x, Layers(w[:2], w[2:]), r),
        of_tasks(5, 3),
        of_tasks(2),
        draw(R, 5, 4),
        draw(R, 4, 2),
        draw(R, 1, 4),
        draw(R, 1, 2),
        weights=range(2, 6),
        gradients="all",
    ),
    "hidden": operation(
        lambda x, *w: networks.hidden(x, Layers(w, None)),
        of_tasks(5, 3),
        draw(R, 3, 4),
        draw(R, 4, 5),
        draw(R, 5, 2),
        weights=[1, 2, 3],
        gradients=[0, 1, 2],
    ),
    "task_part": operation(
        networks.task_part, draw(R, 5, 4), draw(R, 1, 4), of_tasks(2), weights=[0, 1], gradients="all"
    ),
    "joined": operation(lambda *parts: LabelledRows(*parts).joined(), of_tasks(3, 4), of_tasks(2, 4), gradients="all"),
    "to_unit_length": operation(projection.to_unit_length, of_tasks(4), gradients="all"),
    "solve_S_N of few rows": operation(
        projection.solve_S_N, of_tasks(3, 5), of_tasks(low=0.3), of_tasks(5, 2), gradients="all"
    ),
    "solve_S_N": operation(projection.solve_S_N, of_tasks(7, 4), of_tasks(low=0.3), of_tasks(4, 2), gradients="all"),
    "fit_normal_projection": operation(
        projection.fit_normal_projection, of_tasks(3, 5), of_tasks(low=0.3), gradients="all"
    ),
    "solve_ridge": operation(projection.solve_ridge, of_tasks(3, 5), of_tasks(3), of_tasks(low=0.3), gradients="all"),
    "solve_regularised": operation(
        lambda root, eta, b: projection.solve_regularised(symmetric(root), eta, b),
        of_tasks(4, 5),
        of_tasks(low=0.3),
        of_tasks(4, 2),
        gradients="all",
    ),
    "top_eigenvector": operation(
        lambda root: line(projection.top_eigenvector(symmetric(root))), of_tasks(4, 4), gradients="all"
    ),
    "mean_square": operation(context.mean_square, of_tasks(4, 5), of_tasks(1, low=1), gradients="all"),
    "signed_log1p": operation(relations.signed_log1p, 5 * of_tasks(9), gradients="all"),
    "log_tail": operation(lambda x: columns.log_tail(x, 9), (3 * of_tasks(9)).round()),
    "over_columns": operation(
        lambda x, e, *w: description.over_columns(Layers(w[:2], w[2:]), x, e, ends_rectified=True),
        of_tasks(3, 4, 5),
        draw(R, 2, 4, 1),
        draw(R, 5, 4),
        draw(R, 4, 2),
        draw(R, 1, 4),
        draw(R, 1, 2),
        weights=range(1, 6),
        gradients="all",
    ),
}

for n_anomalies in (1, 2, 5):
    OPERATIONS[f"fit_projection on {n_anomalies} anomalies"] = operation(
        lambda normal, anomaly, eta: line(projection.fit_projection(normal, anomaly, eta)),
        of_tasks(6, 4), 1 + of_tasks(n_anomalies, 4), of_tasks(low=0.3), gradients="all",
    )  # fmt: skip


def of_rows(relation, usual):
    """All that is said about rows but for pairs, which are apart."""
    features = relations.row_features(relation, usual.bandwidth)
    standardised = relations.standardise(features, usual, relation.context.n_background)
    return standardised, relations.nearest_background(relation)


def of_own_rows(relation, usual):
    sees_anomaly = arrays.clip(relation.n_seen(0, relation.context.n_anomaly), 0, 1)
    pairs = hidden_from_itself(relations.pair_features(relation))
    return of_rows(relation, usual), pairs, relations.task_features(relation.context, sees_anomaly)


def of_values(x, found):
    statistics = columns.column_statistics(found)
    knots = arrays.clip(20 * arrays.swap(x) + 30, 0, 63) // 1
    at_knots = columns.value_features(statistics, knots, statistics.offsets.at(slice(-1, None)))
    return columns.knot_position(statistics, arrays.swap(x)), at_knots


def of_columns(found):
    statistics = columns.column_statistics(found)
    return statistics, columns.column_features(statistics, statistics.offsets)


def usual_rows(found):
    return relations.row_statistics(own_relations(found))[0]


for n_anomalies, n_unlabelled in ((0, 0), (1, 0), (1, 12), (3, 2)):
    case = f" with {n_anomalies} anomalies and {n_unlabelled} unlabelled rows"
    task_rows, with_context = of_context(n_anomalies, n_unlabelled)
    x, last = of_tasks(5, 4), len(task_rows)
    alone = {
        "context": lambda found: (found, found.other_mean_anomaly(), found.other_anomaly_direction()),
        "labelled_features": relations.labelled_features,
        "row_statistics": lambda found: relations.row_statistics(own_relations(found)),
        "columns": of_columns,
        "own rows": lambda found: of_own_rows(own_relations(found, found.n_labelled)[0], usual_rows(found)),
    }
    for name, compute in alone.items():
        OPERATIONS[name + case] = operation(with_context(compute), *task_rows)
    OPERATIONS["values" + case] = operation(with_context(lambda found, x: of_values(x, found)), *task_rows, x)
    for name, compute in {
        "pair_features": lambda relation, _: relations.pair_features(relation),
        "rows": of_rows,
    }.items():
        OPERATIONS[name + case] = operation(
            with_context(
                lambda found, x, compute=compute: compute(Relation(found, arrays.swap(x)), usual_rows(found))
            ),
            *task_rows, x, gradients=[last],
        )  # fmt: skip
    OPERATIONS["descriptions" + case] = described(0, n_anomalies, n_unlabelled, own=False)
    OPERATIONS["own descriptions" + case] = described(0, n_anomalies, n_unlabelled, own=True)
OPERATIONS["descriptions with embeddings"] = described(2, 2, own=False)
OPERATIONS["own descriptions with embeddings"] = described(2, 2, own=True)
OPERATIONS["own descriptions of the labelled rows"] = described(2, 2, own=True, n_own=6)


def flat(out):
    """All arrays in it."""
    if isinstance(out, Context):
        out = list(vars(out).values())
    if isinstance(out, tuple | list):
        return [array for part in out for array in flat(part)]
    return [out] if isinstance(out, np.ndarray | np.generic | torch.Tensor) else []


def tensors(given):
    return [torch.from_numpy(np.array(array)) for array in given]


def assert_all_near(found, expected):
    assert len(found) == len(expected) > 0
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", OPERATIONS)
def test_tensors_give_the_numbers_that_arrays_give(name):
    compute, given, *_ = OPERATIONS[name]
    arrays_out, tensors_out = flat(compute(*given)), flat(compute(*tensors(given)))
    assert all(isinstance(out, torch.Tensor) and out.dtype == torch.float64 for out in tensors_out)
    assert all(out.dtype == np.float64 for out in arrays_out)
    assert [tuple(out.shape) for out in tensors_out] == [out.shape for out in arrays_out]
    assert_all_near(tensors_out, arrays_out)


@pytest.mark.parametrize("kind", ["arrays", "tensors"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_tasks_and_replicas_give_together_what_each_gives_alone(name, kind):
    one, of_kind = OPERATIONS[name], tensors if kind == "tensors" else list
    together = flat(one.compute(*of_kind(one.given)))
    for place in ((0,), (1,), (0, 0), (1, 2)):  # tasks of one replica, and single ones
        assert_all_near(flat(one.compute(*of_kind(one.at(*place)))), [out[place] for out in together])


@pytest.mark.parametrize("name", [name for name, one in OPERATIONS.items() if one.gradients])
def test_gradients_are_those_of_finite_differences(name):
    one = OPERATIONS[name]
    given = tensors(one.given)
    varied = [given[k].requires_grad_() for k in one.gradients]

    def compute(*varied):
        every = dict(zip(one.gradients, varied, strict=True))
        return tuple(flat(one.compute(*(every.get(k, array) for k, array in enumerate(given)))))

    is_large = "descriptions" in name  # of which random combinations are differentiated
    assert torch.autograd.gradcheck(compute, varied, fast_mode=is_large)


def look_up(as_kind):
    """What prepared scores compute, of a single task and many rows."""
    tasks, made = make(5, 2, 70, lead=()), make_networks((), n_marks=2)
    *parts, x = as_kind([*tasks, 5 * draw(90, 4)])
    layers = [Layers(*(tuple(as_kind(part)) for part in one)) for one in made[:3]]
    built = DescriptionNetworks(*layers, *as_kind([made.embeddings]))
    describer, own = description.describe_task(built, Context.of(LabelledRows(*parts[:2]), parts[2]))
    by_table = describer.with_table()
    return own, describer(x), by_table.table, *by_table.parts(x, by_table.table)


def test_tables_of_tensors_have_the_numbers_of_those_of_arrays():
    found = look_up(tensors)
    assert all(isinstance(out, torch.Tensor) for out in found)
    assert_all_near(found, look_up(list))


@pytest.mark.parametrize("kind", ["arrays", "tensors"])
def test_every_function_that_takes_both_is_tried_with_both(kind):
    modules = arrays, auc, blend, columns, context, description, networks, projection, relations
    public = {
        function.__code__: f"{module.__name__}.{name}"
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    called, of_kind = set(), tensors if kind == "tensors" else list
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code) if event == "call" else None)
    try:
        look_up(of_kind)
        for one in OPERATIONS.values():
            one.compute(*of_kind(one.given))
    finally:
        sys.setprofile(before)
    assert len(public) > 50
    assert {name for code, name in public.items() if code not in called} == set()


def test_own_descriptions_of_many_rows_have_gradients_too():
    """A table, which many rows of one task are looked up in, has them only of NumPy's arrays."""
    one = described(2, 2, 80, own=True)
    given = tensors(one.at(0, 0))
    varied = [given[k].requires_grad_() for k in one.gradients]
    one.compute(*given).square().sum().backward()
    assert all(array.grad.abs().max() > 0 for array in varied)


def spoilt(how, normal, anomaly):
    if how == "dead units":
        normal[..., 1::2] = anomaly[..., 1::2] = 0
    if how == "equal anomalies":
        anomaly[:] = anomaly[:1]
    if how == "an anomaly on the centre":
        anomaly[0] = 0
    if how == "all anomalies on the centre":
        anomaly[:] = 0
    if how == "normal rows on the centre":
        normal[:] = 0
    return normal, anomaly


SPOILT = "dead units", "equal anomalies", "an anomaly on the centre", "all anomalies on the centre"


@pytest.mark.parametrize("how", [*SPOILT, "normal rows on the centre"])
@pytest.mark.parametrize("n_anomaly", [1, 2, 3])
def test_scores_have_gradients_where_eigenvectors_have_none(how, n_anomaly):
    normal, anomaly = spoilt(how, draw(4, 6), 2 + draw(n_anomaly, 6, seed=1))
    query, *inputs = tensors([draw(3, 6, seed=2), normal, anomaly, np.array(0.7)])
    inputs = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda n, a, eta: (query @ projection.fit_projection(n, a, eta)).square(), inputs)


@pytest.mark.parametrize("n_dims", [1, 3, 32, 256])
@pytest.mark.parametrize("n_anomaly", [1, 2, 5])
def test_gradients_of_the_projection_agree_with_the_full_problem(n_anomaly, n_dims):
    """The derivative of the score along random directions, by central differences of LAPACK's solution."""
    given = [draw(5, n_dims), 2 + draw(n_anomaly, n_dims, seed=1), np.array(0.5)]
    query, inputs = draw(n_dims, seed=3), [tensor.requires_grad_() for tensor in tensors(given)]
    score = (projection.fit_projection(*inputs) @ torch.from_numpy(query)).square()
    gradients = torch.autograd.grad(score, inputs)

    def lapack_score(step, direction):
        normal, anomaly, eta = (array + step * change for array, change in zip(given, direction, strict=True))
        return references.anomaly_score(references.projection(normal, anomaly, float(eta)), query)

    rng, step = np.random.default_rng(4), 1e-3
    for _ in range(3):
        direction = [0.1 * rng.normal(size=array.shape) for array in given]
        # Eighth-order central differences: the error of the reference is rounding, not truncation.
        weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        numeric = sum(
            weight * (lapack_score(k * step, direction) - lapack_score(-k * step, direction)) / step
            for k, weight in weights.items()
        )
        analytic = sum(float((g.numpy() * d).sum()) for g, d in zip(gradients, direction, strict=True))
        assert analytic == pytest.approx(numeric, rel=1e-8, abs=1e-10 * float(score.detach()))


@pytest.mark.parametrize("rotation", [np.eye(4), np.linalg.qr(draw(4, 4))[0], np.linalg.qr(draw(4, 4, seed=1))[0]])
def test_tied_eigenvalues_have_a_gradient_without_rotations_within_their_space(rotation):
    """Two orthogonal anomalies of equal length, but for rounding: every direction between them is as good."""
    normal, anomaly, query = tensors([np.zeros((1, 4)), rotation[:2], draw(3, 4, seed=2)])
    w = projection.fit_projection(normal, anomaly.requires_grad_(), torch.tensor(1.0))
    (query @ w).square().sum().backward()
    assert float(w.detach().norm()) == pytest.approx(1 / np.sqrt(2))
    assert 0 < anomaly.grad.abs().max() < 100


@pytest.mark.parametrize("n_anomaly", [4, 50])
def test_with_and_without_a_gradient_many_anomalies_give_the_same_projection(n_anomaly):
    normal, anomaly = tensors([draw(30, 3), 2 + draw(n_anomaly, 3)])
    eta = torch.tensor(0.1, dtype=torch.float64)
    plain = projection.fit_projection(normal, anomaly, eta)
    with_gradient = projection.fit_projection(normal, anomaly.requires_grad_(), eta)
    torch.testing.assert_close(plain.abs(), with_gradient.detach().abs())


def test_a_direction_of_no_length_has_a_finite_gradient():
    w = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -1e-3]], dtype=torch.float64, requires_grad=True)
    projection.to_unit_length(w).sum().backward()
    assert torch.isfinite(w.grad).all()


def test_the_gradient_of_the_smooth_auc_is_finite_for_huge_scores():
    normal, anomaly = (tensor.requires_grad_() for tensor in tensors([np.array([0.0, 1e30]), np.array([1e30, -1e30])]))
    auc.smooth_auc(normal, anomaly).backward()
    assert torch.isfinite(normal.grad).all()
    assert torch.isfinite(anomaly.grad).all()


@pytest.mark.parametrize("tasks", [(), (4,), (2, 3)])
def test_the_stated_gradient_of_the_smooth_auc_is_autograds(tasks):
    scores = [tensor.requires_grad_() for tensor in tensors([draw(*tasks, 5), draw(*tasks, 2)])]
    stated = auc.smooth_auc_gradient(*scores)
    derived = torch.autograd.grad(auc.smooth_auc(*scores).sum(), scores)
    for mine, theirs in zip(stated, derived, strict=True):
        torch.testing.assert_close(mine.detach(), theirs)


@pytest.mark.parametrize("of_weight", [(), (2,), (2, 3)])
def test_weights_get_the_gradient_of_all_their_tasks(of_weight):
    W, x = torch.ones(*of_weight, 3, 4, requires_grad=True), torch.ones(2, 3, 3, 5)
    arrays.affine(W, x).sum().backward()
    torch.testing.assert_close(W.grad, torch.full((*of_weight, 3, 4), 5.0 * 6 / np.prod(of_weight)))


def test_tensors_are_differentiated_where_they_ask_for_it_and_not_lazy_on_the_cpu():
    x = torch.ones(3)
    assert not any(is_so(x) for is_so in (arrays.is_graph, arrays.is_lazy, arrays.has_gradient))
    assert arrays.has_gradient(x.requires_grad_())
    assert not arrays.has_gradient(arrays.detach(x))
