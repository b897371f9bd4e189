"""How do I use the machines that I know to watch a new machine of which I have six labels?

Forty machines of one type have been watched for a while, and their rows are labelled. Every machine has its own
usual temperature, load, current and vibration, so that limits of one machine are wrong for the next. What a fault is
like is common to all of them: the current no longer fits the load. A model learns that from the fleet.
"""

# %%
# A synthetic fleet. Neither the current of a fault nor its load is unusual, only that they come together.
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oddshot


def watch(seed, n=120, n_fault=15):
    """Rows of one machine, the faults at the end."""
    rng = np.random.default_rng(seed)
    fault = np.repeat([0, 1], [n - n_fault, n_fault])
    load = rng.uniform(20, 80, n)
    current = rng.uniform(3, 6) + 0.1 * load + 1.2 * rng.choice([-1, 1], n) * fault + rng.normal(0, 0.4, n)
    temperature = rng.uniform(40, 60) + 0.2 * load + rng.normal(0, 3, n)
    vibration = rng.uniform(1, 3) * rng.lognormal(0, 0.3, n)
    rows = pd.DataFrame({"load in %": load, "current in A": current, "°C": temperature, "mm/s": vibration})
    return oddshot.Task(f"machine {seed}", rows, fault)


# %%
# The paper's method, `eigen`, learns what columns mean to each other where all tasks have the same columns.
fleet = [watch(seed) for seed in range(40)]
config = oddshot.TrainingConfig(epochs=60, batch_size=12)
model = oddshot.meta_train(fleet, method="eigen", training=config, progress=False)

# %%
# Sixteen new machines. Of each, five normal rows and one fault are labelled.
names = ["trained on the fleet", "as it ships", "logistic regression"]
aucs = []
for seed in range(1000, 1016):
    machine = watch(seed)
    labelled = [0, 1, 2, 3, 4, -1]
    support, known = machine.X.iloc[labelled], machine.y[labelled]
    rest, y = machine.X.iloc[5:-1], machine.y[5:-1]
    adapted = oddshot.FewShotDetector(model).fit(support, known)
    shipped = oddshot.FewShotDetector().fit(support, known)
    regression = make_pipeline(StandardScaler(), LogisticRegression()).fit(support, known)
    scores = [adapted.score_samples(rest), shipped.score_samples(rest), regression.decision_function(rest)]
    aucs.append([roc_auc_score(y, one) for one in scores])
aucs = np.array(aucs)

# %%
# Left: the last of the new machines. Right: every new machine is a dot.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for label, colour, marker, name in [(0, "#56B4E9", "o", "normal"), (1, "#D55E00", "^", "fault")]:
    here = machine.X[machine.y == label]
    left.scatter(here["load in %"], here["current in A"], c=colour, marker=marker, s=25, label=name)
left.scatter(support["load in %"], support["current in A"], s=110, facecolors="none", edgecolors="k", label="labelled")
left.set(title="A new machine", xlabel="load in %", ylabel="current in A")
left.legend(loc="upper left")
for k, colour in enumerate(["#0072B2", "#56B4E9", "#009E73"]):
    spread = np.linspace(-0.15, 0.15, len(aucs))
    right.scatter(k + spread, aucs[:, k], c=colour, s=25)
    right.plot([k - 0.25, k + 0.25], [aucs[:, k].mean()] * 2, color="k", linewidth=2)
right.set(title="Sixteen new machines, six labels each (line: mean)", ylabel="AUC of the other rows")
right.set_xticks(range(3), names)

for name, mean in zip(names, aucs.mean(axis=0), strict=True):
    print(f"mean AUC on sixteen new machines, {name}: {mean:.3f}")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
