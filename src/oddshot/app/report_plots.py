"""The plots of the report as SVG, drawn as on the page; they hold numbers and fixed text only, no text of the table."""

from collections.abc import Mapping, Sequence
from typing import Any

from oddshot.app.labels import LABEL_NAMES

WIDTH = 800
MARGIN = 12  # around the dots of the map
# Scores have the colours of `forPosition` in static/colours.js; --share: how far a dot is from one colour to the next.
STYLE = """
svg { background: var(--card) }
.threshold { stroke: var(--mark); stroke-dasharray: 4 } .centre { stroke: var(--normal) }
.lower { fill: color-mix(in srgb, var(--mid) var(--share), var(--low)) }
.upper { fill: color-mix(in srgb, var(--high) var(--share), var(--mid)) }
circle { fill-opacity: .75 } .ring { fill: var(--card); fill-opacity: 1; stroke: currentColor; stroke-width: 3 }
"""


def histogram_svg(counts: Sequence[int], threshold: float | None, height: int = 200) -> str:
    """A histogram with square-root heights, so that small counts stay visible; the threshold as a dashed line."""
    step, top = WIDTH / len(counts), max(counts) ** 0.5
    bars = [
        f'<rect x="{k * step + 0.5:.1f}" y="{height - (h := (height - 10) * n**0.5 / top):.1f}" '
        f'width="{step - 1:.1f}" height="{h:.1f}" {_colour((k + 0.5) / len(counts))}/>'
        for k, n in enumerate(counts)
        if n
    ]
    if threshold is not None:
        bars.append(_vertical("threshold", threshold * WIDTH, height))
    return _svg(height, "Histogram of the scores, low to high; heights are square roots of counts", bars)


def map_svg(points: Mapping[str, Any], labels: Mapping[int, int], height: int = 420) -> str:
    """One dot per row, high scores drawn last; labelled rows with a ring. y grows upwards."""
    xs, ys = _rescale(points["x"], WIDTH), [height - y for y in _rescale(points["y"], height)]
    return _svg(height, "Map of the rows, coloured by score", _dots(points, xs, ys, labels))


def axis_svg(points: Mapping[str, Any], labels: Mapping[int, int], height: int = 120) -> str:
    """One dot per row, with vertical jitter; the centre and the threshold as lines."""
    xs = [WIDTH / 2 * (1 + 0.97 * x) for x in points["x"]]
    ys = [height * (0.1 + 0.8 * ((row * 0.618034) % 1.0)) for row in points["rows"]]
    lines = [_vertical("centre", WIDTH / 2, height)]
    if points["threshold"] is not None:
        lines += [_vertical("threshold", WIDTH / 2 * (1 + x * points["threshold"]), height) for x in (-0.97, 0.97)]
    return _svg(height, "The projected axis with the centre in the middle", [*lines, *_dots(points, xs, ys, labels)])


def _dots(points: Mapping[str, Any], xs: Sequence[float], ys: Sequence[float], labels: Mapping[int, int]) -> list[str]:
    out = []
    for k in sorted(range(len(xs)), key=lambda k: (points["rows"][k] in labels, points["position"][k])):
        row = points["rows"][k]
        label = labels.get(row)
        look = (
            f'r="3" {_colour(points["position"][k])}' if label is None else f'r="6" class="ring {LABEL_NAMES[label]}"'
        )
        out.append(f'<circle cx="{xs[k]:.1f}" cy="{ys[k]:.1f}" {look}><title>Row {row + 1}</title></circle>')
    return out


def _rescale(values: Sequence[float], size: int) -> list[float]:
    low, high = min(values), max(values)
    return [MARGIN + (size - 2 * MARGIN) * (value - low) / ((high - low) or 1.0) for value in values]


def _colour(position: float) -> str:
    """The attributes of a mark in the colour of a score, from its position on the axis of scores."""
    half, share = ("lower", 2 * position) if position < 0.5 else ("upper", 2 * position - 1)
    return f'class="{half}" style="--share:{100 * share:.3g}%"'


def _vertical(name: str, x: float, height: int) -> str:
    return f'<line class="{name}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'


def _svg(height: int, title: str, parts: Sequence[str]) -> str:
    name = f'role="img" aria-label="{title}"'
    return f'<svg viewBox="0 0 {WIDTH} {height}" {name} xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
