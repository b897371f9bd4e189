"""The paper's Tables 1, 2 and 3, ablations of `relative` and average ranks, computed from finished runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshot.bench import paper
from oddshot.bench.paper import dataset_title, method_title, order_datasets, order_methods
from oddshot.bench.record import AucKind
from oddshot.bench.selection import ScoresBySplit, Selection
from oddshot.bench.significance import AverageRanks, best_or_equal, rank_methods
from oddshot.errors import InputError

Means = Mapping[tuple[str, str], float]  # (dataset, method) -> mean over splits


@dataclass(frozen=True)
class TableCell:
    """A value, whether it is set in bold, and the paper's value for comparison."""

    value: float | None = None
    best: bool = False
    paper: float | None = None

    @property
    def difference(self) -> float | None:
        """The value minus the paper's."""
        return None if self.value is None or self.paper is None else self.value - self.paper


@dataclass(frozen=True)
class TableRow:
    """A row of a table. digits: decimal places. summary: whether the row belongs below the rule."""

    title: str
    cells: tuple[TableCell, ...]
    digits: int = 3
    summary: bool = False


@dataclass(frozen=True)
class ResultTable:
    """A table in no particular output format; `render` formats it.

    columns: titles of the methods. compared: whether cells have the paper's values.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    compared: bool = False


def table1(selection: Selection, auc: AucKind, *, compare: bool = False) -> ResultTable:
    """Test AUC by dataset and method; bold: not different from the best at 5 % (paired t-test over splits).

    Requested datasets and methods have a row or column even where there are no runs of them. compare: with the paper's
    values.
    """
    shown = order_methods(selection.methods | selection.requested_methods)
    methods = [name for name in shown if name not in paper.ABLATIONS]
    scores = _of_methods(selection.aucs(auc), methods)
    with_scores = {dataset for dataset, _ in scores}
    _require_datasets(sorted(with_scores), selection)
    datasets = order_datasets(with_scores | selection.requested_datasets)
    means = _means(scores)
    rows, n_best = _dataset_rows(scores, datasets, methods, paper.table1() if compare else {})
    complete = _complete_datasets(means, datasets, methods, in_paper=compare)
    rows.append(_average_row(means, complete, methods, compare))
    rows.append(_best_count_row(n_best, means))
    if compare:
        rows.append(_difference_row(means, methods))
    of_paper = " of the paper" if compare else ""
    notes = [f"Average over {_datasets(complete)}{of_paper}, those with figures of all methods that were run."]
    notes += ["A cell has this run, the paper, and the difference."] * compare
    notes += _notes(selection, auc, scores)
    return ResultTable("Test AUC on target tasks", _titles(methods), tuple(rows), tuple(notes), compare)


def table2(selection: Selection, auc: AucKind, *, compare: bool = False) -> ResultTable:
    """Ablation: test AUC by dataset, and its mean over the datasets on which all variants were run.

    compare: with the paper's means.
    """
    table = _ablation_table("Ablation: test AUC", paper.TABLE2_METHODS, selection, auc, paper.TABLE2 if compare else {})
    if not compare:
        return table
    notes = (*table.notes, "The paper's figures are averages over its 32 datasets.")
    return replace(table, notes=notes, compared=True)


def relative_table(selection: Selection, auc: AucKind) -> ResultTable:
    """The same for `relative` and its ablations, which the paper does not have."""
    return _ablation_table("Ablation of relative: test AUC", paper.RELATIVE_METHODS, selection, auc, {})


def table3(selection: Selection, *, compare: bool = False) -> ResultTable:
    """Mean training seconds of a split, over the datasets on which all methods were run."""
    means = _means(selection.train_seconds())
    trained = order_methods({method for _, method in means})
    others = {*paper.METHOD_TITLES, *paper.ABLATIONS} - {*paper.TABLE3_METHODS}
    methods = [name for name in trained if name not in others]
    complete = _complete_datasets(means, order_datasets(selection.datasets), methods)
    _require_datasets(complete if methods else [], selection)
    cells = tuple(
        TableCell(
            float(np.mean([means[dataset, method] for dataset in complete])),
            paper=paper.TABLE3.get(method) if compare else None,
        )
        for method in methods
    )
    timed = [record for record in selection.records if record.train_seconds is not None]
    devices = sorted({record.device for record in timed})
    notes = [f"Average over {_datasets(complete)}. Trained on: {', '.join(devices)}."]
    max_together = max(record.together or 1 for record in timed)
    if max_together > 1:
        notes.append(f"Up to {max_together} splits trained together; seconds are theirs divided by their number.")
    if compare:
        notes.append("The paper's: averages over its 32 datasets on a 2.60 GHz CPU.")
    rows = (TableRow("Seconds", cells, digits=1),)
    return ResultTable("Training seconds", _titles(methods), rows, tuple(notes), compare)


def ranks_table(selection: Selection, auc: AucKind) -> ResultTable:
    """Average ranks of the methods, best first, with the Friedman and Nemenyi tests in the notes."""
    names, ranks = rank_selection(selection, auc)
    order = np.argsort(ranks.average, kind="stable")
    cells = tuple(TableCell(float(ranks.average[index])) for index in order)
    notes = (
        f"Over {ranks.n_datasets} datasets. Friedman test: p = {ranks.p_value:.2g}.",
        f"Ranks that differ by less than {ranks.critical_difference:.2f} are not told apart (Nemenyi, 5 %).",
    )
    columns = _titles([names[index] for index in order])
    return ResultTable("Average ranks", columns, (TableRow("Rank", cells, digits=2),), notes)


def rank_selection(selection: Selection, auc: AucKind) -> tuple[list[str], AverageRanks]:
    """The methods other than ablations, and their ranks over the datasets on which all of them were run."""
    means = _means(selection.aucs(auc))
    methods = [name for name in order_methods(selection.methods) if name not in paper.ABLATIONS]
    complete = _complete_datasets(means, order_datasets(selection.datasets), methods)
    if len(methods) < 2 or len(complete) < 2:
        raise InputError(
            f"{len(methods)} methods with figures on {len(complete)} common datasets; ranks need two of each at least"
        )
    return methods, rank_methods(np.array([[means[d, m] for m in methods] for d in complete]))


def _ablation_table(
    title: str, methods: Sequence[str], selection: Selection, auc: AucKind, printed: Mapping[str, float]
) -> ResultTable:
    """Test AUC by dataset and variant. printed: means that others have published, by variant."""
    methods = [name for name in methods if name in selection.methods]
    scores = _of_methods(selection.aucs(auc), methods)
    means, datasets = _means(scores), order_datasets({dataset for dataset, _ in scores})
    complete = _complete_datasets(means, datasets, methods)
    _require_datasets(complete if methods else [], selection)
    rows, n_best = _dataset_rows(scores, datasets, methods, {})
    average = _average_row(means, complete, methods, compare=False)
    cells = (replace(cell, paper=printed.get(name)) for name, cell in zip(methods, average.cells, strict=True))
    rows += [replace(average, cells=tuple(cells)), _best_count_row(n_best, means)]
    notes = (
        f"Average over {_datasets(complete)}, those with figures of all variants.",
        *_notes(selection, auc, scores),
    )
    return ResultTable(title, _titles(methods), tuple(rows), notes)


def _dataset_rows(
    scores: ScoresBySplit, datasets: Sequence[str], methods: Sequence[str], printed: Means
) -> tuple[list[TableRow], dict[str, int]]:
    """A row for each dataset, and on how many of them each method is in bold. printed: the paper's values."""
    means, rows, n_best = _means(scores), [], np.zeros(len(methods), dtype=int)
    for dataset in datasets:
        best = best_or_equal([scores.get((dataset, method), {}) for method in methods])
        n_best += best
        cells = (
            TableCell(means.get((dataset, method)), bold, printed.get((dataset, method)))
            for method, bold in zip(methods, best, strict=True)
        )
        rows.append(TableRow(dataset_title(dataset), tuple(cells)))
    return rows, dict(zip(methods, n_best.tolist(), strict=True))


