"""`relative` against its description by loops, at any width, with and without anomalies and unlabelled rows."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from oddshot.methods.contract import LabelledRows, minus_smooth_auc
from oddshot.methods.eigen import EigenConfig
from oddshot.methods.relative import MAX_LABELLED, Relative, RelativeConfig
from oddshot.model.background import MAX_ABS_VALUE
from oddshot.model.curves import N_KNOTS
from oddshot.model.description import Describer
from oddshot.model.relations import TaskContext
from oddshot.training.meta_training import continued_config
from tests import references
from tests.methods.samples import build, loss_of_weights, pick, random_rows
from tests.relation_references import TaskRows

GOLDEN = Path(__file__).parents[1] / "golden" / "relative.json"
TINY = {"units": 3, "layers_f": 2, "layers_g": 2, "layers_phi": 3, "pair_units": 2, "column_units": 2, "marks": 1}


def random_unlabelled(seed, u, replicas=2, tasks=3, M=4):
    return random_rows(seed, replicas, tasks, n_normal=u, M=M).normal


def without_anomalies(rows):
    return LabelledRows(rows.normal, rows.anomaly[:, :, :0])


def loop_scores(method, replica, normal, anomaly, unlabelled, query):
    """The description row by row, then Eqs. 1-6 letter by letter, for one task."""
    marks = None if method.marks is None else method.marks[replica].detach().numpy()
    task = TaskRows(normal, anomaly, unlabelled, marks)
    names = ("pair", "column", "attention", "f", "g", "phi")
    *networks, f, g, phi = (references.layers_of(getattr(method, name), replica) for name in names)
    a = len(anomaly)
    support = [task.description(networks, x, k) for k, x in enumerate(task.support)]
    r = references.task_representation(f, g, support[a:], support[:a])
    c = method.center[replica].numpy()

    def embed(x):
        return references.feed_forward(phi, np.concatenate([x, r])) - c

    eta = method.config.eta_floor + np.exp(float(method.log_eta[replica].detach()))
    imagined = method.imagined[replica].detach().numpy()
    z_anomaly = np.stack([embed(x) for x in support[:a]] or [imagined])
    w = references.projection(np.stack([embed(x) for x in support[a:]]), z_anomaly, eta)
    return [references.anomaly_score(w / np.linalg.norm(w), embed(task.description(networks, x))) for x in query]


@pytest.mark.parametrize("marks", [0, 3])
@pytest.mark.parametrize("u", [0, 6])
@pytest.mark.parametrize("n_anomaly", [0, 1, 3])
def test_scores_are_those_of_the_loops(n_anomaly, u, marks):
    method, support = build("relative", marks=marks), random_rows(1, n_anomaly=n_anomaly)
    query, unlabelled = random_rows(2).joined(), random_unlabelled(3, u)
    scores = method.relate(support, unlabelled if u else None)(query).detach()
    for r in range(2):
        rows = (part[r, 1].numpy() for part in (*support, unlabelled, query))
        np.testing.assert_allclose(scores[r, 1], loop_scores(method, r, *rows), rtol=1e-6, atol=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("n_anomaly", [0, 2])
def test_scores_of_many_rows_of_one_task_are_those_of_the_loops(n_anomaly):
    method, support = build("relative", replicas=1), random_rows(1, 1, 1, n_anomaly=n_anomaly)
    query, unlabelled = random_rows(2, 1, 1, n_normal=N_KNOTS).joined(), random_unlabelled(3, 6, 1, 1)
    score = method.relate(support, unlabelled)
    rows = (part[0, 0].numpy() for part in (*support, unlabelled, query[:, :, ::7]))
    np.testing.assert_allclose(score(query)[0, 0, ::7], loop_scores(method, 0, *rows), rtol=1e-6, atol=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("u", [0, 20])
@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-9), (torch.float32, 1e-3)])
def test_scores_of_a_row_do_not_depend_on_the_rows_beside_it(dtype, rtol, u):
    method, support = build("relative", replicas=1).to(dtype), random_rows(1, 1, 1)
    query, unlabelled = random_rows(2, 1, 1, n_normal=200).joined().to(dtype), random_unlabelled(3, 20, 1, 1).to(dtype)
    score = method.adapt(LabelledRows(*(part.to(dtype) for part in support)), unlabelled if u else None)
    alone = torch.cat([score.project(query[:, :, k : k + 1]) for k in range(query.shape[2])], dim=2)
    assert alone.std() > 10 * rtol
    for size in (10, N_KNOTS, query.shape[2]):
        projected = torch.cat([score.project(part) for part in query.split(size, dim=2)], dim=2)
        torch.testing.assert_close(projected, alone, rtol=rtol, atol=rtol * float(alone.abs().max()))


@torch.no_grad()
def test_scores_are_those_of_the_golden_file():
    golden, ours = json.loads(GOLDEN.read_text()), golden_scores()
    assert ours.keys() == golden.keys()
    for name, expected in golden.items():
        np.testing.assert_allclose(ours[name], expected, rtol=1e-8, err_msg=name)


def golden_scores():
    """Scores of a seeded small model on seeded rows, by what the support holds."""
    method, support = build("relative", replicas=1, marks=0), random_rows(1, 1, 1)
    marked = build("relative", replicas=1)
    query, unlabelled = random_rows(2, 1, 1, n_normal=8).joined(), random_unlabelled(3, 20, 1, 1)
    scores = {
        "support": method.adapt(support),
        "support and unlabelled": method.adapt(support, unlabelled),
        "normal": method.adapt(without_anomalies(support)),
        "normal and unlabelled": method.adapt(without_anomalies(support), unlabelled),
        "marks": marked.adapt(support),
    }
    return {name: score(query)[0, 0].tolist() for name, score in scores.items()}


@torch.no_grad()
@pytest.mark.parametrize("u", [1, 8])
def test_without_marks_order_of_columns_and_of_rows_does_not_matter(u):
    method, support, query = build("relative", marks=0), random_rows(1), random_rows(2).joined()
    unlabelled = random_unlabelled(3, u)
    scores = method.relate(support, unlabelled)(query)
    torch.testing.assert_close(method.relate(support, unlabelled.flip(2))(query), scores)
    flipped = method.relate(LabelledRows(*(part.flip(-1) for part in support)), unlabelled.flip(-1))
    torch.testing.assert_close(flipped(query.flip(-1)), scores)
    torch.testing.assert_close(
        method.relate(LabelledRows(*(part.flip(2) for part in support)), unlabelled)(query), scores
    )


@torch.no_grad()
def test_a_columns_marks_tell_it_from_others():
    method, support, query = build("relative"), random_rows(1), random_rows(2).joined()
    scores, turned = method.relate(support)(query), LabelledRows(*(part.flip(-1) for part in support))
    assert not torch.allclose(method.relate(turned)(query.flip(-1)), scores, rtol=1e-2)
    method.marks.copy_(method.marks.flip(1))
    torch.testing.assert_close(method.relate(turned)(query.flip(-1)), scores)


@torch.no_grad()
@pytest.mark.parametrize("M", [1, 4, 300])
def test_without_marks_one_set_of_weights_scores_tables_of_any_width(M):
    method, support, query = build("relative", marks=0), random_rows(1, M=M), random_rows(2, M=M)
    score = method.relate(support)
    rows = (part[1, 2].numpy() for part in (*support, query.normal[:, :, :0], query.joined()))
    np.testing.assert_allclose(score(query.joined())[1, 2], loop_scores(method, 1, *rows), rtol=1e-6, atol=1e-9)
    low, high = score.span(support)
    torch.testing.assert_close(low, score(support.normal).mean(-1))
    torch.testing.assert_close(high, score(support.anomaly).mean(-1))


@torch.no_grad()
def test_padding_with_zeros_does_not_matter():
    method, support, query = build("relative", marks=0), random_rows(1), random_rows(2).joined()

    def padded(rows):
        return torch.nn.functional.pad(rows, (0, 3))

    wide = method.relate(LabelledRows(*map(padded, support)))
    torch.testing.assert_close(wide(padded(query)), method.relate(support)(query))


@pytest.mark.parametrize("step", range(8))
@pytest.mark.parametrize(("n_normal", "n_anomaly"), [(1, 1), (2, 1), (5, 2)])
def test_of_four_training_steps_one_hides_the_anomalies_and_one_unlabels_every_other_query(n_normal, n_anomaly, step):
    method, support, query = build("relative"), random_rows(1), random_rows(2, n_normal=n_normal, n_anomaly=n_anomaly)
    known, asked, unlabelled = support, query, None
    if step % 4 == 2:
        known = without_anomalies(support)
    if step % 4 == 3 and n_normal > 1:
        asked, rest = (LabelledRows(*(part[:, :, start::2] for part in query)) for start in (0, 1))
        unlabelled = rest.joined()
    rehearsed = method.augment_episode(support, query, step)
    torch.testing.assert_close(rehearsed, (known, asked, unlabelled))
    losses = []
    for t in range(3):
        part = None if unlabelled is None else unlabelled[:, t : t + 1]
        score = method.relate(pick(known, tasks=slice(t, t + 1)), part)
        losses.append(minus_smooth_auc(score, pick(asked, tasks=slice(t, t + 1))))
    torch.testing.assert_close(method.loss(*rehearsed), torch.cat(losses, dim=1).mean(1))


@pytest.mark.parametrize("marks", [0, 3])
@pytest.mark.parametrize("u", [0, 6])
def test_in_a_training_step_the_means_over_columns_of_wide_tables_are_those_of_random_columns(monkeypatch, u, marks):
    monkeypatch.setattr("oddshot.methods.relative.MAX_TRAINED_COLUMNS", 3)
    method, support, x = build("relative", M=7, marks=marks), random_rows(1, M=7), random_rows(2, M=7).joined()
    unlabelled = random_unlabelled(3, u, M=7) if u else None
    whole = method.describer(support, unlabelled)
    assert whole.sampled is None
    with method.being_trained(torch.Generator().manual_seed(0)):
        method.train()
        drawn = [method.describer(support, unlabelled) for _ in range(20)]
        method.eval()
        assert method.describer(support, unlabelled).sampled is None
    chosen = torch.stack([describe.sampled for describe in drawn])
    assert chosen.shape == (20, 3)
    assert chosen.unique().tolist() == list(range(7))
    assert all(len(set(columns.tolist())) == 3 for columns in chosen)

    columns, few = chosen[0], [part[..., chosen[0]] for part in support]
    narrow_marks = None if whole.marks is None else whole.marks[:, :, :, columns]
    context = TaskContext(*few, None if unlabelled is None else unlabelled[..., columns])
    narrow = Describer(method.pair, method.column, method.attention, context, narrow_marks)
    first, end = 3 * method.config.pair_units, 3 * method.config.pair_units + 4 * method.config.column_units
    of_queries = drawn[0](x), narrow(x[..., columns]), whole(x)
    of_support = (describe.describe_support() for describe in (drawn[0], narrow, whole))
    for sampled, of_few, of_all in (of_queries, of_support):
        torch.testing.assert_close(sampled[..., first:end], of_few[..., first:end])
        for rest in (slice(first), slice(end, None)):
            torch.testing.assert_close(sampled[..., rest], of_all[..., rest])


@pytest.mark.parametrize("step", range(4))
def test_the_imagined_anomaly_is_trained_where_none_is_known(step):
    method, support, query = build("relative", replicas=1), random_rows(1, 1, 8), random_rows(2, 1, 8)
    method.loss(*method.augment_episode(support, query, step)).sum().backward()
    assert (method.imagined.grad is not None and float(method.imagined.grad.abs().max()) > 0) == (step == 2)


@pytest.mark.parametrize("step", [0, 2, 3])
def test_loss_gradient_by_finite_differences(step):
    method = build("relative", replicas=1, M=2, **TINY)
    support, query = random_rows(3, 1, 2, M=2), random_rows(4, 1, 2, M=2)

    plain = method.loss

    def hundredfold(support, query):  # small gradients, as those of the attention, are to count as well
        return 100 * plain(*method.augment_episode(support, query, step))

    method.loss = hundredfold
    # One kind of step weight by weight, the others by a random direction for each parameter: far faster.
    loss, parameters = loss_of_weights(method, support, query), tuple(method.parameters())
    assert torch.autograd.gradcheck(loss, parameters, atol=1e-6, fast_mode=step > 0)


def degenerate_supports():
    normal, anomaly = random_rows(5)
    none, zero = anomaly[:, :, :0], torch.zeros_like
    return {
        "equal normal rows": LabelledRows(normal[:, :, :1].expand_as(normal), anomaly),
        "anomalies that are normal rows": LabelledRows(normal, normal[:, :, :2]),
        "zeros": LabelledRows(zero(normal), zero(anomaly)),
        "zeros without anomalies": LabelledRows(zero(normal), none),
        "1e12": LabelledRows(normal * 1e12, anomaly * 1e12),
        "1e30": LabelledRows(normal * 1e30, anomaly * 1e30),
        "one large row": LabelledRows(torch.cat([normal, normal[:, :, :1] * 1e30], dim=2), anomaly),
        "one normal row": LabelledRows(normal[:, :, :1], none),
        "one normal row and an anomaly": LabelledRows(normal[:, :, :1], anomaly[:, :, :1]),
    }


@torch.no_grad()
@pytest.mark.parametrize("u", [0, 1, 2])
@pytest.mark.parametrize("name", degenerate_supports())
def test_degenerate_supports_score_in_float32_as_in_float64(name, u):
    support, query, unlabelled = degenerate_supports()[name], random_rows(6).joined(), random_unlabelled(7, u)
    in_float32 = LabelledRows(*(part.float() for part in support))
    score = build("relative").float().relate(in_float32, unlabelled.float() if u else None)
    reference = build("relative").relate(support, unlabelled if u else None)
    assert_close_for_rows_of_any_size(score, reference, query, all_digits="1e" not in name)
    assert torch.isfinite(score.describe(in_float32.joined())).all()
    assert torch.isfinite(score.describe.describe_support()).all()


def assert_close_for_rows_of_any_size(score, reference, query, all_digits=True):
    """In float32, values near the largest ones cost digits: within a fifth of the largest score; supports of nothing
    but clipped values lose almost all of them, and scores have the same size only."""
    share = 0.2 if all_digits else 1.0
    for size in (0.0, 1.0, 1e12, 1e30):
        expected = reference(query * size)
        found = score((query * size).float())
        torch.testing.assert_close(found, expected, rtol=0, atol=share * float(expected.abs().max()))


@torch.no_grad()
@pytest.mark.parametrize("u", [0, 1, 2])
@pytest.mark.parametrize("name", degenerate_supports())
def test_degenerate_supports_score_in_float32_as_in_float64_for_many_rows(name, u):
    support, query = pick(degenerate_supports()[name], slice(1), slice(1)), random_rows(6, 1, 1, n_normal=N_KNOTS)
    unlabelled = random_unlabelled(7, u, 1, 1)
    in_float32 = LabelledRows(*(part.float() for part in support))
    score = build("relative", replicas=1).float().relate(in_float32, unlabelled.float() if u else None)
    reference = build("relative", replicas=1).relate(support, unlabelled if u else None)
    assert_close_for_rows_of_any_size(score, reference, query.joined(), all_digits="1e" not in name)


@pytest.mark.parametrize("name", degenerate_supports())
def test_degenerate_supports_have_finite_gradients_in_float32(name):
    method, query = build("relative").float(), LabelledRows(*(part.float() for part in random_rows(6)))
    method.loss(LabelledRows(*(part.float() for part in degenerate_supports()[name])), query).sum().backward()
    for weight, parameter in method.named_parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all(), weight
    assert method.pair.weights[0].grad is not None


@torch.no_grad()
@pytest.mark.parametrize("where", ["normal", "anomaly", "unlabelled", "query"])
def test_values_beyond_the_largest_are_taken_as_it(where):
    method, support = build("relative").float(), random_rows(1)
    rows = {**support._asdict(), "unlabelled": random_unlabelled(3, 6), "query": random_rows(2).joined()}

    def scores(size):
        huge = {name: (part * size if name == where else part).float() for name, part in rows.items()}
        score = method.adapt(LabelledRows(huge["normal"], huge["anomaly"]), huge["unlabelled"])
        return score(huge["query"])

    assert MAX_ABS_VALUE == 1e9
    assert torch.equal(scores(1e15), scores(1e30))  # every value is beyond
    assert not torch.equal(scores(1e15), scores(1e5))


def test_names_and_shapes_of_the_weights_stay_as_trained_models_have_them():
    method = Relative(21, RelativeConfig())
    shapes = {name: tuple(value.shape) for name, value in method.state_dict().items()}
    described = 3 * 48 + 4 * 24 + 2 * 11 + 5
    own = {
        "pair.weights.0": (1, 10, 48),
        "pair.biases.0": (1, 1, 48),
        "column.weights.0": (1, 7 + 8, 24),
        "column.weights.1": (1, 24, 24),
        "attention.weights.0": (1, 3 + 8, 16),
        "marks": (1, 21, 8),
        "attention.weights.1": (1, 16, 2),
        "f.weights.0": (1, described + 1, 128),
        "phi.weights.0": (1, described + 128, 128),
        "imagined": (1, 128),
        "center": (1, 128),
    }
    assert {name: shapes[name] for name in own} == own
    assert len(shapes) == 25


@torch.no_grad()
def test_of_many_labelled_rows_so_many_are_looked_at():
    method, (normal, anomaly) = build("relative"), random_rows(1, n_normal=500, n_anomaly=90)
    query, most = random_rows(2).joined(), MAX_LABELLED
    chosen = [torch.linspace(0, n - 1, most).round().long() for n in (500, 90)]
    thinned = LabelledRows(normal[:, :, chosen[0]], anomaly[:, :, chosen[1]])
    assert len(set(chosen[1].tolist())) == most
    score = method.relate(LabelledRows(normal, anomaly))
    torch.testing.assert_close(score(query), method.relate(thinned)(query))
    context = score.scored_context()  # of all rows: those that are not looked at are scored as others are
    assert (context.n_anomaly, context.scores.shape[2]) == (90, 590)
    hidden = method.relate(thinned).scored_context().scores
    torch.testing.assert_close(context.scores[:, :, chosen[1]], hidden[:, :, :most])
    torch.testing.assert_close(context.scores[:, :, 90 + chosen[0]], hidden[:, :, most:])
    others = [j for j in range(500) if j not in chosen[0].tolist()]
    torch.testing.assert_close(context.scores[:, :, 90:][:, :, others], score(normal[:, :, others]))
    torch.testing.assert_close(context.rows, torch.cat([anomaly, normal], dim=2))


@torch.no_grad()
@pytest.mark.parametrize("n_attributes", [1, 4])
@pytest.mark.parametrize("marks", [0, 3])
def test_it_starts_from_another_as_that_scores_without_marks(n_attributes, marks):
    """From a model without marks, and from one with the marks of other columns, whose own do not count then."""
    other = build("relative", replicas=1, M=n_attributes, marks=marks)
    method, support, query = build("relative", seed=5, marks=3), random_rows(1), random_rows(2).joined()
    method.initialise([torch.Generator(), torch.Generator()], other)
    keeps_marks = marks > 0 and n_attributes == 4
    if keeps_marks:
        torch.testing.assert_close(method.marks, other.marks.expand_as(method.marks))
    expected = other if keeps_marks else unmarked(other)
    for r in range(2):
        scores = expected.adapt(pick(support, slice(r, r + 1)))(query[r : r + 1])
        torch.testing.assert_close(method.adapt(support)(query)[r : r + 1], scores)


def unmarked(method):
    """The same method as if its networks had never seen marks."""
    out = build("relative", replicas=1, marks=0)
    weights = {name: value for name, value in method.state_dict().items() if name != "marks"}
    for name, n in (("column.weights.0", 7), ("attention.weights.0", 3)):
        weights[name] = weights[name][:, :n]
    out.load_state_dict(weights)
    return out


def test_what_goes_on_from_a_model_has_its_settings_and_marks():
    without = RelativeConfig(units=9, marks=0)
    assert continued_config(without) == RelativeConfig(units=9)
    assert continued_config(RelativeConfig(marks=2)) == RelativeConfig(marks=2)
    assert continued_config(EigenConfig(units=9)) == EigenConfig(units=9)


@torch.no_grad()
@pytest.mark.parametrize("u", [0, 9])
def test_context_rows_score_as_loops_that_hide_each_from_itself(u):
    method, support = build("relative", replicas=1, marks=0), random_rows(1, 1, 1)
    unlabelled = random_unlabelled(3, u, 1, 1) if u else None
    score = method.relate(support, unlabelled)
    context = score.scored_context()
    assert (context.n_anomaly, context.n_unlabelled, context.scores.shape) == (2, u, (1, 1, 7 + u))
    none = support.normal[0, 0, :0]
    parts = (*(part[0, 0] for part in support), none if unlabelled is None else unlabelled[0, 0])
    task = TaskRows(*(part.numpy() for part in parts))
    networks = [references.layers_of(network, 0) for network in (method.pair, method.column, method.attention)]
    described = torch.tensor(np.array([task.description(networks, row, k) for k, row in enumerate(task.rows)]))
    np.testing.assert_allclose(context.scores[0, 0], score.distance(described[None, None])[0, 0], rtol=1e-8)
    np.testing.assert_array_equal(context.rows[0, 0], np.array(task.rows))


@torch.no_grad()
def test_of_thousands_of_labelled_rows_two_thousand_of_each_label_are_used():
    normal = torch.randn(1, 1, 5000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for anomaly in (normal[:, :, :0], normal[:, :, :3] + 4):
        score = build("relative", replicas=1, marks=0, M=3).adapt(LabelledRows(normal, anomaly))
        assert score.scored_context().scores.shape[2] == 2000 + anomaly.shape[2]
