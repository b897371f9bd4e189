"""The plots of the report as SVG; they contain numbers and fixed text only, no text of the table."""

from collections.abc import Mapping, Sequence
from typing import Any

from oddshot.data.task import ANOMALY

WIDTH = 800
_COLOURS = ("#7c93ad", "#8f8fa3", "#a98a86", "#c4835f", "#d9742f", "#c2410c")  # from low to high scores


def histogram_svg(counts: Sequence[int], threshold: float | None, height: int = 200) -> str:
    """A histogram with square-root heights, so that small counts stay visible; the threshold as a dashed line."""
    step, top = WIDTH / len(counts), max(counts) ** 0.5
    bars = [
        f'<rect x="{k * step + 0.5:.1f}" y="{height - (h := (height - 10) * n**0.5 / top):.1f}" '
        f'width="{step - 1:.1f}" height="{h:.1f}" fill="{_colour((k + 0.5) / len(counts))}"/>'
        for k, n in enumerate(counts)
        if n
    ]
    if threshold is not None:
        x = threshold * WIDTH
        bars.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}" stroke="currentColor" stroke-dasharray="4"/>'
        )
    return _svg(height, "Histogram of the scores, low to high; heights are square roots of counts", bars)


def map_svg(points: Mapping[str, Any], labels: Mapping[int, int], height: int = 420) -> str:
    """One dot per row, high scores drawn last; labelled rows with a ring."""
    xs, ys = _rescale(points["x"], WIDTH), _rescale(points["y"], height)
    return _svg(height, "Map of the rows, coloured by score", _dots(points, xs, ys, labels))


def axis_svg(points: Mapping[str, Any], labels: Mapping[int, int], height: int = 120) -> str:
    """One dot per row, with vertical jitter; the centre and the threshold as lines."""
    xs = [WIDTH / 2 * (1 + 0.97 * x) for x in points["x"]]
    ys = [height * (0.1 + 0.8 * ((row * 0.618034) % 1.0)) for row in points["rows"]]
    lines = [f'<line x1="{WIDTH / 2}" x2="{WIDTH / 2}" y1="0" y2="{height}" stroke="#0f766e"/>']
    if points["threshold"] is not None:
        for side in (-0.97, 0.97):
            x = WIDTH / 2 * (1 + side * points["threshold"])
            lines.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}" stroke="currentColor" stroke-dasharray="4"/>'
            )
    return _svg(height, "The projected axis with the centre in the middle", [*lines, *_dots(points, xs, ys, labels)])


def _dots(points: Mapping[str, Any], xs: Sequence[float], ys: Sequence[float], labels: Mapping[int, int]) -> list[str]:
    out = []
    for k in sorted(range(len(xs)), key=lambda k: (points["rows"][k] in labels, points["position"][k])):
        label = labels.get(points["rows"][k])
        ring = "" if label is None else f' stroke="{"#c2410c" if label == ANOMALY else "#0f766e"}" stroke-width="3"'
        size, fill = (3, _colour(points["position"][k])) if label is None else (6, "#fff")
        out.append(f'<circle cx="{xs[k]:.1f}" cy="{ys[k]:.1f}" r="{size}" fill="{fill}" fill-opacity="0.8"{ring}/>')
    return out


def _rescale(values: Sequence[float], size: int) -> list[float]:
    low, high = min(values), max(values)
    return [12 + (size - 24) * (value - low) / ((high - low) or 1.0) for value in values]


def _colour(position: float) -> str:
    return _COLOURS[min(int(position * len(_COLOURS)), len(_COLOURS) - 1)]


def _svg(height: int, title: str, parts: Sequence[str]) -> str:
    name = f'role="img" aria-label="{title}"'
    return f'<svg viewBox="0 0 {WIDTH} {height}" {name} xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
