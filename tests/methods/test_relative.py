"""`relative` against its description by loops, at any width, with and without anomalies and unlabelled rows."""

import json
from pathlib import Path

import numpy as np
import pytest

from oddshot.methods.contract import minus_smooth_auc
from oddshot.methods.eigen import EigenConfig
from oddshot.methods.relative import MAX_LABELLED, MAX_USED, Relative, RelativeConfig
from oddshot.score.columns import N_KNOTS
from oddshot.score.context import MAX_ABS_VALUE
from oddshot.score.rows import LabelledRows
from tests import references
from tests.methods.samples import build, in_float32, pick, random_rows, without_anomalies
from tests.relation_references import TaskRows

GOLDEN = Path(__file__).parents[1] / "golden" / "relative.json"
TINY = {"units": 3, "layers_f": 2, "layers_g": 2, "layers_phi": 3, "pair_units": 2, "column_units": 2, "marks": 1}


def random_unlabelled(seed, u, tasks=3, M=4):
    return random_rows(seed, tasks, n_normal=u, M=M).normal


def task_rows(method, normal, anomaly, unlabelled=None):
    unlabelled = normal[:0] if unlabelled is None else unlabelled
    return TaskRows(normal, anomaly, unlabelled, method.weights.get("marks"))


def layers_of(method, *names):
    return [references.layers_of(method.layers(name)) for name in names]


def loop_scores(method, normal, anomaly, unlabelled, query):
    """The description row by row, then Eqs. 1-6 letter by letter, for one task."""
    task = task_rows(method, normal, anomaly, unlabelled)
    *networks, f, g, phi = layers_of(method, "pair", "column", "attention", "f", "g", "phi")
    a = len(anomaly)
    support = [task.description(networks, x, k) for k, x in enumerate(task.support)]
    r = references.task_representation(f, g, support[a:], support[:a])
    c = method.weights["center"]

    def embed(x):
        return references.feed_forward(phi, np.concatenate([x, r])) - c

    eta = method.config.eta_floor + np.exp(method.weights["log_eta"])
    z_anomaly = np.stack([embed(x) for x in support[:a]] or [method.weights["imagined"]])
    w = references.projection(np.stack([embed(x) for x in support[a:]]), z_anomaly, eta)
    return [references.anomaly_score(w / np.linalg.norm(w), embed(task.description(networks, x))) for x in query]


@pytest.mark.parametrize("marks", [0, 3])
@pytest.mark.parametrize("u", [0, 6])
@pytest.mark.parametrize("n_anomaly", [0, 1, 3])
def test_scores_are_those_of_the_loops(n_anomaly, u, marks):
    method, support = build("relative", marks=marks), random_rows(1, n_anomaly=n_anomaly)
    query, unlabelled = random_rows(2).joined(), random_unlabelled(3, u)
    scores = method.relate(support, unlabelled if u else None)(query)
    for t in range(3):
        expected = loop_scores(method, *pick(support, t), unlabelled[t], query[t])
        np.testing.assert_allclose(scores[t], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_anomaly", [2, 3])
def test_anomalies_with_values_of_normal_rows_score_as_the_loops_do(n_anomaly):
    """Ranks count equal values: what is left out of a mean must leave no rounding error."""
    normal, query = random_rows(1, tasks=None, n_normal=6).normal, random_rows(2, tasks=None).joined()
    method, anomaly = build("relative"), normal[:n_anomaly]
    score = method.relate(LabelledRows(normal, anomaly))
    np.testing.assert_allclose(score(query), loop_scores(method, normal, anomaly, normal[:0], query), rtol=1e-6)


@pytest.mark.parametrize("n_anomaly", [0, 2])
def test_scores_of_many_rows_of_one_task_are_those_of_the_loops(n_anomaly):
    method, support = build("relative"), random_rows(1, None, n_normal=N_KNOTS, n_anomaly=n_anomaly)
    query, unlabelled = random_rows(2, None, n_normal=N_KNOTS).joined(), random_unlabelled(3, 6, None)
    score = method.relate(support, unlabelled)
    assert score.describe.table is not None
    expected = loop_scores(method, *support, unlabelled, query[::7])
    np.testing.assert_allclose(score(query)[::7], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(score.prepare()(query)[::7], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("u", [0, 20])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-3)])
