"""Made-up runs, and a user's plugin whose runs take no time."""

import json
import subprocess
import sys
from contextlib import contextmanager

from oddshot.bench import plugins
from oddshot.bench.plugins import make_dataset_source
from oddshot.bench.record import RunRecord
from oddshot.bench.settings import hash_config
from oddshot.data.sources.cards import CARDS
from oddshot.methods import registry

PLUGIN = '''
import os, time
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from oddshot.bench import register_dataset, register_method
from oddshot.methods.contract import Method, Score, Weight
from oddshot.score.arrays import float64, namespace

class Formula(Score):
    def __init__(self, formula):
        self.formula = formula

    def __call__(self, x):
        return self.formula(x)

def mean(rows):
    return namespace(rows).mean(rows, axis=-2, keepdims=True)

@dataclass(frozen=True)
class QuickConfig:
    pause: float = 0.0
    trouble: str = ""       # a file: while it exists, the method fails

@register_method
class Quick(Method):
    name = "quick"
    config_type = QuickConfig

    def adapt(self, support, unlabelled=None):
        time.sleep(self.config.pause)
        if self.config.trouble and Path(self.config.trouble).exists():
            raise RuntimeError("no luck\\nand a second line")
        center = mean(support.normal)
        return Formula(lambda x: float64((x - center) ** 2).sum(-1))

@register_method
class Fatal(Quick):
    name = "fatal"

    def adapt(self, support, unlabelled=None):
        os._exit(3)

@register_method
class NotANumber(Quick):
    name = "nan"

    def adapt(self, support, unlabelled=None):
        return Formula(lambda x: float64(x).sum(-1) * float("nan"))

@register_method
class Learner(Quick):
    """Learns one weight an attribute."""
    name = "learner"

    @classmethod
    def weights_of(cls, n_attributes, config):
        return {"w": Weight((1, n_attributes), 1.0)}

    def adapt(self, support, unlabelled=None):
        center, w = mean(support.normal), self.weights["w"]
        w = w[:, None] if w.ndim == 3 else w    # of replicas that are trained
        return Formula(lambda x: float64(((x - center) * w) ** 2).sum(-1))

def table(seed):
    rng = np.random.default_rng(seed)
    y = (np.arange(120) % 6 == 0).astype(int)
    return rng.normal(size=(120, 3)) + 2 * y[:, None], y

register_dataset("toy", lambda: table(0), title="Toy", splits=(4, 2, 3))
register_dataset("other", lambda: table(1), splits=(4, 2, 3))

def fleet():
    X, y = table(2)
    X, y = np.tile(X, (6, 1)), np.tile(y, 6)
    return X + np.repeat(np.arange(6), 120)[:, None], y, np.repeat([f"machine {i}" for i in range(6)], 120)

register_dataset("fleet", fleet, splits=(3, 1, 2))
'''


@contextmanager
def restored_registries():
    """Methods and datasets that are registered within the block are unknown after it."""
    registries = (registry._REGISTERED, plugins.DATASETS)
    before = [dict(known) for known in registries]
    try:
        yield
    finally:
        for known, entries in zip(registries, before, strict=True):
            known.clear()
            known.update(entries)


def write_plugin(folder):
    path = folder / "mine.py"
    path.write_text(PLUGIN)
    return path


def make_source(folder):
    """The plugin, registered in this process."""
    return make_dataset_source(None, None, [write_plugin(folder)])


def bench(*arguments, **options):
    """A bench in a process of its own."""
    command = [sys.executable, "-m", "oddshot", "bench", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def record(dataset="glass", method="eigen", split=0, auc=0.9, protocol="published", status="done", **changes):
    """A made-up run. changes: fields of RunRecord, or settings by their flat names (training__epochs=5)."""
    learned = method not in ("osvm", "if", "lof", "lr", "knn", "rf")
    config = {
        "method": {"units": 256} if learned else {},
        "training": {"epochs": 1000, "patience": 50} if learned else None,
        "sizes": {"support_normal": 5, "support_anomaly": 1, "query_normal": 25, "query_anomaly": 5},
        "n_training": None,
        "seed": 0,
        "data": (dataset in CARDS and CARDS[dataset].rows) or f"rows of {dataset}",
        "protocol_version": 1,
    }
    for name in [name for name in changes if name in config or "__" in name]:
        group, _, inner = name.partition("__")
        if inner:
            config[group][inner] = changes.pop(name)
        else:
            config[group] = changes.pop(name)
    text = json.dumps(config, sort_keys=True)
    figures = {"auc_strict": auc, "auc_half": auc + 0.01, "device": "cpu", "together": 1} if status == "done" else {}
    if learned and status == "done":
        figures |= {"train_seconds": 10.0, "epochs": 100, "best_epoch": 50, "valid_auc": 0.8}
    values = {"code_version": "1", "seed": split, **figures, **changes}
    return RunRecord(dataset, split, method, protocol, hash_config(text), text, status=status, **values)