def _of_methods(scores: ScoresBySplit, methods: Sequence[str]) -> ScoresBySplit:
    return {key: by_split for key, by_split in scores.items() if key[1] in methods}


def _means(scores: ScoresBySplit) -> dict[tuple[str, str], float]:
    return {key: float(np.mean(list(by_split.values()))) for key, by_split in scores.items()}


def _complete_datasets(
    means: Means, datasets: Sequence[str], methods: Sequence[str], in_paper: bool = False
) -> list[str]:
    """Datasets on which all methods were run, apart from methods without any run. in_paper: only those of Table 1."""
    of_paper = {dataset for dataset, _ in paper.table1()}
    run = [method for method in methods if any(name == method for _, name in means)]
    return [
        name
        for name in datasets
        if all((name, method) in means for method in run) and (name in of_paper or not in_paper)
    ]


def _average_row(means: Means, complete: Sequence[str], methods: Sequence[str], compare: bool) -> TableRow:
    """Means over the complete datasets."""
    paper_aucs, cells = paper.table1(), []
    for method in methods:
        ours = [means[dataset, method] for dataset in complete if (dataset, method) in means]
        theirs = [paper_aucs[dataset, method] for dataset in complete if (dataset, method) in paper_aucs]
        cells.append(
            TableCell(
                float(np.mean(ours)) if ours else None, paper=float(np.mean(theirs)) if compare and theirs else None
            )
        )
    best = max((cell.value for cell in cells if cell.value is not None), default=None)
    marked = (replace(cell, best=cell.value is not None and cell.value == best) for cell in cells)
    return TableRow("Average", tuple(marked), summary=True)


