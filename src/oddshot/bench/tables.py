"""The paper's Tables 1, 2 and 3 out of finished runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshot.bench import paper
from oddshot.bench.paper import dataset_title, method_title, order_datasets, order_methods
from oddshot.bench.selection import AucKind, Selection
from oddshot.bench.significance import AverageRanks, best_or_equal, rank_methods
from oddshot.errors import InputError

Means = Mapping[tuple[str, str], float]
Scores = Mapping[tuple[str, str], dict[int, float]]


@dataclass(frozen=True)
class TableCell:
    """A figure, whether it is printed in bold, and the paper's beside it."""

    value: float | None = None
    best: bool = False
    paper: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.value is None or self.paper is None else self.value - self.paper


@dataclass(frozen=True)
class TableRow:
    """A line of a table; `summary` ones stand below a rule."""

    title: str
    cells: tuple[TableCell, ...]
    digits: int = 3
    summary: bool = False


@dataclass(frozen=True)
class ResultTable:
    """What all formats are made from."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    compared: bool = False


def table1(selection: Selection, auc: AucKind, *, compare: bool = False) -> ResultTable:
    """Test AUC by dataset and method; bold: not different from the best at 5 % (paired t-test over splits).

    What was asked for by name has its row or column, with empty cells where nothing was run.
    """
    shown = order_methods(selection.methods | selection.asked_methods)
    methods = [name for name in shown if name not in paper.TABLE2_METHODS[1:]]
    scores = _of_methods(selection.aucs(auc), methods)
    here = {dataset for dataset, _ in scores}
    _require(sorted(here), selection)
    datasets = order_datasets(here | selection.asked_datasets)
    means = {key: float(np.mean(list(values.values()))) for key, values in scores.items()}
    rows, bests = [], np.zeros(len(methods), dtype=int)
    for dataset in datasets:
        best = best_or_equal([scores.get((dataset, method), {}) for method in methods])
        bests += best
        cells = (
            TableCell(means.get((dataset, method)), bold, paper.table1().get((dataset, method)) if compare else None)
            for method, bold in zip(methods, best, strict=True)
        )
        rows.append(TableRow(dataset_title(dataset), tuple(cells)))
    complete = _complete(means, datasets, methods, in_paper=compare)
    rows.append(_average_row(means, complete, methods, compare))
    rows.append(_best_row(dict(zip(methods, bests.tolist(), strict=True)), means))
    if compare:
        rows.append(_difference_row(means, methods))
    of_paper = " of the paper" if compare else ""
    notes = [f"Average over {len(complete)} datasets{of_paper}, those with figures of all methods that were run."]
    notes += _notes(selection, auc, scores)
    return ResultTable("Test AUC on target tasks", _titles(methods), tuple(rows), tuple(notes), compare)


def table2(selection: Selection, auc: AucKind, *, compare: bool = False) -> ResultTable:
    """Ablation: average test AUC over the datasets where all variants have figures."""
    methods = [name for name in paper.TABLE2_METHODS if name in selection.methods]
    scores = _of_methods(selection.aucs(auc), methods)
    means = {key: float(np.mean(list(values.values()))) for key, values in scores.items()}
    complete = _complete(means, order_datasets(selection.datasets), methods)
    _require(complete if methods else [], selection)
    values = [float(np.mean([means[dataset, method] for dataset in complete])) for method in methods]
    cells = (
        TableCell(value, value == max(values), paper.TABLE2.get(method) if compare else None)
        for method, value in zip(methods, values, strict=True)
    )
    notes = [f"Average over {len(complete)} datasets.", *_notes(selection, auc, scores)]
    if compare:
        notes.append("The paper's figures are averages over its 32 datasets.")
    return ResultTable(
        "Ablation: average test AUC", _titles(methods), (TableRow("Average", tuple(cells)),), tuple(notes), compare
    )


def table3(selection: Selection, *, compare: bool = False) -> ResultTable:
    """Average seconds of training a split, over the datasets where all methods have figures."""
    seconds = selection.by_split("train_seconds")
    means = {key: float(np.mean(list(values.values()))) for key, values in seconds.items()}
    trained = {method for _, method in seconds}
    methods = [
        name for name in order_methods(trained) if name in paper.TABLE3_METHODS or name not in paper.METHOD_TITLES
    ]
    complete = _complete(means, order_datasets(selection.datasets), methods)
    _require(complete if methods else [], selection)
    cells = tuple(
        TableCell(
            float(np.mean([means[dataset, method] for dataset in complete])),
            paper=paper.TABLE3.get(method) if compare else None,
        )
        for method in methods
    )
    devices = sorted({record.device for record in selection.records if record.train_seconds is not None})
    notes = [f"Average over {len(complete)} datasets. Trained on: {', '.join(devices)}."]
    together = sorted({record.together or 1 for record in selection.records if record.train_seconds is not None})
    if together[-1] > 1:
        notes.append(f"Up to {together[-1]} splits trained together; seconds are theirs divided by their number.")
    if compare:
        notes.append("The paper's: averages over its 32 datasets on a 2.60 GHz CPU.")
    return ResultTable("Training seconds", _titles(methods), (TableRow("Seconds", cells, 1),), tuple(notes), compare)


def ranks_table(selection: Selection, auc: AucKind) -> tuple[ResultTable, AverageRanks, list[str]]:
    """Average ranks of the compared methods, best first; with the test behind them, and the methods in that order."""
    names, ranks = rank_selection(selection, auc)
    order = np.argsort(ranks.average, kind="stable")
    ranked = [names[place] for place in order]
    cells = tuple(TableCell(float(ranks.average[place])) for place in order)
    notes = (
        f"Over {ranks.n_datasets} datasets. Friedman test: p = {ranks.p_value:.2g}.",
        f"AverageRanks that differ by less than {ranks.distance:.2f} are not told apart (Nemenyi, 5 %).",
    )
    return ResultTable("Average ranks", _titles(ranked), (TableRow("Rank", cells, 2),), notes), ranks, ranked


def rank_selection(selection: Selection, auc: AucKind) -> tuple[list[str], AverageRanks]:
    """The compared methods and their ranks over the datasets where all have figures."""
    means = {key: float(np.mean(list(values.values()))) for key, values in selection.aucs(auc).items()}
    methods = [name for name in order_methods(selection.methods) if name not in paper.TABLE2_METHODS[1:]]
    complete = _complete(means, order_datasets(selection.datasets), methods)
    if len(methods) < 2 or len(complete) < 2:
        raise InputError(
            f"{len(methods)} methods with figures on {len(complete)} common datasets; ranks need two of each at least"
        )
    return methods, rank_methods(np.array([[means[d, m] for m in methods] for d in complete]))


def _of_methods(scores: Scores, methods: Sequence[str]) -> Scores:
    return {key: by_split for key, by_split in scores.items() if key[1] in methods}


def _complete(means: Means, datasets: Sequence[str], methods: Sequence[str], in_paper: bool = False) -> list[str]:
    """Datasets where all methods that have figures at all have one."""
    known = {dataset for dataset, _ in paper.table1()}
    run = [method for method in methods if any(name == method for _, name in means)]
    return [
        name for name in datasets if all((name, method) in means for method in run) and (name in known or not in_paper)
    ]


def _average_row(means: Means, complete: Sequence[str], methods: Sequence[str], compare: bool) -> TableRow:
    theirs, cells = paper.table1(), []
    for method in methods:
        ours = [means[dataset, method] for dataset in complete if (dataset, method) in means]
        printed = [theirs[dataset, method] for dataset in complete if (dataset, method) in theirs]
        cells.append(
            TableCell(
                float(np.mean(ours)) if ours else None, paper=float(np.mean(printed)) if compare and printed else None
            )
        )
    best = max((cell.value for cell in cells if cell.value is not None), default=None)
    marked = (replace(cell, best=cell.value is not None and cell.value == best) for cell in cells)
    return TableRow("Average", tuple(marked), summary=True)


def _best_row(bests: Mapping[str, int], means: Means) -> TableRow:
    run = {method for _, method in means}
    cells = (
        TableCell(float(n), n == max(bests.values())) if method in run else TableCell() for method, n in bests.items()
    )
    return TableRow("#Best", tuple(cells), 0, summary=True)


def _difference_row(means: Means, methods: Sequence[str]) -> TableRow:
    cells = []
    for method in methods:
        gaps = [
            abs(means[key] - printed) for key, printed in paper.table1().items() if key in means and key[1] == method
        ]
        cells.append(TableCell(float(np.mean(gaps)) if gaps else None))
    return TableRow("Mean |difference|", tuple(cells), summary=True)


def _notes(selection: Selection, auc: AucKind, scores: Scores) -> list[str]:
    """What a reader must know to trust the table."""
    notes = [f"AUC with ties as {'a loss (Eq. 8)' if auc == 'strict' else 'a half'}."]
    most = max(len(values) for values in scores.values())
    few = sum(len(values) < most for values in scores.values())
    notes.append(f"Means over {most} splits{f'; {few} cells over fewer' if few else ''}.")
    if selection.n_failed:
        notes.append(f"{selection.n_failed} failed runs are left out.")
    versions = sorted({record.code_version for record in selection.records})
    if len(versions) > 1:
        notes.append(f"Runs of several versions of the code: {', '.join(versions)}.")
    return notes


def _require(found: Sequence[str], selection: Selection) -> None:
    if not found:
        raise InputError(
            f"no figures for this table: {len(selection.records)} finished and {selection.n_failed} failed runs with "
            "these settings, and no dataset where all methods have one"
        )


def _titles(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(method_title(method) for method in methods)
