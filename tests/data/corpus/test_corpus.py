"""The corpus reads as a person would read it, and ranks as well as the tables prepared by hand."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.metrics import roc_auc_score

from oddshot import FewShotDetector, load_universal
from oddshot.adapted.task import find_encoding
from oddshot.data.tables import read_table, stream_table
from tests.data.corpus import CASES, HostileTable, make_case
from tests.data.corpus.making import NOT_USED

MIN_RIGHT_KINDS, MAX_AUC_LOSS = 0.95, 0.02

WRONG_KINDS = {
    ("postal codes", "zip"): "digits are read as a number, also with zeros in front",
}
"""Columns that are not read as a person would read them, and why."""

LOST_AUC: dict[str, str] = {}
"""Tables that rank worse than those prepared by hand, and why."""


def write_table(table: HostileTable, folder: Path, rows: range, name: str) -> Path:
    path = folder / f"{name}{table.suffix}"
    columns = {name: [cells[i] for i in rows] for name, cells in table.columns.items()}
    if table.suffix == ".parquet":
        arrow = pa.table(columns)
        pyarrow.parquet.write_table(arrow, path)
    elif table.suffix == ".jsonl":
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
        path.write_text("\n".join(lines))
    else:
        lines = [list(columns), *zip(*columns.values(), strict=True)]
        text = "\n".join(table.delimiter.join(quoted(cell, table.delimiter) for cell in line) for line in lines) + "\n"
        packed = pa.output_stream(path, compression="detect")
        packed.write(text.encode(table.encoding))
        packed.close()
    return path


def quoted(cell: Any, delimiter: str) -> str:
    text = "" if cell is None else str(cell)
    return f'"{text}"' if delimiter in text else text


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, str], float, float]]:
    """For each case the kinds that were recognised, the AUC, and that of the table prepared by hand."""
    folder, out = tmp_path_factory.mktemp("corpus"), {}
    for i, name in enumerate(CASES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out[name] = measure(make_case(name), folder, f"t{i}")
    return out


def measure(table: HostileTable, folder: Path, name: str) -> tuple[dict[str, str], float, float]:
    n_rows, model, known = len(table.truth), load_universal(), table.labels >= 0
    n_given = int(known.sum()) if table.apart else n_rows
    given = read_table(write_table(table, folder, range(n_given), f"{name}-support"))
    context = []
    if table.apart:
        rest = write_table(table, folder, range(n_given, n_rows), name)
        context = [next(stream_table(rest, 1000))]
    encoding = find_encoding(model, given, table.labels[:n_given], None, context)
    detector = FewShotDetector(model, columns=encoding).fit(given, table.labels[:n_given])
    by_hand = FewShotDetector(model).fit(table.prepared[:n_given], table.labels[:n_given])
    if table.apart:
        chunks = stream_table(rest, kinds=encoding.stored_kinds)
        scores = np.concatenate([detector.score_samples(chunk) for chunk in chunks])
        expected = by_hand.score_samples(table.prepared[n_given:])
    else:
        scores, expected = detector.decision_scores_[~known], by_hand.decision_scores_[~known]
    truth = table.truth[~known]
    kinds = {column: encoding.kinds.get(column, NOT_USED) for column in table.kinds}
    return kinds, float(roc_auc_score(truth, scores)), float(roc_auc_score(truth, expected))


Results = dict[str, tuple[dict[str, str], float, float]]


def test_there_are_at_least_60_tables() -> None:
    assert len(CASES) >= 60


def test_kinds_are_those_that_a_person_sees(results: Results) -> None:
    wrong = {
        (name, column): kinds[column]
        for name, (kinds, _, _) in results.items()
        for column, kind in make_case(name).kinds.items()
        if kinds[column] != kind
    }
    n_columns = sum(len(kinds) for kinds, _, _ in results.values())
    print(f"{len(CASES)} tables, {n_columns} columns, {n_columns - len(wrong)} kinds right")
    assert wrong.keys() == WRONG_KINDS.keys(), wrong
    # The four plain columns of most tables are easy; the others are what a table is about.
    special = [
        (name, column) for name, (kinds, _, _) in results.items() for column in kinds if is_special(name, column)
    ]
    assert 1 - sum(pair in wrong for pair in special) / len(special) >= MIN_RIGHT_KINDS


def is_special(name: str, column: str) -> bool:
    return name.startswith(("numbers", "missing", "a German")) or not column.startswith("c") or len(column) > 2


def test_no_table_ranks_much_worse_than_prepared_by_hand(results: Results) -> None:
    lost = {name: (auc, by_hand) for name, (_, auc, by_hand) in results.items() if auc < by_hand - MAX_AUC_LOSS}
    worst = min(auc - by_hand for _, auc, by_hand in results.values())
    mean = np.mean([[auc, by_hand] for _, auc, by_hand in results.values()], axis=0)
    print(f"AUC {mean[0]:.3f}, by hand {mean[1]:.3f}, largest loss {-worst:.3f}")
    assert lost.keys() == LOST_AUC.keys(), lost
