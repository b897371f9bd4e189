import numpy as np
import pytest
from matplotlib.image import imread

from oddshot.bench import figures, plots
from oddshot.bench.curves import ANOMALIES, NORMALS, TASKS, collect_curves
from oddshot.bench.figure2 import load_saved_spaces, train_spaces
from oddshot.bench.figure_grids import grids_for_figure, sweep_grids
from oddshot.bench.figures import FigureRequest, draw_figure, parse_figures
from oddshot.bench.grid import Grid
from oddshot.bench.plots import Curve, cliques, draw_curves, draw_ranks
from oddshot.bench.settings import RunSettings
from oddshot.data.episodes.sampling import EpisodeSizes
from oddshot.errors import InputError
from oddshot.training import TrainingConfig
from tests.bench.samples import make_source, record


@pytest.fixture
def drawn(monkeypatch):
    """The figures that a test draws, without writing them."""
    figures = []
    monkeypatch.setattr(plots, "save_figure", lambda figure, path: figures.append(figure))
    return figures


def tasks_runs(datasets=("glass", "wdbc"), methods=("eigen", "svdd")):
    return [
        record(dataset, method, split, auc=0.5 + 0.001 * (n or 400) + 0.01 * split, n_training=n)
        for dataset in datasets
        for method in methods
        for split in range(3)
        for n in (25, 100, None)
    ]


def test_a_curve_is_the_mean_over_datasets_with_its_band_over_splits():
    curves, datasets = collect_curves(tasks_runs(), TASKS, "published", "strict")
    assert datasets == ["glass", "wdbc"]
    assert curves["eigen"].x == (25, 100, 400)
    assert curves["eigen"].mean == pytest.approx((0.535, 0.61, 0.91))
    half = 4.302652729911275 * 0.01 / 3**0.5  # t of 2 degrees of freedom at 97.5 %
    assert curves["eigen"].high == pytest.approx(np.array([0.535, 0.61, 0.91]) + half)
    assert curves["eigen"].low == pytest.approx(np.array([0.535, 0.61, 0.91]) - half)


def test_only_datasets_with_figures_at_every_point():
    _, datasets = collect_curves([*tasks_runs(), record("pima", n_training=25)], TASKS, "published", "strict")
    assert datasets == ["glass", "wdbc"]


def test_without_labelled_anomalies_the_variant_for_that_stands_in():
    runs = [record("wdbc", "woanomaly", s, 0.6, sizes__support_anomaly=0) for s in range(2)]
    runs += [record("wdbc", "eigen", s, 0.7 + n / 10, sizes__support_anomaly=n) for n in (1, 2) for s in range(2)]
    runs += [record("wdbc", "proto", s, 0.7 + n / 10, sizes__support_anomaly=n) for n in (1, 2) for s in range(2)]
    curves, _ = collect_curves(runs, ANOMALIES, "published", "strict")
    assert curves["eigen"].x == (0, 1, 2)
    assert curves["eigen"].mean == pytest.approx((0.6, 0.8, 0.9))
    assert curves["eigen"].hollow == (True, False, False)
    assert curves["proto"].x == (1, 2)


def test_the_grids_behind_a_curve(tmp_path):
    settings = RunSettings("published", overrides=(("eigen", "units", 4),))
    grid = Grid(("wdbc",), ("eigen",), 2, settings, make_source(tmp_path))
    grids = sweep_grids(TASKS, grid, ["eigen", "svdd"])
    assert [one.settings.n_training for one in grids] == [25, 50, 100, 200, None]
    assert [one.settings.sizes.support_normal for one in grids_for_figure("normals", grid, None)] == list(
        NORMALS.values
    )
    anomalies = grids_for_figure("anomalies", grid, None)
    assert [one.settings.sizes.support_anomaly for one in anomalies] == [0, 1, 2, 5, 10]
    assert anomalies[0].methods == ("woanomaly", "svdd", "ssvdd")
    assert anomalies[0].settings.overrides == ()
    assert len(grids_for_figure("ranks", grid, None)[0].methods) == 13
    assert grids_for_figure("spaces", grid, None) == []


def test_cliques():
    assert cliques(np.array([1.0, 2.0, 2.5, 5.0]), 1.2) == [(0, 1), (1, 2)]
    assert cliques(np.array([1.0, 2.0, 3.0]), 5.0) == [(0, 2)]
    assert cliques(np.array([1.0, 3.0]), 1.0) == []