def test_scores_of_a_row_do_not_depend_on_the_rows_beside_it(dtype, rtol, u):
    method, support = build("relative", dtype=dtype), random_rows(1, None)
    query = random_rows(2, None, n_normal=200).joined().astype(dtype)
    unlabelled = random_unlabelled(3, 20, None).astype(dtype)
    score = method.adapt(LabelledRows(*(part.astype(dtype) for part in support)), unlabelled if u else None)
    alone = np.concatenate([score.project(query[k : k + 1]) for k in range(len(query))])
    assert alone.std() > 10 * rtol
    for size in (10, N_KNOTS, len(query)):
        projected = np.concatenate([score.project(query[k : k + size]) for k in range(0, len(query), size)])
        np.testing.assert_allclose(projected, alone, rtol=rtol, atol=rtol * np.abs(alone).max())


def test_scores_are_those_of_the_golden_file():
    pytest.importorskip("torch")
    golden, ours = json.loads(GOLDEN.read_text()), golden_scores()
    assert ours.keys() == golden.keys()
    for name, expected in golden.items():
        np.testing.assert_allclose(ours[name], expected, rtol=1e-8, err_msg=name)


def golden_scores():
    """Scores of a seeded small model on seeded rows, both drawn by torch, by what the support holds."""
    from tests.methods.tensors import build_trainable, random_tensors

    method, marked = (build_trainable("relative", 1, **kind).trained() for kind in ({"marks": 0}, {}))
    support = LabelledRows(*(part[0].numpy() for part in random_tensors(1, 1, 1)))
    query = random_tensors(2, 1, 1, n_normal=8).joined()[0].numpy()
    unlabelled = random_tensors(3, 1, 1, n_normal=20).normal[0].numpy()
    scores = {
        "support": method.adapt(support),
        "support and unlabelled": method.adapt(support, unlabelled),
        "normal": method.adapt(without_anomalies(support)),
        "normal and unlabelled": method.adapt(without_anomalies(support), unlabelled),
        "marks": marked.adapt(support),
    }
    return {name: score(query)[0].tolist() for name, score in scores.items()}


@pytest.mark.parametrize("u", [1, 8])
def test_without_marks_order_of_columns_and_of_rows_does_not_matter(u):
    method, support, query = build("relative", marks=0), random_rows(1), random_rows(2).joined()
    unlabelled = random_unlabelled(3, u)
    scores = method.relate(support, unlabelled)(query)
    np.testing.assert_allclose(method.relate(support, unlabelled[:, ::-1])(query), scores, rtol=1e-7)
    flipped = method.relate(LabelledRows(*(part[..., ::-1] for part in support)), unlabelled[..., ::-1])
    np.testing.assert_allclose(flipped(query[..., ::-1]), scores, rtol=1e-7)
    turned = method.relate(LabelledRows(*(part[:, ::-1] for part in support)), unlabelled)
    np.testing.assert_allclose(turned(query), scores, rtol=1e-7)


def test_a_columns_marks_tell_it_from_others():
    method, support, query = build("relative"), random_rows(1), random_rows(2).joined()
    scores, turned = method.relate(support)(query), LabelledRows(*(part[..., ::-1] for part in support))
    assert not np.allclose(method.relate(turned)(query[..., ::-1]), scores, rtol=1e-2)
    method.weights["marks"] = method.weights["marks"][::-1]
    np.testing.assert_allclose(method.relate(turned)(query[..., ::-1]), scores, rtol=1e-7)


