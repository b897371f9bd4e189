"""I can label six rows, but I have thousands: do the rows without a label help?

They show what most rows look like and how columns vary together. The same six labels are given alone, and with ten,
thirty and a hundred rows without a label. The detector is always judged on rows that it was not given.
"""

# %%
# Two tables that ship with scikit-learn: tumours among healthy tissue, and the digit 8 among images of the digit 3.
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score

import oddshot

rng = np.random.default_rng(0)
cells, is_benign = load_breast_cancer(return_X_y=True)
images, digit = load_digits(return_X_y=True)
squares = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
TABLES = {
    "tumours among healthy tissue": (cells[is_benign == 1], cells[is_benign == 0]),
    "the digit 8 among 3": (squares[digit == 3], squares[digit == 8]),
}
COUNTS = [0, 10, 30, 100]

# %%
# One row in ten is odd, among the unlabelled rows as well as among those that are scored at the end.
aucs = {name: [] for name in TABLES}
for name, (usual, odd) in TABLES.items():
    for _ in range(8):
        usual, odd = rng.permutation(usual), rng.permutation(odd)
        labelled, y = np.vstack([usual[:5], odd[:1]]), np.array([0, 0, 0, 0, 0, 1])
        pool = rng.permutation(np.vstack([usual[5:95], odd[1:11]]))
        test, truth = np.vstack([usual[95:], odd[11:21]]), np.repeat([0, 1], [len(usual) - 95, 10])
        curve = []
        for n in COUNTS:
            rows, labels = np.vstack([labelled, pool[:n]]), np.append(y, np.full(n, -1))
            detector = oddshot.FewShotDetector().fit(rows, labels)
            curve.append(roc_auc_score(truth, detector.score_samples(test)))
        aucs[name].append(curve)

# %%
# Thin lines are single draws of the six labels, thick ones their mean.
figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
for axes, (name, curves) in zip(panels, aucs.items(), strict=True):
    axes.plot(range(len(COUNTS)), np.transpose(curves), color="#56B4E9", linewidth=1)
    axes.plot(range(len(COUNTS)), np.mean(curves, axis=0), "o-", color="#0072B2", linewidth=3, label="mean")
    axes.set(title=name, xlabel="unlabelled rows beside six labels")
    axes.set_xticks(range(len(COUNTS)), COUNTS)
    axes.legend(loc="lower right")
panels[0].set_ylabel("AUC of rows not given")

for name, curves in aucs.items():
    means = np.mean(curves, axis=0)
    print(f"{name}: " + ", ".join(f"{n} rows {mean:.3f}" for n, mean in zip(COUNTS, means, strict=True)))

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
