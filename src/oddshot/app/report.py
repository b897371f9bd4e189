"""A report of the work on a table: one HTML file with its plots, that needs nothing else and runs nothing."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from oddshot.app.labels import NAMES
from oddshot.app.report_plots import axis_svg, histogram_svg, map_svg
from oddshot.app.sheet import Cell, Ints
from oddshot.app.views import axis_points, describe_rows, explained_rows, map_points, threshold_state
from oddshot.app.workspace import Open
from oddshot.data.task import ANOMALY, NORMAL

TOP_ROWS = 40
EXPLAINED_TIMES = 10  # as many rows as the page asks for at once
SHOWN_COLUMNS = 8  # of the top rows; the ones that explain them best come first in "why"
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --page: #fff; --bar: #8aa4c0;
  --anomaly: #c2410c; --normal: #0f766e }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3adba; --line: #39424e; --page: #14181d;
  --bar: #5f7c9c; --anomaly: #fb923c; --normal: #2dd4bf } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
p { color: var(--soft) } svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: 13px; white-space: nowrap }
th, td { text-align: left; padding: 4px 10px; border-bottom: 1px solid var(--line) } .number { text-align: right }
.anomaly { color: var(--anomaly); font-weight: 600 } .normal { color: var(--normal); font-weight: 600 }
"""


def write_report(now: Open) -> str:
    """The whole file."""
    body = [
        f"<h1>{escape(now.sheet.name)}</h1>",
        f"<p>{escape(_summary(now))}</p>",
        "<h2>Scores</h2>",
        histogram_svg(now.ranking.histogram, _cut(now)),
        "<h2>Map of the rows</h2><p>The two directions in which rows differ most; redder = higher score.</p>",
        map_svg(map_points(now), dict(_labelled(now))),
        *_axis(now),
        f"<h2>The {min(TOP_ROWS, len(now.ranking.order))} highest ranked rows</h2>",
        _rows_table(now, now.ranking.order[:TOP_ROWS]),
        f"<h2>Labels ({len(now.labels)})</h2>",
        _rows_table(now, now.labels.rows) if len(now.labels) else "<p>No row has a label yet.</p>",
    ]
    head = f'<meta charset="utf-8"><title>oddshot: {escape(now.sheet.name)}</title><style>{_STYLE}</style>'
    viewport = '<meta name="viewport" content="width=device-width">'
    return f'<!doctype html>\n<html lang="en"><head>{head}{viewport}</head><body>{"".join(body)}</body></html>\n'


def _summary(now: Open) -> str:
    """How many rows, labels and anomalies there are, in two or three sentences."""
    counts = f"{now.labels.count(NORMAL)} labelled normal, {now.labels.count(ANOMALY)} anomaly"
    text = f"{len(now.sheet):,} rows, {len(now.sheet.encoding.encoders)} columns used; {counts}."
    threshold = threshold_state(now)
    if threshold is None:
        return f"{text} {now.ranking.scorer.notice}"
    text += f" {threshold['above']:,} of {len(now.ranking.order):,} scored rows lie above {threshold['value']:.4g}"
    rate = threshold["false_alarms"]
    return text + ("." if rate is None else f", with {rate:.1%} of normal rows expected there.")


def _cut(now: Open) -> float | None:
    threshold = threshold_state(now)
    return None if threshold is None else threshold["position"]


def _axis(now: Open) -> list[str]:
    points = axis_points(now)
    if not points["rows"]:
        return []
    note = (
        "<p>Rows seen from the centre c along the direction that the labels give: the farther, the more anomalous.</p>"
    )
    return ["<h2>The projected axis</h2>", note, axis_svg(points, dict(_labelled(now)))]


def _labelled(now: Open) -> Iterable[tuple[int, int]]:
    return zip(now.labels.rows.tolist(), now.labels.values.tolist(), strict=True)


def _rows_table(now: Open, rows: Ints) -> str:
    rows = rows[: 5 * TOP_ROWS]
    columns = now.sheet.table.column_names
    heads = ["row", "label", "score", "probability", "why", *columns[:SHOWN_COLUMNS]]
    lines = [_line(shown, why) for shown, why in zip(describe_rows(now, rows), _reasons(now, rows), strict=True)]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _line(row: Mapping[str, Any], why: str) -> str:
    label = "" if row["label"] is None else NAMES[row["label"]]
    parts = [
        f'<td class="number">{row["row"] + 1}</td>',
        f'<td class="{label}">{label}</td>',
        _td(row["score"]),
        _td(row["probability"]),
        f"<td>{escape(why)}</td>",
        *(_td(cell) for cell in row["cells"][:SHOWN_COLUMNS]),
    ]
    return f"<tr>{''.join(parts)}</tr>"


def _td(cell: Cell) -> str:
    if isinstance(cell, float) and np.isfinite(cell):
        return f'<td class="number">{cell:.4g}</td>'
    return "<td></td>" if cell is None or isinstance(cell, float) else f"<td>{escape(str(cell))}</td>"


def _reasons(now: Open, rows: Ints) -> list[str]:
    """The three columns that add most to each row's score; of wide tables only for the first rows."""
    some = rows[: EXPLAINED_TIMES * explained_rows(now)]
    if len(some) == 0:
        return [""] * len(rows)
    why = now.ranking.scorer.explain(some)
    best = np.argsort(-why.added, axis=1, kind="stable")[:, :3]
    found = [
        ", ".join(why.columns[k] for k in order if added[k] > 0) for order, added in zip(best, why.added, strict=True)
    ]
    return found + [""] * (len(rows) - len(some))
