"""The model that ships, through the detector as people use it: scored rows and fits beside other detectors.

`python -m benchmarks.shipped` compares on fewer rows and prints where the time goes; it writes no report.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from benchmarks.models import M, support, untrained_model
from benchmarks.profiles import print_functions
from benchmarks.timing import Verdict, in_turn
from oddshot.adapted.onnx_export.writing import to_onnx
from oddshot.adapted.task import AdaptedTask
from oddshot.detector import FewShotDetector
from oddshot.methods.contract import CHUNK_ROWS

ROWS, FITTED_ON, FEW, MANY = 1_000_000, 1_000, 200, 1_000
FOREST_ROWS, SVM_ROWS = 200_000, 20_000  # that the others are timed on at most; their times are scaled
PROFILED_ROWS, GRAPH_ROWS = 65_536, 20_480
REPEATS = 5


def task(n_unlabelled: int, n_labelled: int = 6, n_columns: int = M) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Labelled rows, a sixth of them anomalies, and unlabelled ones."""
    X, y = support(n_labelled, n_columns)
    others = np.random.default_rng(3).normal(size=(n_unlabelled, n_columns))
    return np.concatenate([X, others]), np.append(y, np.full(n_unlabelled, -1, np.int8))


def score_verdicts(n_rows: int) -> list[Verdict]:
    """So many rows, against scikit-learn's detectors."""
    X = np.random.default_rng(2).normal(size=(n_rows, M))
    labels_only, helped = (FewShotDetector().fit(*task(n)) for n in (0, FEW))
    forest = IsolationForest(n_estimators=100, random_state=0).fit(X[:FITTED_ON])
    svm = OneClassSVM().fit(X[:FITTED_ON])
    works = [partial(one.decision_function, X) for one in (labels_only, helped)]
    works += [partial(forest.score_samples, X[:FOREST_ROWS]), partial(svm.score_samples, X[:SVM_ROWS])]
    ours, with_unlabelled, of_forest, of_svm = in_turn(*works, repeats=REPEATS)
    of_forest, of_svm = of_forest * n_rows / min(n_rows, FOREST_ROWS), of_svm * n_rows / SVM_ROWS
    what = f"the model that ships, scoring {n_rows:,} rows × {M} on one core"
    figures = (
        (f"{what}: times faster than IsolationForest(100 trees)", of_forest / ours, 2.0),
        (f"{what}: times faster than OneClassSVM", of_svm / ours, 15.0),
        (f"{what}, {FEW} unlabelled: times faster than IsolationForest(100 trees)", of_forest / with_unlabelled, 1.5),
    )
    return [Verdict(name, ratio, target, ratio >= target) for name, ratio, target in figures]


def fit_verdicts() -> list[Verdict]:
    """Fits, against `eigen` with the paper's networks and in milliseconds."""
    detectors = [FewShotDetector(untrained_model()), *(FewShotDetector() for _ in range(3))]
    tasks = [task(n) for n in (0, 0, FEW, MANY)]
    works = [partial(detector.fit, *rows) for detector, rows in zip(detectors, tasks, strict=True)]
    eigen, labels_only, few, many = in_turn(*works, repeats=20)
    figures = (
        (f"the model that ships, a fit on 6 rows × {M}: times eigen's", labels_only / eigen, 2.0),
        (f"the model that ships, a fit with {FEW:,} unlabelled rows × {M}: milliseconds", few * 1e3, 10.0),
        (f"the model that ships, a fit with {MANY:,} unlabelled rows × {M}: milliseconds", many * 1e3, 30.0),
    )
    return [Verdict(name, ratio, target, ratio <= target) for name, ratio, target in figures]


def graph_verdicts() -> list[Verdict]:
    """Chunks of encoded rows scored by onnxruntime through the exported graph, against NumPy: above 1 it would pay."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    found = []
    for n_unlabelled in (0, FEW):
        adapted = FewShotDetector().fit(*task(n_unlabelled)).task_
        session = onnxruntime.InferenceSession(to_onnx(adapted), options, providers=["CPUExecutionProvider"])
        X = np.random.default_rng(2).normal(size=(GRAPH_ROWS, M))
        chunks = [X[start : start + CHUNK_ROWS] for start in range(0, GRAPH_ROWS, CHUNK_ROWS)]

        ours, graph = in_turn(partial(_score_in_numpy, adapted, X), partial(_score_in_graph, session, chunks))
        what = f"the model that ships, {n_unlabelled} unlabelled: times as fast through its ONNX graph as in NumPy"
        found.append(Verdict(what, ours / graph, 1.0, ours >= graph))
    return found


def _score_in_numpy(adapted: AdaptedTask, X: NDArray[np.float64]) -> None:
    adapted.score_as_new(adapted.encoding.transform(X))


def _score_in_graph(session: Any, chunks: list[NDArray[np.float64]]) -> None:
    for chunk in chunks:
        session.run(["scores"], {"rows": chunk})


def run() -> list[Verdict]:
    return [*score_verdicts(ROWS), *fit_verdicts(), *graph_verdicts()]


def main() -> None:
    for verdict in (*score_verdicts(PROFILED_ROWS), *fit_verdicts()):
        print(f"{verdict.ratio:8.2f}  {verdict.name}")
    X = np.random.default_rng(2).normal(size=(PROFILED_ROWS, M))
    for n_unlabelled in (0, FEW):
        rows = task(n_unlabelled)
        detector = FewShotDetector().fit(*rows)
        print_functions(f"Scoring {len(X):,} rows × {M}, {n_unlabelled} unlabelled", partial(detector.score_samples, X))
        print_functions(f"A fit on 6 rows, {n_unlabelled} unlabelled", partial(detector.fit, *rows))


if __name__ == "__main__":
    main()
