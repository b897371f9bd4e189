"""The built-in example: two cultivars of scikit-learn's wine data as normal rows, some of the third as anomalies."""

import hashlib

import numpy as np
import pyarrow as pa

from oddshot.app.sheet import Sheet, make_sheet
from oddshot.storage.model_file import Model

ANOMALOUS_CULTIVAR = 1  # it lies between the others: no single measurement separates it
N_ANOMALIES = 15
NAME = "Example: wines, 15 of 122 from another cultivar"


def example_sheet(model: Model) -> Sheet:
    """122 rows in random order with 13 measurements each, and their true labels, which the detector does not get."""
    from sklearn.datasets import load_wine

    data = load_wine()
    rng = np.random.default_rng(0)
    anomalies = rng.permutation(np.flatnonzero(data.target == ANOMALOUS_CULTIVAR))[:N_ANOMALIES]
    rows = rng.permutation(np.concatenate([np.flatnonzero(data.target != ANOMALOUS_CULTIVAR), anomalies]))
    X = data.data[rows]
    names = [str(name).replace("/", " / ").replace("_", " ") for name in data.feature_names]
    table = pa.table({name: X[:, j] for j, name in enumerate(names)})
    truth = (data.target[rows] == ANOMALOUS_CULTIVAR).astype(np.int8)
    return make_sheet(table, NAME, hashlib.sha256(X.tobytes()).hexdigest(), model, truth)
