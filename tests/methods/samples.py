"""Small methods of every kind with random weights, and random rows for them, in NumPy."""

import dataclasses

import numpy as np

from oddshot.methods import find_method, method_names
from oddshot.score.rows import LabelledRows

SMALL = {"units": 12, "layers": 4, "layers_f": 3, "layers_g": 3, "layers_phi": 4} | {
    "trees": 5,
    "chunk_tasks": 2,
    "inner_steps": 2,
    "fine_tuning_epochs": 5,
}


def random_rows(seed, tasks=3, n_normal=5, n_anomaly=2, M=4):
    """[tasks, n, M]; with tasks=None the only task's, [n, M]."""
    rng, lead = np.random.default_rng(seed), () if tasks is None else (tasks,)
    return LabelledRows(rng.normal(size=(*lead, n_normal, M)), rng.normal(size=(*lead, n_anomaly, M)) + 2)


def small_config(name, **settings):
    """The method's own configuration, with smaller networks and forests where it has any."""
    config_type = find_method(name).config_type
    known = {field.name for field in dataclasses.fields(config_type)}
    return config_type(**{key: value for key, value in SMALL.items() if key in known} | settings)


def build(name, seed=0, M=4, dtype=np.float64, **settings):
    """A method with random weights and its centre fixed."""
    config, rng = small_config(name, **settings), np.random.default_rng([seed, 1])
    kind = find_method(name)
    weights = {key: draw(rng, weight) for key, weight in kind.weights_of(M, config).items()}
    support = random_rows(seed + 100, M=M)
    center = kind(M, config, weights).center_of(support, support.normal)
    if center is not None:
        weights["center"] = center
    return kind(M, config, {key: value.astype(dtype) for key, value in weights.items()})


def draw(rng, weight):
    """The first values of a weight."""
    if weight.start == "uniform":
        return rng.uniform(-1, 1, weight.shape) / weight.fan_in**0.5
    return rng.normal(size=weight.shape) if weight.start == "normal" else np.full(weight.shape, float(weight.start))


def in_float32(rows):
    return LabelledRows(*(part.astype(np.float32) for part in rows))


def pick(rows, tasks):
    """Some of the tasks, or the rows of a single one, [n, M], by its number."""
    return LabelledRows(*(part[tasks] for part in rows))


def without_anomalies(rows):
    return LabelledRows(rows.normal, rows.anomaly[..., :0, :])


def learned_names():
    """Of the methods that are trained over many tasks."""
    kinds = {name: find_method(name) for name in method_names()}
    specified = {name: kind.weights_of(4, small_config(name)).values() for name, kind in kinds.items()}
    return [name for name, weights in specified.items() if any(weight.is_learned for weight in weights)]
