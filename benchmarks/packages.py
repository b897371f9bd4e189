"""Draws the packages and who imports whom: `python -m benchmarks.packages --out docs/packages.png`, or `make packages`.

Layers come from the import-linter contract in pyproject.toml, arrows from the import statements, sentences from the
docstrings. An arrow is left out where a longer chain of arrows says the same (transitive reduction), and so is what
every package may import: `oddshot.errors` and the version number.
"""

import argparse
import ast
import io
import itertools
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import grimp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Outline
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "oddshot"

WIDTH, HEIGHT = 3.5, 0.86  # of a box, inches
SPACE_ACROSS, SPACE_DOWN = 0.85, 0.72  # between boxes
LANE = 0.16  # between arrows that pass through the same gap
PORT = 0.34  # between arrows that begin or end at the same side of a box
FILLS = ("#f3e3c7", "#dbe8d4", "#d3e4ea", "#dcdcf0", "#ead9e6", "#f0dcd6", "#ece7cf", "#dfe6e4")
STROKES = ("#8a6d1f", "#2f6b3a", "#1f5f8b", "#8b2f5c", "#5a4a9c", "#a4502a", "#3d4652")  # arrows, by the importer

Layers = list[list[str]]
Edges = frozenset[tuple[str, str]]
Point = tuple[float, float]


def read_layers() -> Layers:
    """The packages of each layer, from the top to the bottom one."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip().removeprefix(f"{PACKAGE}.") for name in layer.split("|")] for layer in layers]


def read_edges(packages: Sequence[str]) -> Edges:
    """Pairs (importer, imported) of different packages; imports for type checkers only do not count."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True)
    edges = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            pair = _package_of(module), _package_of(imported)
            if pair[0] != pair[1] and set(pair) <= set(packages):
                edges.add(pair)
    return frozenset(edges)


def reduce_transitively(edges: Edges) -> Edges:
    """The edges of an acyclic graph that no longer path replaces."""
    following = defaultdict(set)
    for source, target in edges:
        following[source].add(target)

    def reachable(start: str) -> set[str]:
        return {start}.union(*(reachable(one) for one in following[start]))

    return frozenset(
        (source, target)
        for source, target in edges
        if not any(target in reachable(other) for other in following[source] - {target})
    )


def read_sentence(package: str) -> str:
    """The first line of the docstring of a package or module."""
    folder = ROOT / "src" / PACKAGE / package
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return (ast.get_docstring(ast.parse(file.read_text())) or "").splitlines()[0]


@dataclass(frozen=True)
class Layout:
    """Where boxes and arrows are. centers: of the boxes. routes: the points that each arrow passes."""

    centers: Mapping[str, Point]
    routes: Mapping[tuple[str, str], list[Point]]

    @property
    def cost(self) -> float:
        """How far arrows go sideways, squared so that none goes very far, and how often they cross."""
        pieces = [piece for route in self.routes.values() for piece in itertools.pairwise(route)]
        sideways = sum((end[0] - start[0]) ** 2 for start, end in pieces)
        return sideways + 5.0 * sum(_cross(a, b) for a, b in itertools.combinations(pieces, 2))


def find_layout(layers: Layers, edges: Edges) -> Layout:
    """The order of packages within each layer that gives the lowest cost."""
    orders = itertools.product(*(itertools.permutations(layer) for layer in layers))
    return min((lay_out([list(layer) for layer in order], edges) for order in orders), key=lambda one: one.cost)


