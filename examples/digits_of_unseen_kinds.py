"""Does a model that was trained on some kinds of things find odd ones among kinds that it has never seen?

Each task is one handwritten digit, and a few images of other digits are mixed in. The model that ships is trained
further on the digits 0 to 5. The digits 6 to 9 are new to it: five images of the digit and one odd image are labelled.
"""

# %%
# The images come with scikit-learn. A row holds the mean darkness of sixteen squares of two by two pixels.
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

import oddshot

images, digit = load_digits(return_X_y=True)
X = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
rng = np.random.default_rng(0)


def draw_rows(normal, others):
    """Row numbers of sixty images of one digit and of twenty odd ones, and their labels."""
    usual = rng.choice(np.flatnonzero(digit == normal), 60, replace=False)
    odd = rng.choice(np.flatnonzero(np.isin(digit, others) & (digit != normal)), 20, replace=False)
    return np.append(usual, odd), np.repeat([0, 1], [60, 20])


# %%
# Training starts from the model that ships. One task for each known digit is little, but it is enough for a few steps.
drawn = [draw_rows(normal, range(6)) for normal in range(6)]
tasks = [oddshot.Task(f"odd ones among {k}", X[rows], y) for k, (rows, y) in enumerate(drawn)]
config = oddshot.TrainingConfig(epochs=5, batch_size=6)
model = oddshot.meta_train(tasks * 3, validation=tasks, start="universal", training=config, progress=False)

# %%
# The same six labels of a new digit are given to four methods. Each is judged by the AUC of the rows without a label:
# the chance that an odd image has a higher score than a usual one. In six images a square may be blank that is dark in
# most others. The detector warns of that, as in other tables it may be a clock.
warnings.filterwarnings("ignore", message=".*lie beyond the rows that were labelled")
names = ["trained on 0 to 5", "as it ships", "logistic regression", "nearest normal row"]
aucs = {normal: [] for normal in range(6, 10)}
for normal in aucs:
    rows, y = draw_rows(normal, range(6, 10))
    for _ in range(4):
        labelled = np.append(rng.choice(np.flatnonzero(y == 0), 5, replace=False), rng.choice(np.flatnonzero(y == 1)))
        support, rest = rows[labelled], np.delete(rows, labelled)
        detectors = oddshot.FewShotDetector(model), oddshot.FewShotDetector()
        scores = [one.fit(X[support], y[labelled]).score_samples(X[rest]) for one in detectors]
        scores.append(LogisticRegression().fit(X[support], y[labelled]).decision_function(X[rest]))
        scores.append(NearestNeighbors(n_neighbors=1).fit(X[support[:5]]).kneighbors(X[rest])[0][:, 0])
        aucs[normal].append([roc_auc_score(np.delete(y, labelled), one) for one in scores])

# %%
# On the left the six labelled images of the last task, and the twelve images with the highest scores.
means = np.mean(list(aucs.values()), axis=1)
figure = plt.figure(figsize=(10, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1, 1.1])
shown = np.append(support, rest[np.argsort(-scores[0])[:12]])
for k, axes in enumerate(left.subplots(3, 6).flat):
    is_odd = digit[shown[k]] != normal
    axes.imshow(images[shown[k]].reshape(8, 8), cmap="gray_r")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(color="#D55E00" if is_odd else "#0072B2", linewidth=3 if is_odd else 1)
left.suptitle(f"Top row: labelled. Below: highest scores.\nThick orange frame: not a {normal}")
axes = right.subplots()
for k, (marker, colour) in enumerate(zip("oD^s", ["#0072B2", "#56B4E9", "#D55E00", "#009E73"], strict=True)):
    axes.plot(list(aucs), means[:, k], marker, color=colour, label=names[k], markersize=8)
axes.set(title="Digits not in training", xlabel="normal digit", ylabel="AUC, mean of four draws", xticks=list(aucs))
axes.legend(loc="lower left")
for name, mean in zip(names, means.mean(axis=0), strict=True):
    print(f"mean AUC on the digits 6 to 9, {name}: {mean:.3f}")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
