"""Which card payments are fraud, if amounts, hours and shops are all I have and three cases are known?

The payments are synthetic. Each kind of shop has its own amounts and hours. A fraud is not extreme in any column: its
amount is usual for electronics, its hour for a bar, and payments without PIN are common. Only the combination is odd.
"""

# %%
# Amounts are drawn for each kind of shop, hours as well; one payment in a hundred is a fraud.
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score

import oddshot

rng = np.random.default_rng(0)
SHOPS = pd.DataFrame(
    {"euros": [30, 22, 250, 400], "hour": [15, 21, 14, 12], "share": [0.5, 0.25, 0.15, 0.1]},
    index=["groceries", "bar", "electronics", "travel"],
)


def pay(n, shops):
    """Payments as they usually are."""
    amount = (SHOPS.euros[shops].to_numpy() * rng.lognormal(0, 0.4, n)).round(2)
    hour = (SHOPS.hour[shops].to_numpy() + rng.normal(0, 2.5, n)).round() % 24
    return pd.DataFrame({"amount": amount, "shop": shops, "hour": hour, "with PIN": rng.random(n) < 0.8})


n, n_fraud = 3000, 30
usual = pay(n, rng.choice(SHOPS.index, n, p=SHOPS.share))
fraud = pay(n_fraud, rng.choice(["groceries", "bar"], n_fraud))
fraud["amount"] = (fraud.amount * rng.uniform(4, 10, n_fraud)).round(2)
fraud["hour"] = pay(n_fraud, ["bar"] * n_fraud).hour
fraud["with PIN"] = rng.random(n_fraud) < 0.6
payments = pd.concat([usual, fraud], ignore_index=True)
is_fraud = np.repeat([0, 1], [n, n_fraud])

# %%
# Twenty payments are known to be fine, three are known frauds, and all others have no label.
y = np.full(len(payments), -1)
y[rng.choice(n, 20, replace=False)] = 0
y[n + rng.choice(n_fraud, 3, replace=False)] = 1
detector = oddshot.FewShotDetector(false_positive_rate=0.01).fit(payments, y)
scores = detector.decision_scores_

# %%
# Payments are looked at from the highest score downwards. Labelled ones do not count.
unlabelled = y == -1
ranking = np.flatnonzero(unlabelled)[np.argsort(-scores[unlabelled])]
found = np.cumsum(is_fraud[ranking])
auc = roc_auc_score(is_fraud[unlabelled], scores[unlabelled])
precision = average_precision_score(is_fraud[unlabelled], scores[unlabelled])

# %%
# Left: the payments by hour and amount; which shop it was is not to be seen. Right: how many frauds are found.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
jitter = rng.uniform(-0.4, 0.4, len(payments))
for label, colour, marker, name in [(0, "#56B4E9", ".", "usual payment"), (1, "#D55E00", "^", "fraud")]:
    here = is_fraud == label
    left.scatter(payments.hour[here] + jitter[here], payments.amount[here], c=colour, marker=marker, s=20, label=name)
left.set(title="3,030 payments", xlabel="hour of the day", ylabel="amount in euros", yscale="log")
left.legend(loc="upper left")
right.plot(np.arange(1, 101), found[:100], color="#0072B2", label="from the highest score downwards")
right.plot([1, 100], [found[-1] / len(found), 100 * found[-1] / len(found)], "k--", label="in random order")
right.set(title=f"{found[-1]} frauds without a label", xlabel="payments looked at", ylabel="frauds found", ylim=(0, 28))
right.legend(loc="lower right", bbox_to_anchor=(1, 0.08))

print(f"AUC {auc:.3f}, average precision {precision:.2f}")
print(f"frauds among the 30 highest scores: {found[29]} of {found[-1]}; among the 100 highest: {found[99]}")
flagged = detector.predict(payments)[unlabelled]
print(f"usual payments that are flagged at a rate of 1 %: {100 * flagged[is_fraud[unlabelled] == 0].mean():.1f} %")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
