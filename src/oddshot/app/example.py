"""The built-in example: scikit-learn's wine table, two cultivars of a region and a few bottles of a third one."""

import hashlib

import numpy as np
import pyarrow as pa

from oddshot.app.sheet import Sheet, make_sheet
from oddshot.storage.model_file import Model

FOREIGN, N_FOREIGN = 1, 15  # the cultivar that lies between the others: no single measurement gives it away
NAME = "Example: wines, 15 of 122 from another cultivar"


def example_sheet(model: Model) -> Sheet:
    """122 rows in random order with 13 measurements each; which ones are foreign is kept from the detector."""
    from sklearn.datasets import load_wine

    data = load_wine()
    rng = np.random.default_rng(0)
    foreign = rng.permutation(np.flatnonzero(data.target == FOREIGN))[:N_FOREIGN]
    kept = rng.permutation(np.concatenate([np.flatnonzero(data.target != FOREIGN), foreign]))
    X = data.data[kept]
    names = [str(name).replace("/", " / ").replace("_", " ") for name in data.feature_names]
    table = pa.table({name: X[:, j] for j, name in enumerate(names)})
    truth = (data.target[kept] == FOREIGN).astype(np.int8)
    return make_sheet(table, NAME, hashlib.sha256(X.tobytes()).hexdigest(), model, truth)
