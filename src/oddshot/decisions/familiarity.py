"""Does a model know such a task? How far the representation of a task lies from those of the training tasks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.decisions.evidence import Evidence

RARE = 0.001  # tasks that are farther than all but this share of the held-out ones are warned of
SHARES = tuple(k / 10 for k in range(1, 10))  # quantiles of the held-out distances that are kept

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """For supports of one kind. mean, spread: [H], of the representations r of training tasks.

    quantiles: [SHARES], of the distances of held-out tasks; beyond the last one their share falls by e for each
    `excess`.
    """

    mean: tuple[float, ...]
    spread: tuple[float, ...]
    quantiles: tuple[float, ...]
    excess: float

    def distance(self, representation: Array) -> Array:
        """Root mean square over the numbers of r, each in spreads of the training tasks: [T, H] -> [T]."""
        z = (representation - np.array(self.mean)) / np.array(self.spread)
        out: Array = np.sqrt(np.mean(z**2, axis=1))
        return out

    def share_beyond(self, distance: float) -> float:
        """Of held-out tasks, those that lie at least so far: from 1 to 0."""
        if distance <= self.quantiles[-1]:
            return 1.0 - float(np.interp(distance, (0.0, *self.quantiles), (0.0, *SHARES)))
        return (1 - SHARES[-1]) * math.exp(-(distance - self.quantiles[-1]) / self.excess)


@dataclass(frozen=True)
class Familiarity:
    """What representations of tasks are like, for each kind of support."""

    cases: Mapping[str, Case]

    def judge(self, evidence: Evidence) -> tuple[float, float] | None:
        """For a task: the share of held-out tasks at least as far from the training tasks, and the distance in medians.

        None where such supports were not met.
        """
        case = self.cases.get(evidence.case)
        if case is None or evidence.representation is None:
            return None
        distance = float(case.distance(evidence.representation)[0])
        return case.share_beyond(distance), distance / case.quantiles[len(SHARES) // 2]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return {name: asdict(case) for name, case in self.cases.items()}

    @classmethod
    def from_dict(cls, data: Any) -> "Familiarity":
        """Back from to_dict by way of JSON, trusting nothing: a ValueError, TypeError or KeyError where it is not."""
        cases = {}
        for name, case in dict(data).items():
            parts = [np.array(case[part], dtype=np.float64) for part in ("mean", "spread", "quantiles")]
            mean, spread, quantiles = parts
            excess = float(case["excess"])
            right = mean.ndim == 1 and mean.shape == spread.shape and quantiles.shape == (len(SHARES),)
            if not right or not all(np.isfinite(part).all() for part in (*parts, np.array(excess))):
                raise ValueError("familiarity: expected numbers, as many means as spreads")
            if (
                not (spread > 0).all()
                or not (quantiles > 0).all()
                or not (np.diff(quantiles) >= 0).all()
                or excess <= 0
            ):
                raise ValueError("familiarity: spreads, quantiles and excess are above 0, and quantiles grow")
            cases[str(name)] = Case(_plain(mean), _plain(spread), _plain(quantiles), excess)
        return cls(cases)


def learn_familiarity(training: Sequence[Evidence], held_out: Sequence[Evidence]) -> Familiarity | None:
    """From supports of training tasks and of held-out ones; None where the method has no representation of a task."""
    cases = {}
    for kind in dict.fromkeys(one.case for one in held_out):
        r, other = _representations(training, kind), _representations(held_out, kind)
        if r is not None and other is not None:
            cases[kind] = _learn_case(r, other)
    return Familiarity(cases) if cases else None


def _learn_case(r: Array, other: Array) -> Case:
    """r: [T, H], other: [V, H]."""
    spread = np.maximum(r.std(0), 1e-3 * max(float(r.std()), 1e-6))  # a number that never changes tells nothing
    case = Case(_plain(r.mean(0)), _plain(spread), (), 1.0)
    # Held-out tasks may be few, and then alike by chance: whichever distances are larger are taken.
    quantiles, excess = zip(*(_tail(case.distance(part)) for part in (r, other)), strict=True)
    return Case(case.mean, case.spread, _plain(np.maximum(*quantiles)), float(f"{max(excess):.6g}"))


def _tail(distance: Array) -> tuple[Array, float]:
    quantiles = np.maximum(np.quantile(distance, SHARES), 1e-6)
    return quantiles, max(
        float(np.maximum(distance - quantiles[-1], 0).sum() / (distance >= quantiles[-1]).sum()), 1e-3
    )


def _representations(evidence: Sequence[Evidence], kind: str) -> Array | None:
    found = [one.representation for one in evidence if one.case == kind and one.representation is not None]
    return np.concatenate(found) if found else None


def _plain(values: Array) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)  # six digits tell as much, in a smaller file
