"""Training of the model that ships with the package: `python -m oddshot.training.shipped_weights --out FILE`."""

import argparse
import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from oddshot.methods.contract import Method, minus_smooth_auc
from oddshot.methods.relative import Relative, RelativeConfig
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model
from oddshot.training.shipped_decisions import learn_universal_decisions
from oddshot.training.trainable import Trainable
from oddshot.universal.prior import Prior, SyntheticEpisodes

MAX_WIDTHS = (3, 6, 12, 24, 48, 100, 200)  # of the tasks of a step, in columns
# Numbers of rows of a task, all values equally likely: from a single normal row to what a table's owner ends with.
SUPPORT_NORMAL = (1, 1, 2, 2, 3, 5, 5, 5, 8, 15, 30, 60)
SUPPORT_ANOMALY = (0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 4, 8, 16)
UNLABELLED = (0, 0, 0, 50, 200, 200, 400, 800)
MANY_UNLABELLED = 300  # steps with more unlabelled rows have half as many tasks
# Without marks it takes tables of any width. Widths and the weight of the forest were chosen as STUDY.md says.
METHOD_CONFIG = RelativeConfig(units=64, pair_units=24, dropout=0.0, marks=0, forest_weight=1.0)
N_WARM_UP_STEPS = 100  # over which the learning rate rises

PriorFactory = Callable[[int, torch.Generator], Prior]


@dataclass(frozen=True)
class UniversalConfig:
    """Training settings, chosen on the validation tables named in docs/universal.md.

    tasks: number of tasks of a step with at most 24 columns; wider steps have fewer. context_share: the weight of the
    AUC of the unlabelled rows, each hidden from itself, against that of the queries.
    """

    steps: int = 2400
    tasks: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    context_share: float = 0.5
    seed: int = 0


def train_universal(
    config: UniversalConfig,
    method: RelativeConfig | None = None,
    device: torch.device | str = "cpu",
    on_step: Callable[[int, float], None] = lambda step, loss: None,
    make_prior: PriorFactory = Prior,
) -> Method:
    """Meta-train `relative` on synthetic tasks with supports and unlabelled rows of many sizes.

    on_step: called after each step with its number and loss. make_prior: returns the distribution of tasks of a step,
    for a maximum width and a generator.
    """
    device = torch.device(device)
    rng = np.random.default_rng(config.seed)
    model = Trainable(Relative, 1, method or METHOD_CONFIG)
    model.initialise([torch.Generator().manual_seed(config.seed)])
    model.to(device)
    generator = torch.Generator(device).manual_seed(config.seed + 1)
    first = Prior(48, generator).episodes(64, 5, 1, 0)
    model.fix_center(first.support, torch.cat([first.support.normal, first.query.normal], dim=2))
    optimizer = torch.optim.AdamW(model.parameters, lr=config.learning_rate, weight_decay=config.weight_decay)
    for step in range(config.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * learning_rate_factor(step, config.steps)
        episodes = _draw_episodes(rng, generator, config.tasks, make_prior)
        relative = model.method
        assert isinstance(relative, Relative)
        loss = episode_loss(relative, episodes, config.context_share)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters, 1.0)
        optimizer.step()
        on_step(step + 1, float(loss.detach()))
    return model.trained()


def episode_loss(model: Relative, episodes: SyntheticEpisodes, context_share: float) -> Tensor:
    """Minus the smooth AUC of the queries and, with this weight, of the unlabelled rows, each hidden from itself."""
    n_unlabelled = episodes.is_anomaly.shape[1]
    scores_context = n_unlabelled > 0 and context_share > 0
    score = model.relate(episodes.support, episodes.unlabelled, describes_all=scores_context)
    loss: Tensor = minus_smooth_auc(score, episodes.query).mean()
    if not scores_context:
        return loss
    scores = score.own_scores()[0, :, -n_unlabelled:]
    pairs = (episodes.is_anomaly.unsqueeze(2) & ~episodes.is_anomaly.unsqueeze(1)).to(scores.dtype)
    won = torch.sigmoid(scores.unsqueeze(2) - scores.unsqueeze(1))
    n_pairs = pairs.sum((1, 2))
    has_both = n_pairs > 0
    if not has_both.any():
        return loss
    auc = ((won * pairs).sum((1, 2))[has_both] / n_pairs[has_both]).mean()
    return (1 - context_share) * loss - context_share * auc


def learning_rate_factor(step: int, n_steps: int) -> float:
    """Linear warm-up over the first steps, then cosine decay to 0."""
    return min(1.0, (step + 1) / N_WARM_UP_STEPS) * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def to_universal_model(method: Method, config: UniversalConfig) -> Model:
    """The trained method with a calibration; it has no encoding, as each table gets one of its own."""
    facts = {"tasks": "synthetic", **dataclasses.asdict(config)}
    calibration = learn_universal_decisions(method, config.seed)
    return Model(method, None, DEFAULT_THRESHOLD, facts, calibration)


def _draw_episodes(
    rng: np.random.Generator, generator: torch.Generator, n_tasks: int, make_prior: PriorFactory
) -> SyntheticEpisodes:
    """Episodes of one step, of a random width and random sizes."""
    width = int(rng.choice(MAX_WIDTHS))
    normal, anomaly, unlabelled = (int(rng.choice(sizes)) for sizes in (SUPPORT_NORMAL, SUPPORT_ANOMALY, UNLABELLED))
    n_tasks = max(8, min(n_tasks, n_tasks * 24 // width))
    if unlabelled > MANY_UNLABELLED:
        n_tasks = max(8, n_tasks // 2)
    return make_prior(width, generator).episodes(n_tasks, normal, anomaly, unlabelled)


def main() -> None:
    """Train the model from the command line and write its file."""
    default = UniversalConfig()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where to write the model")
    parser.add_argument("--steps", type=int, default=default.steps)
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--units", type=int, default=METHOD_CONFIG.units, help="width of f, g and φ")
    parser.add_argument("--pair-units", type=int, default=METHOD_CONFIG.pair_units, help="width of the pair network")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    config = UniversalConfig(steps=arguments.steps, seed=arguments.seed)

    def report(step: int, loss: float) -> None:
        if step % 100 == 0:
            print(f"step {step} of {config.steps}: smooth AUC {-loss:.3f}", flush=True)

    widths = dataclasses.replace(METHOD_CONFIG, units=arguments.units, pair_units=arguments.pair_units)
    method = train_universal(config, widths, device=arguments.device, on_step=report)
    to_universal_model(method, config).save(arguments.out)


if __name__ == "__main__":
    main()