def lay_out(layers: Layers, edges: Edges) -> Layout:
    """Boxes in rows, centred; an arrow past other layers passes through the gaps between their boxes."""
    centers = {}
    for depth, layer in enumerate(layers):
        for k, name in enumerate(layer):
            centers[name] = ((k - (len(layer) - 1) / 2) * (WIDTH + SPACE_ACROSS), -depth * (HEIGHT + SPACE_DOWN))
    depths = {name: depth for depth, layer in enumerate(layers) for name in layer}
    passing: dict[tuple[int, float], list[tuple[str, str]]] = defaultdict(list)
    gaps: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for source, target in sorted(edges):
        x, gaps[source, target] = centers[source][0], []
        for depth in range(depths[source] + 1, depths[target]):
            x += (centers[target][0] - x) / (depths[target] - depth + 1)
            x = min(_gaps(len(layers[depth])), key=lambda gap: (abs(gap - x), gap))
            gaps[source, target].append((depth, x))
            passing[depth, x].append((source, target))
    routes: dict[tuple[str, str], list[Point]] = {edge: [] for edge in edges}
    for (depth, x), through in passing.items():
        through.sort(key=lambda edge: (centers[edge[0]][0] + centers[edge[1]][0], edge))
        for k, edge in enumerate(through):
            lane, y = x + (k - (len(through) - 1) / 2) * LANE, -depth * (HEIGHT + SPACE_DOWN)
            routes[edge] += [(lane, y + HEIGHT / 2), (lane, y - HEIGHT / 2)]
    for route in routes.values():
        route.sort(key=lambda point: -point[1])
    for name in centers:
        leaving, arriving = [e for e in edges if e[0] == name], [e for e in edges if e[1] == name]
        for side, own in ((-1, leaving), (1, arriving)):
            own.sort(key=lambda edge: (_next_x(routes[edge], centers, edge, side), edge))
            for k, edge in enumerate(own):
                x = centers[name][0] + (k - (len(own) - 1) / 2) * PORT
                point = (x, centers[name][1] + side * HEIGHT / 2)
                routes[edge] = [point, *routes[edge]] if side < 0 else [*routes[edge], point]
    return Layout(centers, routes)


def draw(layers: Layers, layout: Layout, out: Path) -> None:
    """Write the picture."""
    right = max(x for x, _ in layout.centers.values()) + WIDTH / 2 + 0.5
    bottom = min(y for _, y in layout.centers.values()) - HEIGHT / 2 - 0.15
    figure = plt.figure(figsize=(2 * right, HEIGHT / 2 + 0.15 - bottom))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(-right, right), ylim=(bottom, HEIGHT / 2 + 0.15))
    axes.axis("off")
    strokes = dict(zip(layout.centers, itertools.cycle(STROKES), strict=False))
    for (source, _), route in sorted(layout.routes.items()):
        stroke = strokes[source]
        axes.add_patch(
            FancyArrowPatch(path=_curve(route), arrowstyle="-|>", mutation_scale=13, color=stroke, linewidth=1.4)
        )
    for depth, layer in enumerate(layers):
        for name in layer:
            _draw_box(axes, layout.centers[name], name, FILLS[depth % len(FILLS)])
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150)
    Image.open(picture).convert("RGB").quantize(128).save(out, format="PNG", optimize=True)  # a third of the size


def _draw_box(axes: Axes, center: Point, name: str, colour: str) -> None:
    x, y = center
    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle=style, facecolor=colour, edgecolor="#5a6270"))
    axes.text(x, y + 0.25, name, ha="center", va="center", fontsize=13, weight="bold", color="#20262e")
    sentence = "\n".join(textwrap.wrap(read_sentence(name).replace("`", ""), 52))
    axes.text(x, y - 0.12, sentence, ha="center", va="center", fontsize=8.8, color="#20262e", linespacing=1.25)


def _curve(route: list[Point]) -> Outline:
    """Pieces that begin and end vertically."""
    points, codes = [route[0]], [Outline.MOVETO]
    for (x0, y0), (x1, y1) in itertools.pairwise(route):
        middle = (y0 + y1) / 2
        points += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Outline.CURVE4] * 3
    return Outline(points, codes)


def _gaps(n_boxes: int) -> list[float]:
    """Between the boxes of a layer, and beside the first and the last one."""
    return [(k - n_boxes / 2) * (WIDTH + SPACE_ACROSS) for k in range(n_boxes + 1)]


def _next_x(route: list[Point], centers: Mapping[str, Point], edge: tuple[str, str], side: int) -> float:
    """Where an arrow goes to after it left a box at the bottom (side -1), or comes from before it arrives (1)."""
    if route:
        return route[0][0] if side < 0 else route[-1][0]
    return centers[edge[1] if side < 0 else edge[0]][0]


def _cross(a: tuple[Point, Point], b: tuple[Point, Point]) -> bool:
    """Whether two pieces between the same two layers change sides."""
    if abs(a[0][1] - b[0][1]) > 0.01 or abs(a[1][1] - b[1][1]) > 0.01:
        return False
    return (a[0][0] - b[0][0]) * (a[1][0] - b[1][0]) < 0


def _package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the packages and who imports whom.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "packages.png")
    out: Path = parser.parse_args().out
    layers = read_layers()
    edges = reduce_transitively(read_edges([name for layer in layers for name in layer]))
    draw(layers, find_layout(layers, edges), out)
    print(f"written: {out}")


if __name__ == "__main__":
    main()
