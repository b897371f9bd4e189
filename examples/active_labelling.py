"""Which rows should I label next, and is it worth choosing them?

`suggest` names the rows of which the detector is least certain. Labels cost somebody's time, so that it matters
whether such a label is worth more than that of a row picked at random. Here both are tried, from the same six labels.
Do not expect much: over many tasks the two are about level, and what a few draws show is mostly chance.
"""

# %%
# Images of the digit 8 among images of the digit 3, as sixteen squares each.
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import oddshot

images, digit = load_digits(return_X_y=True)
X = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
rng = np.random.default_rng(0)
N_STEPS, N_EACH = 5, 2


def learn(rows, y, start, choose):
    """The AUC of rows that are never labelled, before and after each step of two more labels."""
    labelled, test = list(start), np.arange(len(rows) // 2, len(rows))
    aucs = []
    for _ in range(N_STEPS + 1):
        detector = oddshot.FewShotDetector().fit(rows[labelled], y[labelled])
        aucs.append(roc_auc_score(y[test], detector.score_samples(rows[test])))
        pool = np.setdiff1d(np.arange(len(rows) // 2), labelled)
        labelled.extend(pool[choose(detector, rows[pool])])
    return aucs


CHOICES = {
    "suggested": lambda detector, rows: detector.suggest(rows, n=N_EACH),
    "random": lambda detector, rows: rng.choice(len(rows), N_EACH, replace=False),
}

# %%
# Every draw has its own rows: 150 images of the digit 3 and fifty of the digit 8, of which half may be labelled.
aucs = {name: [] for name in CHOICES}
for _ in range(6):
    rows = [rng.choice(np.flatnonzero(digit == kind), n, replace=False) for kind, n in [(3, 150), (8, 50)]]
    rows = rng.permutation(np.concatenate(rows))
    y = (digit[rows] == 8).astype(int)
    half = len(rows) // 2
    start = np.append(np.flatnonzero(y[:half] == 0)[:5], np.flatnonzero(y[:half] == 1)[0])
    for name, choose in CHOICES.items():
        aucs[name].append(learn(X[rows], y, start, choose))

# %%
# The bands are the standard error of the difference between the two: where they overlap, nobody is ahead.
n_labels = 6 + N_EACH * np.arange(N_STEPS + 1)
difference = np.subtract(aucs["suggested"], aucs["random"])
error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
for (name, curves), colour, style in zip(aucs.items(), ["#0072B2", "#D55E00"], ["o-", "s--"], strict=True):
    mean = np.mean(curves, axis=0)
    axes.plot(n_labels, mean, style, color=colour, label=f"{name} rows")
    axes.fill_between(n_labels, mean - error / 2, mean + error / 2, color=colour, alpha=0.2)
axes.set(title="The digit 8 among 3: mean of six draws", xlabel="labelled rows", ylabel="AUC of rows never labelled")
axes.set_xticks(n_labels)
axes.legend(loc="lower right")

first, last = np.mean(aucs["suggested"], axis=0)[[0, -1]]
print(f"mean AUC with 6 labels {first:.3f}; with {n_labels[-1]} labels, suggested ones {last:.3f}")
print(f"and random ones {np.mean(aucs['random'], axis=0)[-1]:.3f}")
print(f"suggested minus random after the last label: {difference.mean(axis=0)[-1]:+.3f} ± {error[-1]:.3f}")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
