"""Tables whose rows can be told from their values, and results that are made up."""

import numpy as np
import pandas as pd

from oddshot.bench.decisions.grid import RATES
from oddshot.bench.decisions.results import GRID_COLUMNS
from oddshot.bench.field.tables import FieldTable


def numbered_table(n_normal=1500, n_anomaly=300, name="made/0"):
    """Column 0 is the row's number, column 1 its label, column 2 is constant."""
    n = n_normal + n_anomaly
    y = np.random.default_rng(0).permutation(np.repeat([0, 1], [n_normal, n_anomaly])).astype(np.int8)
    X = np.column_stack([np.arange(n), y, np.full(n, 7)]).astype(float)
    return FieldTable(name, name.split("/")[0], "reporting", X, y)


def gaussian_table(name, n_normal=120, n_anomaly=30):
    """Anomalies are off in all of three columns."""
    rng = np.random.default_rng(len(name))
    y = np.repeat([0, 1], [n_normal, n_anomaly]).astype(np.int8)
    return FieldTable(name, name.split("/")[0], "reporting", rng.normal(size=(len(y), 3)) + 3 * y[:, None], y)


def made_up_summary(cells, **columns):
    """A row for every cell and rate. cells: (normal, anomalies, unlabelled, contamination, copies).

    columns: one value for all, or a function of the cell and the rate.
    """
    usual = {"tables": 3, "flagged": 0.05, "worst": 0.1, "found": 0.5, "auc": 0.8, "calibration_error": 0.02}
    rows = []
    for cell in cells:
        for rate in RATES:
            values = usual | {"flagged": rate} | columns
            rows.append([*cell, rate, *(v(cell, rate) if callable(v) else v for v in values.values())])
    return pd.DataFrame(rows, columns=GRID_COLUMNS)
