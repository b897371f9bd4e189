"""Small methods of every kind, and random rows for them."""

import dataclasses

import torch

from oddshot.methods import METHODS
from oddshot.methods.contract import LabelledRows

SMALL = {"units": 12, "layers": 4, "layers_f": 3, "layers_g": 3, "layers_phi": 4} | {
    "trees": 5,
    "chunk_tasks": 2,
    "inner_steps": 2,
    "fine_tuning_epochs": 5,
}


def random_rows(seed, replicas=2, tasks=3, n_normal=5, n_anomaly=2, M=4):
    generator = torch.Generator().manual_seed(seed)

    def draw(n):
        return torch.randn(replicas, tasks, n, M, generator=generator, dtype=torch.float64)

    return LabelledRows(draw(n_normal), draw(n_anomaly) + 2)


def small_config(name, **settings):
    """The method's own configuration, with smaller networks and forests where it has any."""
    known = {field.name for field in dataclasses.fields(METHODS[name].config_type)}
    return METHODS[name].config_type(**{key: value for key, value in SMALL.items() if key in known} | settings)


def build(name, replicas=2, seed=0, M=4, **settings):
    """A method in float64 with random weights and its centre fixed."""
    method = METHODS[name](M, small_config(name, **settings), replicas).double()
    method.initialise([torch.Generator().manual_seed(seed + r) for r in range(replicas)])
    support = random_rows(seed + 100, replicas, M=M)
    method.eval()
    method.fix_center(support, support.normal)
    return method


def is_learned(method):
    return next(method.parameters(), None) is not None


def pick(rows, replicas=slice(None), tasks=slice(None)):
    return LabelledRows(*(part[replicas, tasks] for part in rows))


class _Loss(torch.nn.Module):
    def __init__(self, method):
        super().__init__()
        self.method = method

    def forward(self, support, query):
        return self.method.loss(support, query).sum()


def loss_of_weights(method, support, query):
    """The loss as a function of all weights, for finite differences."""
    names = [f"method.{name}" for name, _ in method.named_parameters()]
    module = _Loss(method)
    return lambda *values: torch.func.functional_call(module, dict(zip(names, values, strict=True)), (support, query))