@pytest.mark.parametrize("M", [1, 4, 300])
def test_without_marks_one_set_of_weights_scores_tables_of_any_width(M):
    method, support, query = build("relative", marks=0), random_rows(1, M=M), random_rows(2, M=M)
    score, t = method.relate(support), 2
    expected = loop_scores(method, *pick(support, t), query.normal[t, :0], query.joined()[t])
    np.testing.assert_allclose(score(query.joined())[t], expected, rtol=1e-6, atol=1e-9)
    low, high = score.score_range(support)
    np.testing.assert_allclose(low, score(support.normal).mean(-1))
    np.testing.assert_allclose(high, score(support.anomaly).mean(-1))


def test_padding_with_zeros_does_not_matter():
    method, support, query = build("relative", marks=0), random_rows(1), random_rows(2).joined()

    def padded(rows):
        return np.pad(rows, ((0, 0), (0, 0), (0, 3)))

    wide = method.relate(LabelledRows(*map(padded, support)))
    np.testing.assert_allclose(wide(padded(query)), method.relate(support)(query), rtol=1e-7)


@pytest.mark.parametrize("step", range(8))
@pytest.mark.parametrize(("n_normal", "n_anomaly"), [(1, 1), (2, 1), (5, 2)])
def test_of_four_training_steps_one_hides_the_anomalies_and_one_unlabels_every_other_query(n_normal, n_anomaly, step):
    method, support, query = build("relative"), random_rows(1), random_rows(2, n_normal=n_normal, n_anomaly=n_anomaly)
    known, asked, unlabelled = support, query, None
    if step % 4 == 2:
        known = without_anomalies(support)
    if step % 4 == 3 and n_normal > 1:
        asked, rest = (LabelledRows(*(part[:, start::2] for part in query)) for start in (0, 1))
        unlabelled = rest.joined()
    varied = method.vary_episode(support, query, step)
    assert (varied[2] is None) == (unlabelled is None)
    for found, expected in zip((*varied[0], *varied[1], varied[2]), (*known, *asked, unlabelled), strict=True):
        if expected is not None:
            np.testing.assert_array_equal(found, expected)
    loss = method.loss(*varied)
    for t in range(3):
        score = method.relate(pick(known, t), None if unlabelled is None else unlabelled[t])
        assert loss[t] == pytest.approx(minus_smooth_auc(score, pick(asked, t)), rel=1e-9)


@pytest.mark.parametrize("marks", [0, 3])
@pytest.mark.parametrize("u", [0, 6])
def test_in_a_training_step_the_means_over_columns_of_wide_tables_are_those_of_random_columns(monkeypatch, u, marks):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable

    monkeypatch.setattr("oddshot.training.trainable.MAX_TRAINED_COLUMNS", 3)
    made = build_trainable("relative", 1, M=7, marks=marks)
    made.noise = torch.Generator().manual_seed(0)
    assert made.method.seen_columns is None
    made.is_in_training_step = True
    drawn = torch.stack([made.method.seen_columns for _ in range(20)]).numpy()
    assert drawn.shape == (20, 3)
    assert np.unique(drawn).tolist() == list(range(7))
    assert all(len(set(columns)) == 3 for columns in drawn.tolist())

    whole, sampled, columns = made.trained(), made.trained(), drawn[0]
    sampled.seen_columns = columns
    narrow_weights = whole.weights | ({"marks": whole.weights["marks"][columns]} if marks else {})
    narrow = Relative(3, made.config, narrow_weights)
    support, x = random_rows(1, M=7), random_rows(2, M=7).joined()
    unlabelled = random_unlabelled(3, u, M=7) if u else None
    few = LabelledRows(*(part[..., columns] for part in support))
    scores = [method.relate(support, unlabelled, describes_all=True) for method in (sampled, whole)]
    of_few = narrow.relate(few, None if unlabelled is None else unlabelled[..., columns], describes_all=True)
    first, end = 3 * made.config.pair_units, 3 * made.config.pair_units + 4 * made.config.column_units
    of_queries = scores[0].describe(x), of_few.describe(x[..., columns]), scores[1].describe(x)
    for found, narrower, wider in (of_queries, (scores[0].own_rows, of_few.own_rows, scores[1].own_rows)):
        np.testing.assert_allclose(found[..., first:end], narrower[..., first:end], rtol=1e-9, atol=1e-12)
        for rest in (slice(first), slice(end, None)):
            np.testing.assert_allclose(found[..., rest], wider[..., rest], rtol=1e-9, atol=1e-12)


