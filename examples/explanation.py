"""Why is this row odd?

`explain` says what each column adds to a score, compared with the nearest normal row. To see whether it is right, the
reason has to be known: one number is spoilt in each of twelve new rows of a table of wines. The detector has never seen
such a row; it was given a few rows that somebody has labelled normal.
"""

# %%
# Wines of one grower, from a table that ships with scikit-learn.
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import oddshot

wines, grower = load_wine(return_X_y=True, as_frame=True)
wines = wines[grower == 1].reset_index(drop=True)
seen, new = wines[:40], wines[40:].copy()

# %%
# Twenty rows are known to be fine, twenty others have no label.
detector = oddshot.FewShotDetector().fit(seen, np.repeat([0, -1], 20))

# %%
# In twelve of the new rows somebody forgot a decimal point: one number, in a column of its own, is ten times too large.
rng = np.random.default_rng(0)
wrong_rows, wrong_columns = rng.permutation(new.index)[:12], rng.permutation(new.columns)[:12]
for row, column in zip(wrong_rows, wrong_columns, strict=True):
    new.loc[row, column] *= 10
highest = new.index[np.argsort(-detector.score_samples(new))[:12]]
why = detector.explain(new.loc[wrong_rows])
blamed = np.array(why.attributes)[why.contributions.argmax(axis=1)]

# %%
# Left: one of the rows. Right: all twelve, a column each.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", width_ratios=[1, 1.2])
detector.plot_contributions(new.loc[wrong_rows[-1]], ax=left)
left.set_title(f"Wine {wrong_rows[-1]}, in which {wrong_columns[-1]}\nis ten times too large")
shares = why.contributions / np.abs(why.contributions).max(axis=1, keepdims=True)
drawn = right.imshow(shares.T, cmap="PuOr_r", vmin=-1, vmax=1, aspect="auto")
places = [why.attributes.index(column) for column in wrong_columns]
right.scatter(range(12), places, marker="s", s=260, facecolors="none", edgecolors="k", linewidths=2)
right.set(title="All twelve rows (square: the spoilt number)", xlabel="number of the wine")
right.set_yticks(range(len(why.attributes)), why.attributes)
right.set_xticks(range(12), wrong_rows)
figure.colorbar(drawn, label="what the column adds, as a share of the row's largest")

print(f"spoilt rows among the twelve highest scores of {len(new)}: {np.isin(wrong_rows, highest).sum()}")
print(f"spoilt rows whose spoilt column adds the most: {np.sum(blamed == wrong_columns)} of 12")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
