"""The report on a table: one self-contained HTML file with plots and without scripts."""

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.labels import LABEL_NAMES
from oddshot.app.open_table import OpenTable
from oddshot.app.report_plots import STYLE as PLOT_STYLE
from oddshot.app.report_plots import axis_svg, histogram_svg, map_svg
from oddshot.app.sheet import Cell
from oddshot.app.views import axis_points, describe_rows, map_points, max_explained_rows, threshold_state
from oddshot.data.encoding.description import readable_number
from oddshot.data.task import ANOMALY, NORMAL

N_TOP_ROWS = 40
MAX_LABELLED_ROWS = 200  # listed in the report
N_EXPLANATION_REQUESTS = 10  # explained rows, in multiples of what one request of the page may explain
MAX_SHOWN_COLUMNS = 8  # of the table, shown for each row
N_REASONS = 3  # columns named for each row
_PALETTE = Path(__file__).with_name("static") / "palette.css"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
p { color: var(--soft) } svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: 13px; white-space: nowrap }
th, td { text-align: left; padding: 4px 10px; border-bottom: 1px solid var(--line) } .number { text-align: right }
.anomaly { color: var(--anomaly); font-weight: 600 } .normal { color: var(--normal); font-weight: 600 }
"""


def write_report(open_table: OpenTable) -> str:
    """The HTML of the report."""
    body = [
        f"<h1>{escape(open_table.sheet.name)}</h1>",
        f"<p>{escape(_summary(open_table))}</p>",
        "<h2>Scores</h2>",
        histogram_svg(open_table.ranking.histogram, _threshold_position(open_table)),
        "<h2>Map of the rows</h2><p>The two directions in which rows differ most; redder = higher score.</p>",
        map_svg(map_points(open_table), dict(_label_pairs(open_table))),
        *_axis_section(open_table),
        f"<h2>The {min(N_TOP_ROWS, len(open_table.ranking.order))} highest ranked rows</h2>",
        _rows_table(open_table, open_table.ranking.order[:N_TOP_ROWS]),
        f"<h2>Labels ({len(open_table.labels)})</h2>",
        _rows_table(open_table, open_table.labels.rows) if len(open_table.labels) else "<p>No row has a label yet.</p>",
    ]
    style = _PALETTE.read_text() + _STYLE + PLOT_STYLE
    head = f'<meta charset="utf-8"><title>oddshot: {escape(open_table.sheet.name)}</title><style>{style}</style>'
    viewport = '<meta name="viewport" content="width=device-width">'
    return f'<!doctype html>\n<html lang="en"><head>{head}{viewport}</head><body>{"".join(body)}</body></html>\n'


def _summary(open_table: OpenTable) -> str:
    """The numbers of rows, labels and anomalies in two or three sentences."""
    counts = f"{open_table.labels.count(NORMAL)} labelled normal, {open_table.labels.count(ANOMALY)} anomaly"
    text = f"{len(open_table.sheet):,} rows, {len(open_table.sheet.encoding.encoders)} columns used; {counts}."
    threshold = threshold_state(open_table)
    if threshold is None:
        return f"{text} {open_table.ranking.ranker.notice}"
    return " ".join([text, *threshold["facts"]])


def _threshold_position(open_table: OpenTable) -> float | None:
    threshold = threshold_state(open_table)
    return None if threshold is None else threshold["position"]


def _axis_section(open_table: OpenTable) -> list[str]:
    points = axis_points(open_table)
    if not points["rows"]:
        return []
    note = (
        "<p>Rows seen from the centre c along the direction that the labels give: the farther, the more anomalous.</p>"
    )
    return ["<h2>The projected axis</h2>", note, axis_svg(points, dict(_label_pairs(open_table)))]


def _label_pairs(open_table: OpenTable) -> Iterable[tuple[int, int]]:
    return zip(open_table.labels.rows.tolist(), open_table.labels.values.tolist(), strict=True)


def _rows_table(open_table: OpenTable, rows: NDArray[np.int64]) -> str:
    rows = rows[:MAX_LABELLED_ROWS]
    columns = open_table.sheet.table.column_names
    headings = ["row", "label", "score", "probability", "why", *columns[:MAX_SHOWN_COLUMNS]]
    table_rows = [
        _table_row(row, reason)
        for row, reason in zip(describe_rows(open_table, rows), _reasons(open_table, rows), strict=True)
    ]
    head = "".join(f"<th>{escape(name)}</th>" for name in headings)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(table_rows)}</tbody></table></div>'
    )


def _table_row(row: Mapping[str, Any], reason: str) -> str:
    label = "" if row["label"] is None else LABEL_NAMES[row["label"]]
    parts = [
        f'<td class="number">{escape(row["name"] or str(row["row"] + 1))}</td>',
        f'<td class="{label}">{label}</td>',
        _table_cell(row["score"]),
        _table_cell(row["probability"]),
        f"<td>{escape(reason)}</td>",
        *(_table_cell(cell) for cell in row["cells"][:MAX_SHOWN_COLUMNS]),
    ]
    return f"<tr>{''.join(parts)}</tr>"


def _table_cell(cell: Cell) -> str:
    """A cell; NaN and None are empty."""
    if isinstance(cell, float) and np.isfinite(cell):
        return f'<td class="number">{readable_number(cell)}</td>'
    return "<td></td>" if cell is None or isinstance(cell, float) else f"<td>{escape(str(cell))}</td>"


def _reasons(open_table: OpenTable, rows: NDArray[np.int64]) -> list[str]:
    """The columns that contribute most to the score of each row; for wide tables of the first rows only."""
    explained = rows[: N_EXPLANATION_REQUESTS * max_explained_rows(open_table)]
    if len(explained) == 0:
        return [""] * len(rows)
    explanations = open_table.ranking.ranker.explain(explained)
    largest = np.argsort(-explanations.contributions, axis=1, kind="stable")[:, :N_REASONS]
    reasons = [
        ", ".join(explanations.columns[k] for k in order if contributions[k] > 0)
        for order, contributions in zip(largest, explanations.contributions, strict=True)
    ]
    return reasons + [""] * (len(rows) - len(explained))
