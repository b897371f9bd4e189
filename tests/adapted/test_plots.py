"""What the pictures show, read from matplotlib's own objects."""

import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from oddshot import FewShotDetector, InputError
from oddshot.adapted import plots
from oddshot.adapted.explanation import Explanation
from oddshot.adapted.plots import MAX_BARS, MAX_DRAWN_ROWS, draw_contributions, plain_text, principal_plane
from tests.fleets import labels, mixed, numbers, small_model

mpl.use("Agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    pyplot.close("all")


def fitted(method="eigen"):
    return FewShotDetector(small_model(method)).fit(numbers(9), labels())


def legend_of(holder):
    (legend,) = [holder.get_legend()] if hasattr(holder, "get_legend") else holder.legends
    return [text.get_text() for text in legend.get_texts()]


def bars(ax, colour):
    return [
        patch for container in ax.containers for patch in container
        if mpl.colors.to_hex(patch.get_facecolor()).upper() == colour
    ]  # fmt: skip


@pytest.mark.parametrize("method", [None, "eigen", "knn"])
def test_the_histogram_counts_all_rows_on_their_side_of_the_threshold(method):
    detector, X = fitted(method) if method else FewShotDetector().fit(numbers(9), labels()), numbers(8, 500)
    predicted = detector.predict(X)
    ax = detector.plot_scores(X)
    for colour, count in ((plots.BLUE, (predicted == 0).sum()), (plots.VERMILION, (predicted == 1).sum())):
        assert sum(bar.get_height() for bar in bars(ax, colour)) == count
    # A bar's left end is its middle minus half of its width, which rounds.
    lefts = [bar.get_x() + 1e-9 * bar.get_width() for bar in bars(ax, plots.VERMILION) if bar.get_height() > 0]
    assert all(left >= detector.threshold_ for left in lefts)
    assert [line.get_xdata()[0] for line in ax.lines] == [detector.threshold_]
    texts = legend_of(ax)
    assert texts[:2] == [f"rows called normal: {(predicted == 0).sum()}", f"rows called anomalies: {predicted.sum()}"]
    assert texts[2].startswith("threshold (false-positive rate ")
    assert texts[3:] == ["labelled normal", "labelled anomaly"]
    assert ax.get_xlabel() == "score: the higher, the more anomalous"


def test_a_histogram_of_few_equal_or_huge_scores():
    detector = FewShotDetector(replace(small_model(), calibration=None)).fit(numbers(9), labels())
    one = detector.plot_scores(numbers(8)[:1])
    assert "threshold" in legend_of(one)  # its rate is not known
    X = numbers(8, 100)
    X[0] *= 1e9
    ax = detector.plot_scores(X)
    assert ax.get_xscale() == "symlog"
    assert sum(bar.get_height() for colour in (plots.BLUE, plots.VERMILION) for bar in bars(ax, colour)) == 100
    ax.figure.canvas.draw()


def test_it_draws_where_it_is_told_to():
    detector, X = fitted(), numbers(8)
    _, (left, *others) = pyplot.subplots(1, 4)
    assert detector.plot_scores(X, ax=left) is left
    assert detector.plot_contributions(X[0], ax=left) is left
    assert detector.plot_spaces(X, ax=others) == others
    assert len(pyplot.get_fignums()) == 1
    assert "labelled anomaly" in legend_of(others[-1])
    with pytest.raises(InputError, match="ax has 2 axes; this task is drawn on 3"):
        detector.plot_spaces(X, ax=others[:2])


def titles_of(axes):
    return [ax.get_title() for ax in axes]


@pytest.mark.parametrize(
    ("method", "spaces"),
    [
        ("eigen", ["original space", "embedded space", "projected space"]),
        ("woanomaly", ["original space", "embedded space", "projected space"]),
        ("relative", ["original space", "embedded space", "projected space"]),
        ("knn", ["original space"]),
    ],
)
def test_the_spaces_that_a_method_has(method, spaces):
    detector, X = fitted(method), numbers(8, 60)
    axes = detector.plot_spaces(X)
    assert titles_of(axes) == spaces
    called = detector.predict(X)
    for ax in axes:
        points = {one.get_label(): len(one.get_offsets()) for one in ax.collections}
        assert points.get("called normal", 0) == (called == 0).sum()
        assert points.get("called an anomaly", 0) == (called == 1).sum()
        assert points["labelled normal"] == 31
        assert points["labelled anomaly"] == 8
        assert ("centre" in points) == (ax.get_title() != "original space")
    assert "labelled normal" in legend_of(axes[0].figure)
    if len(axes) == 3:
        called = [one for one in axes[2].collections if one.get_label().startswith("called")]
        drawn = np.concatenate([one.get_offsets() for one in called])[:, 0]
        expected = detector.task_.project(detector.encoding_.transform(X))[:, 0]
        np.testing.assert_allclose(np.sort(drawn), np.sort(expected), rtol=1e-4, atol=1e-6)


def test_without_an_anomaly_no_row_is_drawn_as_one():
    detector = FewShotDetector().fit(numbers(9)[1:5], [0] * 4)
    axes = detector.plot_spaces(numbers(8))
    assert titles_of(axes) == ["original space", "embedded space", "projected space"]
    assert "labelled anomaly" not in legend_of(axes[0].figure)


def test_of_many_rows_some_are_drawn():
    axes = fitted().plot_spaces(numbers(8, MAX_DRAWN_ROWS + 500))
    assert sum(len(one.get_offsets()) for one in axes[0].collections[:2]) == MAX_DRAWN_ROWS


def test_the_embedded_space_has_the_centre_at_0():
    detector, X = fitted(), numbers(8)
    rows = detector.encoding_.transform(X)
    embedded = detector.task_.embed(rows)
    assert embedded.shape == (40, 16)
    # The projection of an embedded row is the square root of its score.
    direction = np.linalg.lstsq(embedded, detector.task_.project(rows)[:, 0], rcond=None)[0]
    np.testing.assert_allclose((embedded @ direction) ** 2, detector.score_samples(X), rtol=1e-2, atol=1e-5)
    assert fitted("knn").task_.embed(rows).shape == (40, 0)


def test_principal_components_keep_distances_of_a_plane():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 2)) @ np.linalg.qr(rng.normal(size=(5, 5)))[0][:2]
    plane = principal_plane(rows)
    between = lambda points: np.linalg.norm(points[:, None] - points[None], axis=2)  # noqa: E731
    np.testing.assert_allclose(between(plane), between(rows), atol=1e-9)
    assert plane[:, 0].std() >= plane[:, 1].std()
    assert principal_plane(rows[:, :1])[:, 1].tolist() == [0.0] * 30