def test_tables_that_are_not_wide_are_trained_with_all_columns():
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable

    made = build_trainable("relative", 1)
    made.noise, made.is_in_training_step = torch.Generator().manual_seed(0), True
    assert made.method.seen_columns is None


@pytest.mark.parametrize("step", range(4))
def test_the_imagined_anomaly_is_trained_where_none_is_known(step):
    pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    made, support, query = build_trainable("relative", 1), random_tensors(1, 1, 8), random_tensors(2, 1, 8)
    made.loss(*made.method.vary_episode(support, query, step)).sum().backward()
    gradient = made.tensors["imagined"].grad
    assert (gradient is not None and float(gradient.abs().max()) > 0) == (step == 2)


@pytest.mark.parametrize("step", [0, 2, 3])
def test_loss_gradient_by_finite_differences(step):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, loss_of_weights, random_tensors

    made = build_trainable("relative", replicas=1, M=2, **TINY)
    support, query = random_tensors(3, 1, 2, M=2), random_tensors(4, 1, 2, M=2)
    loss = loss_of_weights(made, *made.method.vary_episode(support, query, step))

    def hundredfold(*values):  # small gradients, as those of the attention, are to count as well
        return 100 * loss(*values)

    # One kind of step weight by weight, the others by a random direction for each parameter: far faster.
    assert torch.autograd.gradcheck(hundredfold, tuple(made.parameters), atol=1e-6, fast_mode=step > 0)


def degenerate_supports(rows):
    normal, anomaly = rows
    none = anomaly[..., :0, :]
    return {
        "equal normal rows": LabelledRows(0 * normal + normal[..., :1, :], anomaly),
        "anomalies that are normal rows": LabelledRows(normal, normal[..., :2, :]),
        "zeros": LabelledRows(0 * normal, 0 * anomaly),
        "zeros without anomalies": LabelledRows(0 * normal, none),
        "1e12": LabelledRows(normal * 1e12, anomaly * 1e12),
        "1e30": LabelledRows(normal * 1e30, anomaly * 1e30),
        "one large row": LabelledRows(LabelledRows(normal, normal[..., :1, :] * 1e30).joined(), anomaly),
        "one normal row": LabelledRows(normal[..., :1, :], none),
        "one normal row and an anomaly": LabelledRows(normal[..., :1, :], anomaly[..., :1, :]),
    }


DEGENERATE = list(degenerate_supports(random_rows(5)))


@pytest.mark.parametrize("u", [0, 1, 2])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_supports_score_in_float32_as_in_float64(name, u):
    support, query, unlabelled = degenerate_supports(random_rows(5))[name], random_rows(6).joined(), None
    if u:
        unlabelled = random_unlabelled(7, u)
    single = in_float32(support)
    score = build("relative", dtype=np.float32).relate(single, unlabelled.astype(np.float32) if u else None)
    reference = build("relative").relate(support, unlabelled)
    assert_close_for_rows_of_any_size(score, reference, query, name)
    assert np.isfinite(score.describe(single.joined())).all()
    assert np.isfinite(score.own_rows).all()


def assert_close_for_rows_of_any_size(score, reference, query, name):
    """In float32, values near the largest ones cost digits: within a fifth of the largest score; supports of nothing
    but clipped values lose almost all of them, and scores have the same size only."""
    share = 1.0 if "1e" in name else 0.2
    for size in (0.0, 1.0, 1e12, 1e30):
        expected = reference(query * size)
        found = score((query * size).astype(np.float32))
        np.testing.assert_allclose(found, expected, rtol=0, atol=share * np.abs(expected).max())


