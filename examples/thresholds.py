"""How do I get one false alarm in a hundred normal rows, and how many do I really get?

A detector that was adapted to a few labels turns scores into decisions at the false-positive rate that is asked for.
How scores spread was learned on other tasks, so that the rate holds on average over tasks and draws of labels, and not
for every single one. So it is measured here, on rows that the detector was not given. On this table low rates come out
lower than asked, which costs detections: the last line that is printed says how many.
"""

# %%
# A table that ships with scikit-learn. Twenty normal rows and five tumours are labelled, 150 other rows have no label,
# and the rows that are left show which share of normal rows is called an anomaly. All is drawn anew twenty times.
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import oddshot

table, is_benign = load_breast_cancer(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
ASKED = [0.01, 0.02, 0.05, 0.1, 0.2]

# %%
# The rate may be changed after `fit`: the scores stay, the threshold moves.
measured, found = [], []
for _ in range(20):
    normal = rng.permutation(np.flatnonzero(is_benign == 1))
    tumours = rng.permutation(np.flatnonzero(is_benign == 0))
    given = np.concatenate([normal[:20], tumours[:5], normal[20:155], tumours[5:20]])
    y = np.repeat([0, 1, -1], [20, 5, 150])
    detector = oddshot.FewShotDetector(false_positive_rate=0.01).fit(table.iloc[given], y)
    new_normal, new_tumours = detector.score_samples(table.iloc[normal[155:]]), table.iloc[tumours[20:]]
    found.append(detector.predict(new_tumours).mean())
    rates = []
    for rate in ASKED:
        detector.false_positive_rate = rate
        rates.append((new_normal > detector.threshold_).mean())
    measured.append(rates)
measured = np.array(measured)
means = measured.mean(axis=0)

# %%
# Left: the last draw at a rate of 1 %, with one tumour among ten new rows. Right: every cross is one draw.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
detector.false_positive_rate = 0.01
detector.plot_scores(table.iloc[np.append(normal[155:], tumours[20:43])], ax=left)
left.set_title("New rows at an asked rate of 1 %")
for rate, one in zip(ASKED, measured.T, strict=True):
    right.plot(np.full(20, 100 * rate), 100 * one, "x", color="#56B4E9")
right.plot([0, 20], [0, 20], "k--", linewidth=1, label="as asked")
right.plot(100 * np.array(ASKED), 100 * means, "o-", color="#0072B2", label="measured, mean of twenty draws")
right.set(title="False alarms", xlabel="asked: % of normal rows", ylabel="measured: % of normal rows")
right.legend(loc="upper left")

for rate, mean, one in zip(ASKED, means, measured.T, strict=True):
    print(f"asked {rate:.0%}: measured {mean:.1%} on average, {one.min():.1%} to {one.max():.1%} in single draws")
print(f"tumours found at 1 %: {np.mean(found):.0%} on average, {min(found):.0%} to {max(found):.0%} in single draws")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