def test_curves_show_means_and_bands(drawn):
    curves = {
        "eigen": Curve((0, 1, 10), (0.5, 0.6, 0.95), (0.4, 0.5, 0.85), (0.6, 0.7, 1.05), (True, False, False)),
        "svdd": Curve((1, 10), (0.3, 0.4), (0.2, 0.3), (0.4, 0.5)),
    }
    draw_curves("unused.png", curves, "labelled anomalies", "title", "note")
    (axes,) = drawn[0].axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines if line.get_label()[0] != "_"}
    assert lines == {"Ours": [[0, 0.5], [1, 0.6], [2, 0.95]], "SVDD": [[1, 0.3], [2, 0.4]]}
    (hollow,) = (line for line in axes.lines if line.get_markerfacecolor() == "white")
    assert hollow.get_xydata().tolist() == [[0, 0.5]]
    bands = [band.get_paths()[0].vertices for band in axes.collections]
    assert [band[:, 1].min() for band in bands] == [0.4, 0.2]
    assert [band[:, 1].max() for band in bands] == [1.0, 0.5]  # not above an AUC of 1
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "10"]
    assert (axes.get_xlabel(), axes.get_title()) == ("labelled anomalies", "title")


def test_ranks_show_names_in_order_and_cliques(drawn):
    draw_ranks("unused.png", ["lr", "eigen", "knn"], np.array([2.0, 1.2, 2.8]), 0.85, "ranks")
    (axes,) = drawn[0].axes
    texts = [text.get_text().strip() for text in axes.texts]
    assert texts == ["Ours 1.20", "LR 2.00", "2.80 KNN", "critical difference 0.85", "1", "2", "3"]
    assert [text.get_weight() for text in axes.texts[:3]] == ["bold", "normal", "normal"]
    *bars, scale = (line.get_xdata() for line in axes.lines if line.get_linewidth() == 4)
    np.testing.assert_allclose(bars, [[1.17, 2.03], [1.97, 2.83]])  # joined: 1.2 and 2.0, 2.0 and 2.8
    np.testing.assert_allclose(scale, [1, 1.85])


def test_figures_are_png_files(tmp_path):
    draw_curves(tmp_path / "a.png", {"eigen": Curve((1, 2), (0.5, 0.6), (0.4, 0.5), (0.6, 0.7))}, "x", "title")
    draw_ranks(tmp_path / "b.png", ["eigen", "lr", "knn"], np.array([1.2, 2.0, 2.8]), 0.9, "ranks")
    curves, ranks = imread(tmp_path / "a.png"), imread(tmp_path / "b.png")
    assert curves.shape[:2] == (660, 960)  # 4.4 and 6.4 inches at 150 dots per inch
    assert ranks.shape[1] == 1110
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.png", "b.png"]


def test_figures_by_name(tmp_path):
    runs = [*tasks_runs(), record("glass", "lr", auc=0.7), record("wdbc", "lr", auc=0.7)]
    wanted = FigureRequest("published", "strict", {}, ("glass", "wdbc"))
    numbers = draw_figure("tasks", runs, wanted, tmp_path / "tasks.png")
    assert numbers["datasets"] == ["glass", "wdbc"]
    assert numbers["curves"]["svdd"]["x"] == (25, 100, 400)
    ranks = draw_figure("ranks", runs, wanted, tmp_path / "ranks.png")["ranks"]
    assert ranks == {"eigen": 1.5, "svdd": 1.5, "lr": 3.0}
    with pytest.raises(InputError, match="no dataset has runs at two values"):
        draw_figure("normals", runs, wanted, tmp_path / "normals.png")
    assert not (tmp_path / "normals.png").exists()
    with pytest.raises(InputError, match="no figure 'pie'"):
        parse_figures("ranks,pie")


def test_a_figure_names_its_only_dataset(tmp_path, monkeypatch):
    notes = []
    monkeypatch.setattr(figures, "draw_curves", lambda *arguments: notes.append(arguments[-1]))
    for datasets in (("wdbc",), ("glass", "wdbc")):
        draw_figure("tasks", tasks_runs(), FigureRequest("published", "strict", {}, datasets), tmp_path / "tasks.png")
    assert notes == [
        "published; WDBC; bands: 95 % confidence over splits",
        "published; mean over 2 datasets; bands: 95 % confidence over splits",
    ]


def test_three_spaces_of_a_trained_model_are_kept(tmp_path):
    settings = RunSettings(
        "published", TrainingConfig(epochs=2), EpisodeSizes(3, 1, 5, 2), overrides=(("eigen", "units", 8),)
    )
    grid = Grid(("toy",), ("eigen",), 1, settings, make_source(tmp_path))
    path = tmp_path / "spaces.npz"
    spaces = train_spaces(path, grid, "toy", "cpu")
    assert spaces.original.shape == (11, 3)
    assert spaces.embedded.shape == (11, 8)
    assert spaces.projected.shape == (11,)
    assert spaces.y.tolist() == [0] * 3 + [1] + [0] * 5 + [1] * 2
    assert spaces.is_support.tolist() == [True] * 4 + [False] * 7
    again = load_saved_spaces(path, grid, "toy")
    np.testing.assert_array_equal(again.projected, spaces.projected)
    other = Grid(("toy",), ("eigen",), 1, RunSettings("resampled"), grid.source)
    assert load_saved_spaces(path, other, "toy") is None
    assert load_saved_spaces(tmp_path / "none.npz", grid, "toy") is None
