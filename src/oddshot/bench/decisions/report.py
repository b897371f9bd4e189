"""What the grid says: grid.csv, table.md and the picture, made from all that was measured."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from oddshot.bench.decisions.comparison import comparison_lines
from oddshot.bench.decisions.criteria import criteria_lines
from oddshot.bench.decisions.grid import COPIES, RATES
from oddshot.bench.decisions.results import summarise, to_csv
from oddshot.data.files import write_bytes

SHOWN_RATE, SHOWN_CONTAMINATION = 0.05, 10
COPY_TITLES = {"as-is": "as is", "twice": "every row twice", "near": "near-copies"}


def write_report(frame: pd.DataFrame, out: Path, title: str, earlier: pd.DataFrame | None) -> tuple[str, list[str]]:
    """Write the files. frame: all that was measured. Returns the criteria, and the names of the files."""
    summary = summarise(frame)
    criteria = criteria_lines(summary)
    if earlier is not None:
        criteria += comparison_lines(summary, earlier)
    text = to_markdown(frame, summary, title, criteria)
    write_bytes(out / "grid.csv", to_csv(summary).encode())
    write_bytes(out / "table.md", text.encode())
    written = ["grid.csv", "table.md"]
    if _draw(summary, out / "grid.png", title):
        written.append("grid.png")
    return "\n".join(criteria), written


def to_markdown(frame: pd.DataFrame, summary: pd.DataFrame, title: str, criteria: Sequence[str]) -> str:
    """What table.md says."""
    n_cells, n_tables, n_sources = len(summary) // len(RATES), frame["table"].nunique(), frame["source"].nunique()
    parts = [
        f"# The grid of decisions: {title}\n",
        f"{n_cells} cells, {n_tables} tables of {n_sources} sources, {frame['draw'].nunique()} draws.\n",
        "\n".join(criteria) + "\n",
        "## Normal rows flagged at a false-positive rate of 5 %\n",
        f"Per cent, mean / worst table; {SHOWN_CONTAMINATION} % of the unlabelled rows are anomalies.\n",
        flagged_table(summary),
        "## Copies\n",
        "Per cent of normal rows flagged, over all numbers of labelled anomalies and unlabelled rows: mean of the "
        "cells / the cell with the most.\n",
        copies_table(summary),
        "Means of the same cells. Anomalies are those found at 5 %.\n",
        quality_table(summary),
    ]
    return "\n".join(parts)


def shown_cells(summary: pd.DataFrame, copies: str) -> pd.DataFrame:
    """The cells of the big table and the picture: at 5 %, with anomalies among the unlabelled rows."""
    shown = _at_rate(summary, SHOWN_RATE)
    contaminated = (shown["contamination"] == SHOWN_CONTAMINATION) | (shown["unlabelled"] == 0)
    return shown[contaminated & (shown["copies"] == copies)]


def flagged_table(summary: pd.DataFrame) -> str:
    """Rows: labelled anomalies and unlabelled rows; columns: labelled normal rows."""
    shown = shown_cells(summary, "as-is")
    texts = {
        (anomalies, unlabelled, normal): f"{_per_cent(mean)} / {_per_cent(worst)}"
        for anomalies, unlabelled, normal, mean, worst in shown[
            ["anomalies", "unlabelled", "normal", "flagged", "worst"]
        ].itertuples(index=False)
    }
    columns = sorted(set(shown["normal"]))
    rows = [
        [f"{anomalies}, {unlabelled}", *(texts.get((anomalies, unlabelled, normal), "") for normal in columns)]
        for anomalies, unlabelled in sorted({key[:2] for key in texts})
    ]
    return _table(["labelled anomalies, unlabelled rows", *_normal_titles(columns)], rows)


def copies_table(summary: pd.DataFrame) -> str:
    """Rows: copies and rates; columns: labelled normal rows; mean and largest share of the cells."""
    columns = sorted(set(summary["normal"]))
    rows = []
    for copies in COPIES:
        for rate in RATES:
            cells = (
                _at_rate(summary[summary["copies"] == copies], rate).groupby("normal")["flagged"].agg(["mean", "max"])
            )
            texts = {n: f"{_per_cent(mean)} / {_per_cent(most)}" for n, mean, most in cells.itertuples()}
            rows.append([f"{COPY_TITLES[copies]}, {rate:.0%}", *(texts.get(n, "") for n in columns)])
    return _table(["copies, rate", *_normal_titles(columns)], [row for row in rows if any(row[1:])])


def quality_table(summary: pd.DataFrame) -> str:
    """Rows: copies and anomalies found, AUC, calibration error; columns: labelled normal rows."""
    columns = sorted(set(summary["normal"]))
    shown = _at_rate(summary, SHOWN_RATE)
    rows = []
    for what, title in (("found", "anomalies found"), ("auc", "AUC"), ("calibration_error", "calibration error")):
        for copies in COPIES:
            means = shown[shown["copies"] == copies].groupby("normal")[what].mean()
            if len(means):
                texts = [f"{means[n]:.3f}" if n in means.index else "" for n in columns]
                rows.append([f"{title}, {COPY_TITLES[copies]}", *texts])
    return _table(["", *_normal_titles(columns)], rows)


def _draw(summary: pd.DataFrame, path: Path, title: str) -> bool:
    """Draw the picture, unless matplotlib is not installed."""
    try:
        from oddshot.bench.decisions.picture import draw_grid
    except ModuleNotFoundError:
        return False
    panels = {copies: shown_cells(summary, copies) for copies in COPIES}
    drawn = {COPY_TITLES[copies]: cells for copies, cells in panels.items() if len(cells)}
    if drawn:
        note = f"{SHOWN_CONTAMINATION} % of the unlabelled rows are anomalies"
        draw_grid(path, drawn, f"Normal rows flagged at a false-positive rate of 5 %: {title}; {note}")
    return bool(drawn)


def _at_rate(summary: pd.DataFrame, rate: float) -> pd.DataFrame:
    return summary[np.isclose(summary["rate"], rate)]


def _per_cent(share: float) -> str:
    """Whole per cent, with a decimal below 1."""
    return f"{100 * share:.1f}" if 0 < share < 0.00995 else f"{100 * share:.0f}"


def _normal_titles(columns: Sequence[int]) -> list[str]:
    return [f"{n} normal" if k == 0 else str(n) for k, n in enumerate(columns)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