@pytest.mark.parametrize("u", [0, 1, 2])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_supports_score_in_float32_as_in_float64_for_many_rows(name, u):
    support, query = pick(degenerate_supports(random_rows(5))[name], 0), random_rows(6, None, n_normal=N_KNOTS).joined()
    unlabelled = random_unlabelled(7, u, None) if u else None
    single = None if unlabelled is None else unlabelled.astype(np.float32)
    score = build("relative", dtype=np.float32).relate(in_float32(support), single)
    reference = build("relative").relate(support, unlabelled)
    for plain, exact in ((score, reference), (score.prepare(), reference.prepare())):
        assert_close_for_rows_of_any_size(plain, exact, query, name)


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_supports_have_finite_gradients_in_float32(name):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, convert, random_tensors, to_type

    made, query = build_trainable("relative"), to_type(random_tensors(6), torch.float32)
    convert(made, torch.float32)
    made.loss(to_type(degenerate_supports(random_tensors(5))[name], torch.float32), query).sum().backward()
    for weight, tensor in made.tensors.items():
        assert tensor.grad is None or torch.isfinite(tensor.grad).all(), weight
    assert made.tensors["pair.weights.0"].grad is not None


@pytest.mark.parametrize("where", ["normal", "anomaly", "unlabelled", "query"])
def test_values_beyond_the_largest_are_taken_as_it(where):
    method, support = build("relative", dtype=np.float32), random_rows(1)
    rows = {**support._asdict(), "unlabelled": random_unlabelled(3, 6), "query": random_rows(2).joined()}

    def scores(size):
        huge = {name: (part * size if name == where else part).astype(np.float32) for name, part in rows.items()}
        score = method.adapt(LabelledRows(huge["normal"], huge["anomaly"]), huge["unlabelled"])
        return score(huge["query"])

    assert MAX_ABS_VALUE == 2**30
    np.testing.assert_array_equal(scores(1e15), scores(1e30))  # every value is beyond
    assert not np.array_equal(scores(1e15), scores(1e5))


def test_names_and_shapes_of_the_weights_stay_as_trained_models_have_them():
    shapes = {name: weight.shape for name, weight in Relative.weights_of(21, RelativeConfig()).items()}
    described = 3 * 48 + 4 * 24 + 2 * 11 + 5
    own = {
        "pair.weights.0": (10, 48),
        "pair.biases.0": (1, 48),
        "column.weights.0": (7 + 8, 24),
        "column.weights.1": (24, 24),
        "attention.weights.0": (3 + 8, 16),
        "marks": (21, 8),
        "attention.weights.1": (16, 2),
        "f.weights.0": (described + 1, 128),
        "phi.weights.0": (described + 128, 128),
        "imagined": (128,),
        "center": (128,),
    }
    assert {name: shapes[name] for name in own} == own
    assert len(shapes) == 25


