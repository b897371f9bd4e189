"""How the model that ships is made: `python -m oddshot.universal.training --out FILE`."""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows
from oddshot.methods.relative import Relative, RelativeConfig
from oddshot.universal.prior import Prior

WIDTHS = (6, 12, 24, 48, 100)  # largest number of columns of the tasks of a step
NORMAL, ANOMALY, UNLABELLED = (5, 5, 5, 3, 8, 15), (0, 1, 1, 1, 1, 2, 4), (0, 0, 0, 50, 200, 200)
QUERY = (24, 12)  # normal and anomalous rows that a task is tested on
ANY_WIDTH = RelativeConfig(dropout=0.0, marks=0)
WARM_UP = 100  # steps over which the learning rate rises


@dataclass(frozen=True)
class UniversalConfig:
    """How long and with what: chosen on the validation tables named in docs/universal.md."""

    steps: int = 1000
    tasks: int = 128  # of a step with at most 24 columns; fewer where they are wider
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    seed: int = 0


def train_universal(
    config: UniversalConfig,
    method: RelativeConfig | None = None,
    device: torch.device | str = "cpu",
    on_step: Callable[[int, float], None] = lambda step, loss: None,
    prior_of: Callable[[int, torch.Generator], Prior] = Prior,
) -> Relative:
    """Meta-train `relative` on synthetic tasks with supports and unlabelled rows of many sizes.

    prior_of: what draws the tasks of a step, of at most so many columns.
    """
    device = torch.device(device)
    rng = np.random.default_rng(config.seed)
    model = Relative(1, method or ANY_WIDTH)
    model.initialise([torch.Generator().manual_seed(config.seed)])
    model.to(device).eval()
    generator = torch.Generator(device).manual_seed(config.seed + 1)
    support, query, _ = Prior(48, generator).episodes(64, 5, 1, 0, *QUERY)
    model.fix_center(support, torch.cat([support.normal, query.normal], dim=2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    model.train()
    for step in range(config.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * _rate(step, config.steps)
        loss = model.loss(*_draw(rng, generator, config.tasks, prior_of)).sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        on_step(step + 1, float(loss.detach()))
    return model.eval()


def _rate(step: int, steps: int) -> float:
    """Up over the first steps, then down along a cosine."""
    return min(1.0, (step + 1) / WARM_UP) * 0.5 * (1 + math.cos(math.pi * step / steps))


def _draw(
    rng: np.random.Generator,
    generator: torch.Generator,
    n_tasks: int,
    prior_of: Callable[[int, torch.Generator], Prior],
) -> tuple[LabelledRows, LabelledRows, Tensor | None]:
    width = int(rng.choice(WIDTHS))
    n_tasks = max(8, min(n_tasks, n_tasks * 24 // width))
    normal, anomaly, unlabelled = (int(rng.choice(sizes)) for sizes in (NORMAL, ANOMALY, UNLABELLED))
    return prior_of(width, generator).episodes(n_tasks, normal, anomaly, unlabelled, *QUERY)


def main() -> None:
    """The command line."""
    from oddshot.universal.shipped import write_shipped  # which knows what is written here

    default = UniversalConfig()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where to write the model")
    parser.add_argument("--steps", type=int, default=default.steps)
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    config = UniversalConfig(steps=arguments.steps, seed=arguments.seed)

    def report(step: int, loss: float) -> None:
        if step % 100 == 0:
            print(f"step {step} of {config.steps}: smooth AUC {-loss:.3f}", flush=True)

    write_shipped(train_universal(config, device=arguments.device, on_step=report), config, arguments.out)


if __name__ == "__main__":
    main()
