"""One training step against the bare matrix products that it needs, in fp32 and with bf16 autocast."""

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.machine import has_bf16
from benchmarks.timing import Verdict, best_seconds, in_turn
from oddshot.data.episodes.sampling import EpisodeSizes
from oddshot.data.episodes.synthesis import mixed_tasks
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.score.rows import LabelledRows
from oddshot.training import Episodes
from oddshot.training.trainable import Trainable

TASKS, M = 256, 21
SIZES, CONFIG = EpisodeSizes(), EigenConfig()


def products(n_tasks: int) -> list[tuple[int, int, int]]:
    """(rows, in, out) of every layer's product in one forward pass: f, g, φ's first layer for x and for r, the rest."""
    n_support, units = SIZES.support_normal + SIZES.support_anomaly, CONFIG.units
    n_rows = n_support + SIZES.query_normal + SIZES.query_anomaly
    f = [(n_tasks * n_support, M + 1, units), *[(n_tasks * n_support, units, units)] * (CONFIG.layers_f - 2)]
    g = [(n_tasks, units, units)] * (CONFIG.layers_g - 1)
    first = [(n_tasks * n_rows, M, units), (n_tasks, units, units)]
    return [*f, *g, *first, *[(n_tasks * n_rows, units, units)] * (CONFIG.layers_phi - 2)]


def bare_products(n_tasks: int) -> Callable[[], None]:
    """All products of a step, forward and backward, in fp32."""
    pairs = [(torch.randn(n, i), torch.randn(i, o), torch.randn(n, o)) for n, i, o in products(n_tasks)]

    def run() -> None:
        for x, weight, gradient in pairs:
            torch.mm(x, weight)  # forward
            torch.mm(gradient, weight.T)  # gradient of the rows
            torch.mm(x.T, gradient)  # gradient of the weight

    return run


def drawing(n_tasks: int) -> Callable[[], tuple[LabelledRows, LabelledRows]]:
    """LabelledRows of every task drawn and mixed."""
    rng = np.random.default_rng(0)
    pool = mixed_tasks(rng.normal(size=(500, M)), (np.arange(500) % 10 == 0).astype(np.int8), n_tasks, seed=0)
    episodes = Episodes([pool], SIZES, "resampled", torch.device("cpu"))
    return lambda: episodes.draw([np.arange(n_tasks)], [rng])


def training_step(n_tasks: int, *, bf16: bool = False) -> Callable[[], None]:
    """Episodes drawn, loss, gradients, Adam."""
    draw = drawing(n_tasks)
    trainable = Trainable(Eigen, M, CONFIG)
    trainable.initialise([torch.Generator().manual_seed(0)])
    trainable.noise = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(trainable.parameters, lr=1e-3)

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = trainable.loss(*draw())
        optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()
        optimizer.step()

    return run


def run() -> list[Verdict]:
    bare, step, draw = in_turn(bare_products(TASKS), training_step(TASKS), drawing(TASKS), repeats=12)
    what = f"training step, {TASKS} tasks, M = {M}"
    products, drawn = step / bare, draw / step
    return [
        Verdict(f"{what}: times the bare matrix products", products, 1.5, products <= 1.5),
        bf16_verdict(f"{what}: times the fp32 products with bf16 autocast", bare),
        Verdict(f"{what}: share of drawing and mixing", drawn, 0.1, drawn <= 0.1),
    ]


def bf16_verdict(name: str, bare: float) -> Verdict:
    """The step under bf16 autocast; without instructions for it torch takes a loop, which tells nothing."""
    if not has_bf16():
        return Verdict(name, None, 0.75, None, "needs AVX512-BF16 or AMX, which this processor lacks")
    ratio = best_seconds(training_step(TASKS, bf16=True), repeats=2) / bare
    return Verdict(name, ratio, 0.75, ratio <= 0.75)