def test_contributions_are_those_of_explain_largest_first():
    X = mixed(8)
    detector = FewShotDetector().fit(mixed(9), labels())
    why = detector.explain(X[3:4])
    ax = detector.plot_contributions(X[3:4])
    order = np.argsort(-np.abs(why.contributions[0]))
    assert [text.get_text() for text in ax.get_yticklabels()] == [why.attributes[j] for j in order]
    widths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for group in ax.containers for bar in group}
    np.testing.assert_allclose([widths.get(k, 0.0) for k in range(len(order))], why.contributions[0][order])
    assert f"{why.baseline_score[0]:.3g}" in ax.get_xlabel()
    assert f"{why.score[0]:.3g}" in ax.get_xlabel()
    for row in (X.iloc[3], X.iloc[3].rename("other")):
        again = detector.plot_contributions(row)
        assert again.get_xlabel() == ax.get_xlabel()
    with pytest.raises(InputError, match="row has 2 rows; one is drawn"):
        detector.plot_contributions(X[:2])


def test_of_many_columns_the_rest_is_one_bar():
    n = MAX_BARS + 5
    values = np.arange(n, 0, -1.0)[None] * np.where(np.arange(n) % 2, -1, 1)
    names = tuple(f"c{j}" for j in range(n))
    none = np.zeros((1, 0))
    why = Explanation(names, values, np.ones(1), np.zeros(1), np.zeros(1, int), none.astype(int), none)
    ax = draw_contributions(why)
    assert [text.get_text() for text in ax.get_yticklabels()][-2:] == [f"c{MAX_BARS - 1}", "5 other columns"]
    total = sum(bar.get_width() for group in ax.containers for bar in group)
    assert total == pytest.approx(values.sum())
    assert legend_of(ax) == ["raises the score", "lowers the score"]
    assert draw_contributions(replace(why, contributions=0 * values)).get_legend() is None


def test_names_are_no_formulas():
    assert plain_text("$\\frac") == "\\$\\frac"
    assert plain_text(" a\n b ") == "a b"
    assert plain_text(" ") == "' '"
    assert len(plain_text("x" * 99)) == 40
    X = pd.DataFrame(numbers(9), columns=["$\\frac{1$", "$x^$", "a_b"])
    ax = FewShotDetector().fit(X, labels()).plot_contributions(X[:1])
    ax.figure.canvas.draw()


def test_matplotlib_is_imported_when_it_is_used_and_missed_in_one_line(monkeypatch):
    detector, X = fitted(), numbers(8)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for draw in (detector.plot_scores, detector.plot_spaces):
        with pytest.raises(InputError, match=r"^a plot needs matplotlib: pip install matplotlib$"):
            draw(X)
    with pytest.raises(InputError, match=r"^a plot needs matplotlib"):
        detector.plot_contributions(X[:1])


def test_a_detector_is_imported_without_matplotlib():
    code = "import sys, oddshot.detector; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
