"""The built-in example: cell nuclei from scikit-learn's breast cancer table, most benign, a few malignant."""

import hashlib

import numpy as np
import pyarrow as pa

from oddshot.app.sheet import Sheet, make_sheet
from oddshot.modelfile import Model

N_MALIGNANT = 40
NAME = "Example: cell nuclei, 40 of 397 malignant"


def example_sheet(model: Model) -> Sheet:
    """397 rows in random order with 30 measurements each; which ones are malignant is kept from the detector."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    rng = np.random.default_rng(0)
    malignant = rng.permutation(np.flatnonzero(data.target == 0))[:N_MALIGNANT]
    kept = rng.permutation(np.concatenate([np.flatnonzero(data.target == 1), malignant]))
    X = data.data[kept]
    table = pa.table({str(name): X[:, j] for j, name in enumerate(data.feature_names)})
    truth = (data.target[kept] == 0).astype(np.int8)
    return make_sheet(table, NAME, hashlib.sha256(X.tobytes()).hexdigest(), model, truth)