def test_of_many_labelled_rows_so_many_are_looked_at():
    method, (normal, anomaly) = build("relative"), random_rows(1, n_normal=500, n_anomaly=90)
    query, most = random_rows(2).joined(), MAX_LABELLED
    chosen = [np.linspace(0, n - 1, most).round().astype(int) for n in (500, 90)]
    thinned = LabelledRows(normal[:, chosen[0]], anomaly[:, chosen[1]])
    assert len(set(chosen[1].tolist())) == most
    score = method.relate(LabelledRows(normal, anomaly))
    np.testing.assert_allclose(score(query), method.relate(thinned)(query), rtol=1e-9)
    own = score.own()  # of all rows: those that are not looked at are scored as others are
    assert (own.n_anomaly, own.scores.shape, own.n_unlabelled) == (90, (3, 590), 0)
    hidden = method.relate(thinned).own().scores
    np.testing.assert_allclose(own.scores[:, chosen[1]], hidden[:, :most], rtol=1e-9)
    np.testing.assert_allclose(own.scores[:, 90 + chosen[0]], hidden[:, most:], rtol=1e-9)
    others = np.setdiff1d(np.arange(500), chosen[0])
    np.testing.assert_allclose(own.of_normal[:, others], score(normal[:, others]), rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(own.rows, np.concatenate([anomaly, normal], axis=1))


@pytest.mark.parametrize("n_attributes", [1, 4])
@pytest.mark.parametrize("marks", [0, 3])
def test_it_starts_from_another_as_that_scores_without_marks(n_attributes, marks):
    """From a model without marks, and from one with the marks of other columns, whose own do not count then."""
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, convert

    other = build("relative", M=n_attributes, marks=marks, dtype=np.float32)
    made = build_trainable("relative", seed=5, marks=3)
    convert(made, torch.float32)
    made.initialise([torch.Generator(), torch.Generator()], other)
    support, query = in_float32(random_rows(1)), random_rows(2).joined().astype(np.float32)
    keeps_marks = marks > 0 and n_attributes == 4
    if keeps_marks:
        np.testing.assert_array_equal(made.trained(1).weights["marks"], other.weights["marks"])
    expected = (other if keeps_marks else unmarked(other)).adapt(support)(query)
    for method in made.all_trained():
        np.testing.assert_allclose(method.adapt(support)(query), expected, rtol=1e-5, atol=1e-6 * expected.max())


def unmarked(method):
    """The same method as if its networks had never seen marks."""
    config = build("relative", marks=0).config
    weights = {name: value for name, value in method.weights.items() if name != "marks"}
    for name, n in (("column.weights.0", 7), ("attention.weights.0", 3)):
        weights[name] = weights[name][:n]
    return Relative(4, config, weights)


def test_what_goes_on_from_a_model_has_its_settings_and_marks():
    pytest.importorskip("torch")
    from oddshot.training.meta_training import continued_config

    without = RelativeConfig(units=9, marks=0)
    assert continued_config(without) == RelativeConfig(units=9)
    assert continued_config(RelativeConfig(marks=2)) == RelativeConfig(marks=2)
    assert continued_config(EigenConfig(units=9)) == EigenConfig(units=9)


@pytest.mark.parametrize("marks", [0, 3])
@pytest.mark.parametrize("n_anomaly", [0, 1, 2])
@pytest.mark.parametrize("u", [0, 9])
def test_own_rows_score_as_loops_that_hide_each_from_itself(u, n_anomaly, marks):
    method, support = build("relative", marks=marks), random_rows(1, None, n_anomaly=n_anomaly)
    unlabelled = random_unlabelled(3, u, None) if u else None
    score = method.relate(support, unlabelled, describes_all=True)
    own = score.own()
    assert (own.n_anomaly, own.n_unlabelled, own.scores.shape) == (n_anomaly, u, (5 + n_anomaly + u,))
    task = task_rows(method, *support, unlabelled)
    networks = layers_of(method, "pair", "column", "attention")
    described = np.array([task.description(networks, row, k) for k, row in enumerate(task.rows)])
    np.testing.assert_allclose(score.own_rows, described, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(own.scores, score.distance(described), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(own.rows, np.array(task.rows))
    np.testing.assert_array_equal(own.of_normal, own.scores[n_anomaly : n_anomaly + 5])


def test_of_thousands_of_labelled_rows_two_thousand_of_each_label_are_used():
    normal = np.random.default_rng(0).normal(size=(5000, 3))
    assert MAX_USED == 2000
    for anomaly in (normal[:0], normal[:3] + 4):
        score = build("relative", marks=0, M=3).adapt(LabelledRows(normal, anomaly))
        assert score.own().scores.shape == (2000 + len(anomaly),)
