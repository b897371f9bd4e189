"""What the field trial says: means over tables, the best simple method of every situation, CSV and markdown."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oddshot.bench.field.product import PRODUCT
from oddshot.bench.field.situations import Situation
from oddshot.bench.field.store import CellKey, CellRecord
from oddshot.bench.field.tables import FieldTable

Keys = Mapping[CellKey, tuple[Situation, FieldTable]]


@dataclass(frozen=True)
class Comparison:
    """One situation: mean AUC of every method that has a result on all of its tables, with equal weight a source."""

    situation: Situation
    aucs: dict[str, float]
    n_tables: int
    n_sources: int

    @property
    def best_opponent(self) -> str | None:
        """The simple method with the highest mean AUC."""
        others = [name for name in self.aucs if name != PRODUCT]
        return max(others, key=lambda name: self.aucs[name], default=None)

    @property
    def difference(self) -> float | None:
        """AUC of the detector less that of the best simple method."""
        if self.best_opponent is None or PRODUCT not in self.aucs:
            return None
        return self.aucs[PRODUCT] - self.aucs[self.best_opponent]


def select_records(records: Sequence[CellRecord], keys: Keys) -> list[CellRecord]:
    """Those of this trial that did not fail, in the order of the trial."""
    by_key: dict[CellKey, list[CellRecord]] = {}
    for record in records:
        if not record.error:
            by_key.setdefault(record.key, []).append(record)
    return [record for key in keys for record in by_key.get(key, [])]


def source_mean(values: Mapping[str, float], sources: Mapping[str, str]) -> float:
    """Mean over sources of the mean over the tables of each. values: by table; sources: of each table."""
    by_source: dict[str, list[float]] = {}
    for table, value in values.items():
        by_source.setdefault(sources[table], []).append(value)
    return float(np.mean([np.mean(group) for group in by_source.values()]))


def compare(records: Sequence[CellRecord], keys: Keys) -> list[Comparison]:
    """Means of every situation whose AUCs are there, on the tables for which the detector has a result."""
    situations = {situation.name: situation for situation, _ in keys.values()}
    sources = {table.name: table.source for _, table in keys.values()}
    values: dict[str, dict[str, dict[str, float]]] = {}
    for record in records:
        if record.metric == "auc" and record.value is not None:
            values.setdefault(record.situation, {}).setdefault(record.method, {})[record.table] = record.value
    comparisons = []
    for name, methods in values.items():
        tables = set(methods.get(PRODUCT) or set.union(*map(set, methods.values())))
        aucs = {
            method: source_mean({table: auc for table, auc in found.items() if table in tables}, sources)
            for method, found in methods.items()
            if tables <= set(found)
        }
        comparisons.append(Comparison(situations[name], aucs, len(tables), len({sources[t] for t in tables})))
    return comparisons


def to_csv(records: Sequence[CellRecord]) -> str:
    """Mean AUC over the draws: a row for every situation and table, a column for every method."""
    cells: dict[tuple[str, str, int], dict[str, str]] = {}
    for record in records:
        if record.metric == "auc":
            key = (record.situation, record.table, record.draws)
            cells.setdefault(key, {})[record.method] = f"{record.value:.4f}"
    methods = list(dict.fromkeys(method for aucs in cells.values() for method in aucs))
    rows = [[*key, *(aucs.get(method, "") for method in methods)] for key, aucs in cells.items()]
    return _write_csv([["situation", "table", "draws", *methods], *rows])


def to_markdown(comparisons: Sequence[Comparison]) -> str:
    """A table of every situation: the detector, the best simple method, the difference, and all simple methods."""
    methods = list(dict.fromkeys(name for c in comparisons for name in c.aucs if name != PRODUCT))
    head = ["situation", "tables", "sources", "oddshot", "best simple method", "difference", *methods]
    lines = [_markdown_row(head), _markdown_row(["---"] * len(head))]
    for c in comparisons:
        best = "" if c.best_opponent is None else f"{c.best_opponent} {c.aucs[c.best_opponent]:.3f}"
        cells = [_auc_text(c.aucs.get(name)) for name in methods]
        own = [c.situation.name, str(c.n_tables), str(c.n_sources), _auc_text(c.aucs.get(PRODUCT)), best]
        lines.append(_markdown_row([*own, "" if c.difference is None else f"{c.difference:+.3f}", *cells]))
    return "\n".join(lines) + "\n"


def group_means(comparisons: Sequence[Comparison]) -> str:
    """A markdown table of groups: mean of the differences, the worst one, and how many are below −0.005."""
    head = ["group", "situations", "oddshot", "best simple methods", "mean difference", "worst", "below −0.005"]
    lines = [_markdown_row(head), _markdown_row(["---"] * len(head))]
    groups: dict[str, list[Comparison]] = {}
    for c in comparisons:
        if c.difference is not None:
            groups.setdefault(c.situation.group, []).append(c)
    for name, members in groups.items():
        differences = [c.difference for c in members if c.difference is not None]
        own = float(np.mean([c.aucs[PRODUCT] for c in members]))
        worst = min(members, key=lambda c: c.difference or 0.0)
        lines.append(
            _markdown_row(
                [
                    *(name, str(len(members)), f"{own:.3f}", f"{own - float(np.mean(differences)):.3f}"),
                    *(f"{np.mean(differences):+.3f}", f"{worst.difference:+.3f} ({worst.situation.name})"),
                    str(sum(d < -0.005 for d in differences)),
                ]
            )
        )
    return "\n".join(lines) + "\n"


def _auc_text(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _write_csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
