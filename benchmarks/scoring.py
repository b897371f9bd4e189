"""Scoring a million rows, against scikit-learn's detectors and against the bare matrix products."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from benchmarks.models import M, fitted_detector
from benchmarks.timing import Verdict, in_turn
from oddshot.adapted.chunks import n_cores, one_blas_thread
from oddshot.detector import FewShotDetector
from oddshot.methods.scores import PreparedNetwork

N_ROWS, FITTED_ON, REPEATS = 1_000_000, 1_000, 5
# Name, detector with its own defaults, rows that it is timed on, how many times faster ours should be.
OTHERS = [
    ("IsolationForest(100 trees)", IsolationForest(n_estimators=100, random_state=0), 100_000, 4.0),
    ("OneClassSVM", OneClassSVM(), 20_000, 10.0),
    ("LocalOutlierFactor", LocalOutlierFactor(novelty=True), 20_000, 10.0),
]


def products(detector: FewShotDetector, X: NDArray[np.float32]) -> Callable[[], None]:
    """The matrix products of the prepared score over all rows, nothing else: in its chunks and threads."""
    prepared = detector.task_.prepared
    assert isinstance(prepared, PreparedNetwork)
    step, n_threads = prepared.chunk_rows, n_cores()
    weights = [*prepared.weights, prepared.P]
    blocks = np.array_split(X, 8 * n_threads)

    def multiply(block: NDArray[np.float32]) -> None:
        outs = [np.empty((step, W.shape[1]), np.float32) for W in weights]
        for start in range(0, len(block), step):
            x = block[start : start + step]
            for W, out in zip(weights, outs, strict=True):
                x = np.matmul(x, W, out=out[: len(x)])

    def run() -> None:
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(multiply, blocks))

    return run


def run() -> list[Verdict]:
    detector, X = fitted_detector(), np.random.default_rng(2).normal(size=(N_ROWS, M))
    encoded = detector.encoding_.transform(X)
    works: list[Callable[[], object]] = [
        products(detector, encoded),
        lambda: detector.task_.score_encoded(encoded),
        lambda: detector.score_samples(X),
    ]
    works += [partial(other.fit(X[:FITTED_ON]).score_samples, X[:n]) for _, other, n, _ in OTHERS]
    bare, rate, ours, *theirs = in_turn(*works, repeats=REPEATS)
    share, what = bare / rate, f"scoring {N_ROWS:,} rows × {M} on one core"
    verdicts = [Verdict(f"{what}: share of the matrix-product rate", share, 0.8, share >= 0.8)]
    for (name, _, n, target), seconds in zip(OTHERS, theirs, strict=True):
        faster = seconds * N_ROWS / n / ours
        label = f"{what}: times faster than {name}, timed on {n:,} rows and scaled"
        verdicts.append(Verdict(label, faster, target, faster >= target))
    return verdicts
