"""How do I compare methods on my own data, all of them on the same rows?

`oddshot bench` runs methods on the same tasks, keeps every finished run in a store, and makes tables of them with a
test of significance. All it takes is the command line, and a file of a few lines that reads the data. This run is tiny,
so that it ends in seconds; leave out its limits to get figures that you can rely on.
"""

# %%
# The wines of two growers are normal, those of the third are anomalies. As in the paper, tasks are made of this one
# table by random linear maps of its columns: twenty to train on, four for validation, and eight to be judged.
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

PLUGIN = """
from sklearn.datasets import load_wine
from oddshot.bench import register_dataset

def read():
    X, grower = load_wine(return_X_y=True)
    return X, (grower == 2).astype(int)

register_dataset("wines", read, splits=(20, 4, 8))
"""

# %%
# The same commands work in a shell. After an interruption the same `run` does only what is missing.
with tempfile.TemporaryDirectory() as folder:
    plugin, store, figures = (Path(folder, name) for name in ("wines.py", "results.db", "figures.json"))
    plugin.write_text(PLUGIN)
    bench = [sys.executable, "-m", "oddshot", "bench"]
    what = ["--protocol", "resampled", "--datasets", "wines", "--methods", "eigen,lr,knn", "--plugin", plugin]
    limits = ["--splits", "3", "--epochs", "5", "--workers", "1", "--device", "cpu", "--quiet"]
    subprocess.run([*bench, "run", *what, *limits, "--store", store], check=True)
    subprocess.run([*bench, "table", "--store", store, "--plugin", plugin, "--json", figures], check=True)
    cells = json.loads(figures.read_text())["rows"]["wines"]

# %%
# In the table, `Ours` is the paper's method (`eigen`). A star marks the best method and all that do not differ from it
# significantly; with three splits that is easily so.
names = {"Ours": "eigen, the paper's", "LR": "logistic regression", "KNN": "nearest rows"}
order = sorted(cells, key=lambda name: cells[name]["value"])
figure, axes = plt.subplots(figsize=(7.5, 3), layout="constrained")
for k, name in enumerate(order):
    auc, is_best = cells[name]["value"], cells[name]["best"]
    axes.barh(k, auc, color="#0072B2" if is_best else "#56B4E9")
    axes.text(auc + 0.01, k, f"{auc:.3f}{' *' if is_best else ''}", va="center")
axes.set_yticks(range(len(order)), [names[name] for name in order])
axes.axvline(0.5, color="k", linestyle="--", linewidth=1)
axes.set(title="Wines: means of three splits (*: the best, or not different)", xlim=(0, 1))
axes.set_xlabel("AUC on target tasks (dashed: a random order)")

for name in reversed(order):
    print(f"AUC of {names[name]}: {cells[name]['value']:.3f}")

# %%
# The picture is saved where the command line says, or shown.
figure.savefig(sys.argv[1]) if len(sys.argv) > 1 else plt.show()
