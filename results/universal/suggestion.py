"""What a session of labelling finds: rows asked for one at a time, by `detector.suggest` and in other ways.

    python results/universal/suggestion.py DATA_DIR TABLES.npz

One table of each source among the tables for choosing, at most 800 normal rows, a tenth as many anomalies. A third of
both is set aside for the AUC; the others are given to `fit`, unlabelled but for what has been asked. Sessions start
with no label, one anomaly, or five normal rows; as long as no normal row is labelled, the row nearest to the median is
asked for, as in the app. Writes suggestion.csv beside this file: the share of the anomalies found after 10, 20 and 50
questions, and the AUC then. About fifteen minutes on two cores.
"""

import argparse
import itertools
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from oddshot import FewShotDetector
from oddshot.bench.decisions.runner import tables_of_sources
from oddshot.bench.field.tables import FieldTable, load_keel_tables, load_paper_tables, select_split

HERE = Path(__file__).parent
STARTS, CHOICES, QUESTIONS = (
    ("no label", "one anomaly", "five normal rows"),
    ("suggest", "highest", "random"),
    (10, 20, 50),
)
MAX_NORMAL, ANOMALY_SHARE, N_DRAWS = 800, 0.1, 2
FloatArray = NDArray[np.float64]
Job = tuple[FieldTable, str, str, int]


def split_rows(table: FieldTable, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the rows that are tested, and of those that may be asked for."""
    normal, anomaly = (rng.permutation(np.flatnonzero(table.y == label)) for label in (0, 1))
    normal = normal[:MAX_NORMAL]
    anomaly = anomaly[: max(round(ANOMALY_SHARE * len(normal)), 5)]
    parts = (np.split(rows, [max(len(rows) // 3, 2)]) for rows in (normal, anomaly))
    tested, asked = (np.concatenate(part) for part in zip(*parts, strict=True))
    return tested, rng.permutation(asked)


def first_labels(start: str, y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels at the start, -1 for rows without one."""
    known = np.full(len(y), -1)
    if start == "one anomaly":
        known[np.flatnonzero(y == 1)[0]] = 1
    elif start == "five normal rows":
        known[np.flatnonzero(y == 0)[:5]] = 0
    return known


def run_session(job: Job) -> list[tuple[str, str, str, int, int, float, float]]:
    """Table, start, choice, draw, number of questions, share of the anomalies found, AUC of the rows set aside."""
    table, start, choice, draw = job
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rng = np.random.default_rng([draw, 7])
    tested, asked = split_rows(table, rng)
    X, y = table.X[asked], table.y[asked].astype(np.int64)
    known, found = first_labels(start, y), []
    n_known = int((known == 1).sum())
    from_median = np.nanmean(
        ((X - np.nanmedian(X, axis=0)) / np.where((s := np.nanstd(X, axis=0)) > 0, s, 1)) ** 2, axis=1
    )
    for k in range(max(QUESTIONS) + 1):
        rest = np.flatnonzero(known == -1)
        detector = FewShotDetector().fit(X, known) if (known == 0).any() else None
        if k in QUESTIONS and detector is not None:
            share = ((known == 1).sum() - n_known) / ((y == 1).sum() - n_known)
            auc = roc_auc_score(table.y[tested], detector.score_samples(table.X[tested]))
            found.append((table.name, start, choice, draw, k, float(share), float(auc)))
        if detector is None:
            row = rest[from_median[rest].argmin()]
        elif choice == "suggest":
            row = rest[detector.suggest(X[rest])[0]]
        else:
            row = rest[detector.score_samples(X[rest]).argmax()] if choice == "highest" else rng.choice(rest)
        known[row] = y[row]
    return found


def main() -> None:
    """Run all sessions and write their means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir")
    parser.add_argument("tables", type=Path)
    arguments = parser.parse_args()
    tables = select_split(
        [*load_paper_tables(arguments.data_dir, None), *load_keel_tables(arguments.tables)], "choosing"
    )
    jobs = list(itertools.product(tables_of_sources(tables, 1), STARTS, CHOICES, range(N_DRAWS)))
    with ProcessPoolExecutor() as pool:
        rows = [row for part in pool.map(run_session, jobs) for row in part]
    frame = pd.DataFrame(rows, columns=["table", "start", "choice", "draw", "questions", "found", "auc"])
    means = frame.groupby(["start", "choice", "questions"])[["found", "auc"]].mean().round(4)
    means.to_csv(HERE / "suggestion.csv", lineterminator="\n")
    print(means.unstack("questions").to_string())


if __name__ == "__main__":
    main()
