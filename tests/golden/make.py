"""Makes the golden file of format 1 (python -m tests.golden.make): never again once a release has written it."""

import json
from pathlib import Path

import numpy as np

from oddshot import FewShotDetector, meta_train
from oddshot.data.files import write_bytes
from tests.fleets import SHORT, SIZES, fleet, labels, mixed

HERE = Path(__file__).parent
MODEL, SCORES = HERE / "format1.safetensors", HERE / "format1.json"


def main():
    model = meta_train(fleet(mixed), method="relative", sizes=SIZES, training=SHORT, device="cpu", units=8)
    model.save(MODEL)
    support, rows = mixed(100, 6), mixed(101, 12)
    detector = FewShotDetector(model).fit(support, labels(6))
    expected = {
        "support": columns(support),
        "labels": labels(6).tolist(),
        "rows": columns(rows),
        "scores": detector.score_samples(rows).tolist(),
        "threshold": detector.threshold_,
        "predictions": detector.predict(rows).tolist(),
    }
    write_bytes(SCORES, (json.dumps(expected, indent=1) + "\n").encode())


def columns(table):
    """Lists of plain values, null where a cell is missing and dates as text."""
    table = table.assign(seen=table["seen"].dt.strftime("%Y-%m-%d %H:%M:%S"))
    return {name: [None if missing(cell) else cell for cell in table[name].tolist()] for name in table}


def missing(cell):
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


if __name__ == "__main__":
    main()