def _best_count_row(n_best: Mapping[str, int], means: Means) -> TableRow:
    """On how many datasets each method is in bold."""
    run = {method for _, method in means}
    cells = tuple(
        TableCell(float(n), n == max(n_best.values())) if method in run else TableCell() for method, n in n_best.items()
    )
    return TableRow("#Best", cells, digits=0, summary=True)


def _difference_row(means: Means, methods: Sequence[str]) -> TableRow:
    """Mean absolute differences from the paper's Table 1."""
    cells = []
    for method in methods:
        differences = [
            abs(means[key] - printed) for key, printed in paper.table1().items() if key in means and key[1] == method
        ]
        cells.append(TableCell(float(np.mean(differences)) if differences else None))
    return TableRow("Mean |difference|", tuple(cells), summary=True)


def _notes(selection: Selection, auc: AucKind, scores: ScoresBySplit) -> list[str]:
    """How the AUC counts ties, numbers of splits and failed runs, and versions of the code."""
    notes = [f"In the AUC, a tie counts as {'an error (Eq. 8)' if auc == 'strict' else 'one half'}."]
    n_splits = max(len(by_split) for by_split in scores.values())
    n_fewer = sum(len(by_split) < n_splits for by_split in scores.values())
    fewer = f"; {n_fewer} cell{'s' * (n_fewer != 1)} over fewer" if n_fewer else ""
    notes.append(f"Means over {n_splits} split{'s' * (n_splits != 1)}{fewer}.")
    if selection.n_failed:
        notes.append(f"{selection.n_failed} failed runs are left out.")
    versions = sorted({record.code_version for record in selection.records})
    if len(versions) > 1:
        notes.append(f"Runs of several versions of the code: {', '.join(versions)}.")
    return notes


def _datasets(datasets: Sequence[str]) -> str:
    return f"{len(datasets)} dataset{'s' * (len(datasets) != 1)}"


def _require_datasets(datasets: Sequence[str], selection: Selection) -> None:
    if not datasets:
        raise InputError(
            f"no figures for this table: {len(selection.records)} finished and {selection.n_failed} failed runs with "
            "these settings, and no dataset where all methods have one"
        )


def _titles(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(method_title(method) for method in methods)
