"""Training of the model that ships with the package: `python -m oddshot.universal.training --out FILE`."""

import argparse
import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows
from oddshot.methods.relative import Relative, RelativeConfig
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model
from oddshot.universal.decisions import learn_universal_decisions
from oddshot.universal.prior import Prior

MAX_WIDTHS = (6, 12, 24, 48, 100)  # of the tasks of a step, in columns
# Numbers of rows of a task, all values equally likely.
SUPPORT_NORMAL, SUPPORT_ANOMALY, UNLABELLED = (5, 5, 5, 3, 8, 15), (0, 1, 1, 1, 1, 2, 4), (0, 0, 0, 50, 200, 200)
METHOD_CONFIG = RelativeConfig(dropout=0.0, marks=0)  # without marks it takes tables of any width
N_WARM_UP_STEPS = 100  # over which the learning rate rises

PriorFactory = Callable[[int, torch.Generator], Prior]


@dataclass(frozen=True)
class UniversalConfig:
    """Training settings, chosen on the validation tables named in docs/universal.md.

    tasks: number of tasks of a step with at most 24 columns; wider steps have fewer.
    """

    steps: int = 1000
    tasks: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    seed: int = 0


def train_universal(
    config: UniversalConfig,
    method: RelativeConfig | None = None,
    device: torch.device | str = "cpu",
    on_step: Callable[[int, float], None] = lambda step, loss: None,
    make_prior: PriorFactory = Prior,
) -> Relative:
    """Meta-train `relative` on synthetic tasks with supports and unlabelled rows of many sizes.

    on_step: called after each step with its number and loss. make_prior: returns the distribution of tasks of a step,
    for a maximum width and a generator.
    """
    device = torch.device(device)
    rng = np.random.default_rng(config.seed)
    model = Relative(1, method or METHOD_CONFIG)
    model.initialise([torch.Generator().manual_seed(config.seed)])
    model.to(device).eval()
    generator = torch.Generator(device).manual_seed(config.seed + 1)
    support, query, _ = Prior(48, generator).episodes(64, 5, 1, 0)
    model.fix_center(support, torch.cat([support.normal, query.normal], dim=2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    model.train()
    for step in range(config.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * learning_rate_factor(step, config.steps)
        loss = model.loss(*_draw_episodes(rng, generator, config.tasks, make_prior)).sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        on_step(step + 1, float(loss.detach()))
    return model.eval()


def learning_rate_factor(step: int, n_steps: int) -> float:
    """Linear warm-up over the first steps, then cosine decay to 0."""
    return min(1.0, (step + 1) / N_WARM_UP_STEPS) * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def to_universal_model(method: Relative, config: UniversalConfig) -> Model:
    """The trained method with calibration and familiarity; it has no encoding, as each table gets one of its own."""
    facts = {"tasks": "synthetic", **dataclasses.asdict(config)}
    decisions = learn_universal_decisions(method.cpu().eval(), config.seed)
    return Model(method, None, DEFAULT_THRESHOLD, facts, *decisions)


def _draw_episodes(
    rng: np.random.Generator, generator: torch.Generator, n_tasks: int, make_prior: PriorFactory
) -> tuple[LabelledRows, LabelledRows, Tensor | None]:
    """Episodes of one step, of a random width and random sizes."""
    width = int(rng.choice(MAX_WIDTHS))
    n_tasks = max(8, min(n_tasks, n_tasks * 24 // width))
    normal, anomaly, unlabelled = (int(rng.choice(sizes)) for sizes in (SUPPORT_NORMAL, SUPPORT_ANOMALY, UNLABELLED))
    return make_prior(width, generator).episodes(n_tasks, normal, anomaly, unlabelled)


def main() -> None:
    """Train the model from the command line and write its file."""
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

    method = train_universal(config, device=arguments.device, on_step=report)
    to_universal_model(method, config).save(arguments.out)


if __name__ == "__main__":
    main()
