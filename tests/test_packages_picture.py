"""The picture of the packages in CONTRIBUTING.md shows all of them, and no arrow that others imply."""

from benchmarks.packages import ROOT, find_layout, read_edges, read_layers, read_sentence, reduce_transitively


def packages():
    return [name for layer in read_layers() for name in layer]


def test_every_package_is_in_a_layer_and_has_a_sentence():
    folder = ROOT / "src" / "oddshot"
    names = {path.stem for path in folder.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert set(packages()) == names - {"__init__", "__main__", "__pycache__", "errors"}
    assert all(len(read_sentence(name)) > 20 for name in packages())


def test_known_imports_are_found():
    edges = read_edges(packages())
    assert {("methods", "score"), ("storage", "data"), ("detector", "adapted"), ("cli", "adapted")} <= edges
    assert ("score", "methods") not in edges


def test_implied_arrows_are_left_out():
    edges = frozenset({("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("d", "c"), ("a", "e")})
    assert reduce_transitively(edges) == edges - {("a", "c")}


def test_the_layout_avoids_crossings_and_boxes():
    edges = frozenset({("top", "left"), ("top", "right"), ("left", "x"), ("right", "y"), ("top", "bottom")})
    layout = find_layout([["top"], ["right", "left"], ["x", "y"], ["bottom"]], edges)
    (x0, _), (x1, _), (x2, _), (x3, _) = (layout.centers[name] for name in ("left", "right", "x", "y"))
    assert (x0 < x1) == (x2 < x3)
    assert [x for x, _ in layout.routes["top", "bottom"][1:-1]] == [0.0] * 4  # between the boxes of both layers
