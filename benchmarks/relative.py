"""`relative` beside `eigen` at the same width: what a fit costs, and a scored row without and with unlabelled rows."""

import numpy as np

from benchmarks.models import support, untrained, untrained_model
from benchmarks.timing import Verdict, in_turn
from oddshot.detector import FewShotDetector
from oddshot.methods.relative import Relative, RelativeConfig
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model

ROWS, UNLABELLED = 50_000, 200
TARGET = 3.0


def untrained_relative(n_attributes: int) -> Model:
    method = untrained(Relative, n_attributes, RelativeConfig())
    return Model(method, untrained_model(n_attributes).encoding, DEFAULT_THRESHOLD)


def compare(n_attributes: int) -> list[tuple[str, float]]:
    """What is compared, and how many times `eigen` it costs."""
    X, y = support(n_attributes=n_attributes)
    rng = np.random.default_rng(2)
    more = np.concatenate([X, rng.normal(size=(UNLABELLED, n_attributes))])
    detectors = [FewShotDetector(build(n_attributes)) for build in (untrained_model, untrained_relative)]
    fits = in_turn(*(lambda one=one: one.fit(X, y) for one in detectors), repeats=30)
    helped = FewShotDetector(untrained_relative(n_attributes)).fit(more, np.append(y, np.full(UNLABELLED, -1)))
    rows = rng.normal(size=(ROWS, n_attributes)).astype(np.float32)
    scores = in_turn(*(lambda one=one: one.task_.score_encoded(rows) for one in (*detectors, helped)), repeats=3)
    return [
        (f"relative: a fit on 6 rows of {n_attributes} columns, times eigen's", fits[1] / fits[0]),
        (f"relative: a scored row of {n_attributes} columns, times eigen's", scores[1] / scores[0]),
        (f"relative + {UNLABELLED} unlabelled: the same, {n_attributes} columns", scores[2] / scores[0]),
    ]


def run() -> list[Verdict]:
    found = [one for width in (21, 100) for one in compare(width)]
    return [Verdict(name, ratio, TARGET, ratio <= TARGET) for name, ratio in found]
