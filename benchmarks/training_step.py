"""One training step against the bare matrix products that it needs."""

import numpy as np
import torch

from benchmarks.timing import Verdict, best_seconds
from oddshot.data.episodes import EpisodeSizes
from oddshot.data.synthesis import mixed_tasks
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.training import Episodes

TASKS, M = 256, 21


def products(sizes: EpisodeSizes, config: EigenConfig) -> list[tuple[int, int, int]]:
    """(rows, in, out) of every layer's product in one forward pass: f, g, φ's first layer for x and for r, the rest."""
    n_support, units = sizes.support_normal + sizes.support_anomaly, config.units
    n_rows = n_support + sizes.query_normal + sizes.query_anomaly
    f = [(TASKS * n_support, M + 1, units), *[(TASKS * n_support, units, units)] * (config.layers_f - 2)]
    g = [(TASKS, units, units)] * (config.layers_g - 1)
    first = [(TASKS * n_rows, M, units), (TASKS, units, units)]
    return [*f, *g, *first, *[(TASKS * n_rows, units, units)] * (config.layers_phi - 2)]


def run() -> list[Verdict]:
    sizes, config = EpisodeSizes(), EigenConfig()
    rng = np.random.default_rng(0)
    pool = mixed_tasks(rng.normal(size=(500, M)), (np.arange(500) % 10 == 0).astype(np.int8), TASKS, seed=0)
    method = Eigen(M, config)
    method.initialise([torch.Generator().manual_seed(0)])
    method.set_noise(torch.Generator().manual_seed(0))
    method.train()
    optimizer = torch.optim.Adam(method.parameters(), lr=1e-3)
    episodes = Episodes([pool], sizes, "resampled", torch.device("cpu"))

    def step() -> None:
        loss = method.loss(*episodes.draw([np.arange(TASKS)], [rng]))
        optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()
        optimizer.step()

    pairs = [(torch.randn(n, i), torch.randn(i, o), torch.randn(n, o)) for n, i, o in products(sizes, config)]

    def bare() -> None:
        for x, weight, gradient in pairs:
            torch.mm(x, weight)  # forward
            torch.mm(gradient, weight.T)  # gradient of the rows
            torch.mm(x.T, gradient)  # gradient of the weight

    ratio = best_seconds(step) / best_seconds(bare)
    name = f"training step, {TASKS} tasks, M = {M}: times the bare matrix products"
    return [Verdict(name, ratio, 1.5, ratio <= 1.5)]
