import os

import numpy as np
import pytest
from matplotlib.image import imread

from oddshot.bench.spaces import TaskSpaces, compute_task_spaces, draw_task_spaces, tsne_plane
from oddshot.errors import FileError
from oddshot.methods import find_method
from oddshot.score.rows import LabelledRows


def spaces(n=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3 == 0
    original, embedded = rng.normal(size=(n, 4)) + 3 * y[:, None], rng.normal(size=(n, 6))
    return TaskSpaces(original, embedded, embedded[:, 0], y.astype(int), np.arange(n) < 4)


@pytest.mark.parametrize("name", ["eigen", "relative"])
def test_the_squared_projection_is_the_score_and_linear_in_the_embedding(name):
    rng = np.random.default_rng(0)
    kind = find_method(name)
    config = kind.config_type(units=8)
    weights = {
        weight: rng.normal(scale=0.3, size=one.shape).astype(np.float32)
        for weight, one in kind.weights_of(3, config).items()
    }
    method = kind(3, config, weights)
    support, query = (
        LabelledRows(*(rng.normal(mean, size=(2, n, 3)).astype(np.float32) for mean, n in ((0, normal), (2, anomaly))))
        for normal, anomaly in ((5, 1), (25, 5))
    )
    found = compute_task_spaces(method, support, query)
    first = np.concatenate([part[0] for part in (*support, *query)])
    np.testing.assert_array_equal(found.original, first)
    scores = method.adapt(LabelledRows(support.normal[0], support.anomaly[0]))(first)
    np.testing.assert_allclose(found.projected**2, scores, rtol=1e-6)
    w = np.linalg.lstsq(found.embedded, found.projected, rcond=None)[0]
    np.testing.assert_allclose(found.embedded @ w, found.projected, atol=1e-4 * np.abs(found.projected).max())


def test_a_picture_is_written_whole_and_is_the_same_each_time(tmp_path):
    for name in ("one.png", "two.png"):
        draw_task_spaces(spaces(), tmp_path / name, "A task")
    one, two = imread(tmp_path / "one.png"), imread(tmp_path / "two.png")
    assert one.shape[0] > 400
    assert one.shape[1] > 1200
    assert one.std() > 0.05
    np.testing.assert_array_equal(one, two)
    assert sorted(os.listdir(tmp_path)) == ["one.png", "two.png"]


def test_every_group_of_rows_is_where_its_numbers_say(monkeypatch):
    drawn = []
    monkeypatch.setattr("oddshot.bench.spaces.save_figure", lambda figure, path: drawn.append(figure))
    task = spaces()
    draw_task_spaces(task, "unused.png", "A task")
    original, embedded, projected = drawn[0].axes
    groups = {group.get_label(): np.asarray(group.get_offsets()) for group in projected.collections}
    for name, y, is_support in (
        ("normal query", 0, False),
        ("anomalous query", 1, False),
        ("labelled normal", 0, True),
        ("labelled anomaly", 1, True),
    ):
        np.testing.assert_allclose(groups[name][:, 0], task.projected[(task.y == y) & (task.is_support == is_support)])
    np.testing.assert_allclose(groups["centre"], [[0, 0]])
    assert "centre" in [group.get_label() for group in embedded.collections]
    assert "centre" not in [group.get_label() for group in original.collections]
    for axes in (original, embedded):
        plane = {group.get_label(): len(group.get_offsets()) for group in axes.collections}
        assert [plane[name] for name in ("labelled normal", "labelled anomaly")] == [2, 2]


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(FileError, match=r"cannot write .*task\.png: No such file or directory"):
        draw_task_spaces(spaces(), tmp_path / "nowhere" / "task.png", "A task")


@pytest.mark.parametrize("n", [4, 36, 120])
def test_groups_stay_apart_on_the_plane(n):
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(n // 2, 5)), rng.normal(size=(n - n // 2, 5)) + 40])
    plane = tsne_plane(rows)
    assert plane.shape == (n, 2)
    assert np.isfinite(plane).all()
    if n >= 36:
        first, second = plane[: n // 2], plane[n // 2 :]
        between = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
        assert between > np.linalg.norm(first - first.mean(axis=0), axis=1).max()
