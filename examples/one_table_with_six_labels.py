"""I have one table and six labels: what do I get from oddshot, and what from the detectors that I know?

Five rows of healthy tissue and one of a tumour are labelled, in a table that ships with scikit-learn. Detectors that
cannot use labels see all rows without them, those that need labels see six rows, and oddshot sees both.
"""

# %%
# One row in ten is a tumour, as an anomaly should be rare; the others are left out.
import sys
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import oddshot

table, is_benign = load_breast_cancer(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
healthy = np.flatnonzero(is_benign == 1)
kept = np.append(healthy, rng.choice(np.flatnonzero(is_benign == 0), len(healthy) // 9, replace=False))
table, is_tumour = table.iloc[kept], 1 - is_benign.to_numpy()[kept]
X = StandardScaler().fit_transform(table)

# %%
# Every function takes labels and returns scores of all rows, higher for odder ones.
detectors = {
    "oddshot, labels and all rows": lambda y: oddshot.FewShotDetector().fit(table, y).decision_scores_,
    "oddshot, six labels alone": lambda y: oddshot.FewShotDetector().fit(table[y >= 0], y[y >= 0]).score_samples(table),
    "random forest, six labels": lambda y: forest.fit(X[y >= 0], y[y >= 0]).predict_proba(X)[:, 1],
    "nearest of five normal rows": lambda y: NearestNeighbors(n_neighbors=1).fit(X[y == 0]).kneighbors(X)[0][:, 0],
    "one-class SVM, five normal rows": lambda y: -OneClassSVM().fit(X[y == 0]).score_samples(X),
}
forest = RandomForestClassifier(random_state=0)

# %%
# Without labels, the scores are the same in every draw. PyOD is used where it is installed.
unsupervised = {
    "isolation forest, all rows": -IsolationForest(random_state=0).fit(X).score_samples(X),
    "local outlier factor, all rows": -LocalOutlierFactor().fit(X).negative_outlier_factor_,
}
if find_spec("pyod"):
    from pyod.models.ecod import ECOD
    from pyod.models.knn import KNN

    unsupervised["PyOD's ECOD, all rows"] = ECOD().fit(X).decision_scores_
    unsupervised["PyOD's KNN, all rows"] = KNN().fit(X).decision_scores_
else:
    print("PyOD is not installed (pip install pyod): its detectors are left out.")

# %%
# The AUC is that of the rows without a label.
aucs = {name: [] for name in [*detectors, *unsupervised]}
for _ in range(10):
    y = np.full(len(X), -1)
    y[rng.choice(np.flatnonzero(is_tumour == 0), 5, replace=False)] = 0
    y[rng.choice(np.flatnonzero(is_tumour == 1))] = 1
    scores = {name: score(y) for name, score in detectors.items()} | unsupervised
    for name in aucs:
        aucs[name].append(roc_auc_score(is_tumour[y == -1], scores[name][y == -1]))

# %%
# Every dot is one draw of the six labels, every line the mean of its row.
means = {name: np.mean(values) for name, values in aucs.items()}
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
for k, name in enumerate(reversed(aucs)):
    axes.scatter(aucs[name], np.full(10, k), c="#D55E00" if name.startswith("oddshot") else "#0072B2", alpha=0.7)
    axes.plot([means[name]] * 2, [k - 0.3, k + 0.3], color="k", linewidth=2)
axes.set_yticks(range(len(aucs)), [f"{name} ({means[name]:.3f})" for name in reversed(aucs)])
axes.set(title="Ten draws of six labels (line and number: mean)", xlabel="AUC of the rows without a label")
print("\n".join(f"mean AUC, {name}: {mean:.3f}" for name, mean in means.items()))

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
