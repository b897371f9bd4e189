"""Which rows should I label next, and is it worth choosing them?

`suggest` names the highest ranked rows that differ from each other. Labels cost somebody's time, so that it matters
whether they find more anomalies than rows picked at random. Here both are tried, from the same six labels. The
ranking itself gains less than one might hope: what a few draws show of it is mostly chance.
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
    """After each step of two more labels: anomalies that are labelled, and the AUC of rows that never are."""
    labelled, test, found = list(start), np.arange(len(rows) // 2, len(rows)), []
    for _ in range(N_STEPS + 1):
        detector = oddshot.FewShotDetector().fit(rows[labelled], y[labelled])
        found.append((y[labelled].sum(), roc_auc_score(y[test], detector.score_samples(rows[test]))))
        pool = np.setdiff1d(np.arange(len(rows) // 2), labelled)
        labelled.extend(pool[choose(detector, rows[pool])])
    return found


CHOICES = {
    "suggested": lambda detector, rows: detector.suggest(rows, n=N_EACH),
    "random": lambda detector, rows: rng.choice(len(rows), N_EACH, replace=False),
}

# %%
# Every draw has its own rows: 150 images of the digit 3 and fifty of the digit 8, of which half may be labelled.
curves = {name: [] for name in CHOICES}
for _ in range(6):
    rows = [rng.choice(np.flatnonzero(digit == kind), n, replace=False) for kind, n in [(3, 150), (8, 50)]]
    rows = rng.permutation(np.concatenate(rows))
    y = (digit[rows] == 8).astype(int)
    half = len(rows) // 2
    start = np.append(np.flatnonzero(y[:half] == 0)[:5], np.flatnonzero(y[:half] == 1)[0])
    for name, choose in CHOICES.items():
        curves[name].append(learn(X[rows], y, start, choose))

# %%
# The bands are the standard error of the difference between the two: where they overlap, nobody is ahead.
n_labels = 6 + N_EACH * np.arange(N_STEPS + 1)
difference = np.subtract(curves["suggested"], curves["random"])
error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
means = {name: np.mean(of_draws, axis=0) for name, of_draws in curves.items()}
figure, both = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for k, (axes, ylabel) in enumerate(zip(both, ["anomalies labelled", "AUC of rows never labelled"], strict=True)):
    for (name, mean), colour, style in zip(means.items(), ["#0072B2", "#D55E00"], ["o-", "s--"], strict=True):
        axes.plot(n_labels, mean[:, k], style, color=colour, label=f"{name} rows")
        low, high = mean[:, k] - error[:, k] / 2, mean[:, k] + error[:, k] / 2
        axes.fill_between(n_labels, low, high, color=colour, alpha=0.2)
    axes.set(xlabel="labelled rows", ylabel=ylabel, xticks=n_labels)
both[0].legend(loc="upper left")
figure.suptitle("The digit 8 among 3: mean of six draws")

for name, mean in means.items():
    print(f"{name} rows: {mean[-1, 0]:.1f} of {n_labels[-1]} labelled rows are anomalies; AUC {mean[-1, 1]:.3f}")
print(f"suggested minus random, AUC after the last label: {difference.mean(axis=0)[-1, 1]:+.3f} ± {error[-1, 1]:.3f}")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
