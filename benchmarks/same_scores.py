"""Whether a change of the insides changes the scores of the model that ships, on datasets as they are.

python -m benchmarks.same_scores record FILE --data-dir DIR       (with the code before)
python -m benchmarks.same_scores compare FILE --data-dir DIR      (with the code after)
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot import FewShotDetector

SUPPORTS = ((5, 1), (20, 4))
N_UNLABELLED = (0, 200)
MAX_QUERIES = 1000
MAX_DIFFERENCE, MAX_SHARE_FLIPPED = 1e-4, 1e-3  # of the spread of the scores, and of the rows

FloatArray = NDArray[np.float64]


def scores(data_dir: Path) -> Iterator[tuple[str, FloatArray, NDArray[np.int64]]]:
    """Scores and predictions of new rows of every dataset, for supports with and without unlabelled rows."""
    for path in sorted(data_dir.glob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            X, y = file["X"].astype(np.float64), file["y"]
        rng = np.random.default_rng(0)
        normal, anomaly = (rng.permutation(np.flatnonzero(y == label)) for label in (0, 1))
        for n_normal, n_anomaly in SUPPORTS:
            for n_unlabelled in N_UNLABELLED:
                if len(anomaly) <= n_anomaly or len(normal) <= n_normal:
                    continue
                labelled = np.concatenate([normal[:n_normal], anomaly[:n_anomaly]])
                others = rng.permutation(np.concatenate([normal[n_normal:], anomaly[n_anomaly:]]))
                unlabelled, queries = others[:n_unlabelled], others[n_unlabelled : n_unlabelled + MAX_QUERIES]
                if len(queries) == 0:
                    continue
                rows = np.concatenate([labelled, unlabelled])
                labels = np.concatenate([y[labelled], np.full(len(unlabelled), -1)])
                detector = FewShotDetector().fit(X[rows], labels)
                found = detector.score_samples(X[queries])
                yield f"{path.stem} {n_normal}+{n_anomaly}+{len(unlabelled)}", found, detector.predict(X[queries])


def compare(file: Path, data_dir: Path) -> int:
    """Print what differs; the exit code."""
    worst, flipped, n_rows = 0.0, 0, 0
    with np.load(file, allow_pickle=False) as before:
        for name, found, predicted in scores(data_dir):
            old, old_predicted = before[f"{name} scores"], before[f"{name} predictions"]
            difference = float(np.abs(found - old).max() / old.std())
            worst, flipped = max(worst, difference), flipped + int((predicted != old_predicted).sum())
            n_rows += len(old)
            if difference > MAX_DIFFERENCE:
                print(f"{name}: scores differ by {difference:.1e} of their spread")
    print(f"{n_rows:,} scores: largest difference {worst:.1e} of the spread, {flipped} decisions differ")
    return int(worst > MAX_DIFFERENCE or flipped > MAX_SHARE_FLIPPED * n_rows)


def main() -> int:
    """The command line; its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("work", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.work == "compare":
        return compare(arguments.file, arguments.data_dir)
    found: dict[str, Any] = {}
    for name, values, predicted in scores(arguments.data_dir):
        found |= {f"{name} scores": values, f"{name} predictions": predicted}
    np.savez_compressed(arguments.file, **found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
