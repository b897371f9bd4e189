"""Learning of the calibration: two small networks, fitted to scores of held-out tasks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from oddshot.decisions.calibration import N_ODDS, RATES, REFERENCE_RATE, Calibration, FeatureNetwork, log_odds_of
from oddshot.decisions.features import N_FEATURES, SupportFeatures, support_features
from oddshot.decisions.normal_scores import N_SHAPE, expected_quantiles, normal_quantile
from oddshot.decisions.support_scores import SupportScores
from oddshot.training.support_sizes import HeldOutScores

N_HIDDEN = 16
N_QUERIES = 20  # scores of each label of a task that are used
STEPS, BATCH_TASKS = 600, 512
LEARNING_RATE, MAX_GRADIENT = 1e-2, 1.0
PENALTY = 2.0  # of the squared change of each weight from where it starts, divided by the number of tasks
SCALE_SHARE = 0.3  # the scale, as a share of the median normal score

FloatArray = NDArray[np.float64]
Loss = Callable[..., Tensor]  # of what a network gives, [T, O], and of what it is fitted to, [T, n] each


def no_caution(support: SupportScores) -> float:
    """Tasks are as those learned from."""
    return 0.0


def learn_calibration(
    episodes: Sequence[HeldOutScores],
    start: Calibration | None = None,
    steps: int = STEPS,
    caution: Callable[[SupportScores], float] = no_caution,
    seed: int = 0,
) -> Calibration:
    """From episodes with supports of the sizes that the method may meet.

    start: a calibration of the same kind of scores, from which learning starts and which holds where episodes say
    little. caution: by how much normal quantiles are to be exceeded, for supports with such scores.
    """
    scale = _scale_of(episodes) if start is None else start.scale
    episodes = [one.standardised(scale) for one in episodes]
    supports = [support_features(one.support) for one in episodes]
    features = np.concatenate([one.values for one in supports])
    normal = [_relative(one.normal, support) for one, support in zip(episodes, supports, strict=True)]
    shape = _new_network(features, N_SHAPE, seed) if start is None else start.shape
    cautions = np.concatenate([np.full((len(one.normal), 1), caution(one.support)) for one in episodes])
    shape = _fit(shape, features, (np.concatenate(normal), cautions), shape_loss, steps, seed)
    odds = _new_network(features, N_ODDS, seed) if start is None else start.odds
    calibration = Calibration(shape, odds, scale)
    quantiles = np.concatenate([_query_quantiles(calibration, one) for one in episodes])
    return replace(calibration, odds=_fit(odds, features, (quantiles,), odds_loss, steps, seed))


def shape_loss(shape: Tensor, normal: Tensor, caution: Tensor) -> Tensor:
    """Mean pinball loss of the quantiles for all RATES, each in units of its usual size.

    shape: [T, N_SHAPE]; normal: [T, n], scores in units of location and spread; caution: [T, 1], by how much normal
    quantiles are to be exceeded.
    """
    z = torch.special.ndtri(1 - torch.tensor(RATES, dtype=shape.dtype))
    rates = torch.special.ndtr(-z - caution).unsqueeze(1)
    residual = normal.unsqueeze(2) - expected_quantiles(shape, z).unsqueeze(1)
    loss: Tensor = torch.maximum((1 - rates) * residual, -rates * residual) / (rates * (1 - rates)).sqrt()
    return loss.mean()


def odds_loss(outputs: Tensor, quantiles: Tensor) -> Tensor:
    """Mean logistic loss, both labels weighing the same.

    outputs: [T, N_ODDS]; quantiles: [T, 2 n], normal quantiles of n normal rows, then of n anomalies.
    """
    constant, below, above = log_odds_of(outputs).unsqueeze(2).unbind(1)
    e = quantiles - float(normal_quantile(np.array([REFERENCE_RATE]))[0])
    is_anomaly = (torch.arange(e.shape[1]) >= e.shape[1] // 2).to(e.dtype).expand_as(e)
    return binary_cross_entropy_with_logits(constant + below * e.clamp_max(0) + above * e.clamp_min(0), is_anomaly)


@torch.enable_grad()
def _fit(
    network: FeatureNetwork, features: FloatArray, targets: Sequence[FloatArray], loss: Loss, steps: int, seed: int
) -> FeatureNetwork:
    """The network with weights of a small loss. features: [T, D], targets: [T, n] each."""
    generator = torch.Generator().manual_seed(seed)
    inputs, *expected = (torch.from_numpy(part).float() for part in (features, *targets))
    weights = {name: torch.from_numpy(part).float() for name, part in vars(network).items()}
    start = {name: weights.pop(name) for name in ("mean", "spread")} | weights
    learned = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    optimizer = torch.optim.Adam(learned.values(), lr=LEARNING_RATE)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * step / steps))
        batch = torch.randint(0, len(inputs), (BATCH_TASKS,), generator=generator)
        value = loss(FeatureNetwork(**{**start, **learned})(inputs[batch]), *(target[batch] for target in expected))
        changes = sum(((learned[name] - weights[name]) ** 2).sum() for name in learned)
        value = value + PENALTY / len(features) * changes
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(learned.values(), MAX_GRADIENT)
        optimizer.step()
    return FeatureNetwork(**{name: _rounded(weight.detach()) for name, weight in {**start, **learned}.items()})


def _new_network(features: FloatArray, n_outputs: int, seed: int) -> FeatureNetwork:
    """A network that gives zeros, for features like these: [T, N_FEATURES]."""
    spread = np.where(features.std(0) > 1e-6, features.std(0), 1.0)
    generator = torch.Generator().manual_seed(seed)
    V = torch.rand(N_FEATURES, N_HIDDEN, generator=generator, dtype=torch.float64).numpy() * 2 - 1
    linear = np.zeros((N_FEATURES, n_outputs)), np.zeros(n_outputs)
    hidden = V / N_FEATURES**0.5, np.zeros(N_HIDDEN), np.zeros((N_HIDDEN, n_outputs))
    return FeatureNetwork(features.mean(0), spread, *linear, *hidden)


def _scale_of(episodes: Sequence[HeldOutScores]) -> float:
    """A share of the median size of normal scores that are not standardised."""
    found = [one.normal.ravel() for one in episodes if not one.support.is_standardised]
    if not found:
        return 1.0
    sizes = np.abs(np.concatenate(found))
    return SCALE_SHARE * float(np.median(sizes)) or float(sizes.mean()) or 1.0


def _relative(scores: FloatArray, support: SupportFeatures) -> FloatArray:
    """N_QUERIES scores of each task, in units of its location and spread: [T, n] -> [T, N_QUERIES]."""
    return (_some(scores) - support.location[:, None]) / support.spread[:, None]


def _query_quantiles(calibration: Calibration, one: HeldOutScores) -> FloatArray:
    """Normal quantiles of N_QUERIES normal rows and as many anomalies of each task: [T, 2 N_QUERIES]."""
    _, distributions = calibration.distributions(one.support)
    queries = np.concatenate([_some(one.normal), _some(one.anomaly)], axis=1)
    return np.stack([normal.quantile_of(row) for normal, row in zip(distributions, queries, strict=True)])


def _some(scores: FloatArray) -> FloatArray:
    """N_QUERIES of the scores of each task, some of them several times if there are fewer."""
    return scores[:, np.arange(N_QUERIES) % scores.shape[1]]


def _rounded(weights: Tensor) -> FloatArray:
    """In float64, with six digits, which suffice and make a smaller file."""
    return np.array([float(f"{w:.6g}") for w in weights.flatten().tolist()]).reshape(weights.shape)
