"""Does a model know such a task? How far the representation of a task lies from those of the training tasks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.decisions.evidence import Evidence, Representations

WARNING_SHARE = 0.001  # a warning where fewer than this share of held-out tasks lie as far from the training tasks
SHARES = tuple(k / 10 for k in range(1, 10))  # quantiles of the held-out distances that are stored

FloatArray = NDArray[np.float64]


class FamiliarityResult(NamedTuple):
    """share: of held-out tasks at least as far from the training tasks, 1 to 0. distance: in medians of theirs."""

    share: float
    distance: float


@dataclass(frozen=True)
class FamiliarityCase:
    """For supports of one kind. mean, spread: [H], of the representations r of training tasks.

    quantiles: [SHARES], of the distances of training and of held-out tasks, the larger of both; beyond the last one
    their share falls exponentially, by e for each `excess`.
    """

    mean: tuple[float, ...]
    spread: tuple[float, ...]
    quantiles: tuple[float, ...]
    excess: float

    def distance(self, representation: FloatArray) -> FloatArray:
        """Root mean square over the entries of r, each in spreads of the training tasks: [T, H] -> [T]."""
        mean, spread = self._moments
        z = (representation - mean) / spread
        out: FloatArray = np.sqrt(np.mean(z**2, axis=1))
        return out

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and spread: [H] each."""
        return np.array(self.mean), np.array(self.spread)

    def share_beyond(self, distance: float) -> float:
        """The share of held-out tasks that lie at least so far, from 1 to 0."""
        if distance <= self.quantiles[-1]:
            return 1.0 - float(np.interp(distance, (0.0, *self.quantiles), (0.0, *SHARES)))
        return (1 - SHARES[-1]) * math.exp(-(distance - self.quantiles[-1]) / self.excess)


@dataclass(frozen=True)
class Familiarity:
    """The distribution of task representations, for each kind of support."""

    cases: Mapping[str, FamiliarityCase]

    def judge(self, evidence: Evidence) -> FamiliarityResult | None:
        """For a task, the only one of this evidence; None for a kind of support that was not met."""
        case = self.cases.get(evidence.support_kind)
        if case is None or evidence.representation.shape[1] == 0:
            return None
        distance = float(case.distance(evidence.representation)[0])
        return FamiliarityResult(case.share_beyond(distance), distance / case.quantiles[len(SHARES) // 2])

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return {name: asdict(case) for name, case in self.cases.items()}

    @classmethod
    def from_dict(cls, data: Any) -> "Familiarity":
        """From what `to_dict` gave, read from a file that may be damaged: ValueError, TypeError or KeyError if so."""
        if not isinstance(data, dict) or not all(isinstance(case, dict) for case in data.values()):
            raise TypeError(f"familiarity is {str(data)[:40]!r}")
        return cls({str(name): _parse_case(case) for name, case in data.items()})


def learn_familiarity(
    training: Sequence[Evidence | Representations], held_out: Sequence[Evidence | Representations]
) -> Familiarity | None:
    """From supports of training tasks and of held-out ones; None where the method has no representation of a task."""
    cases = {}
    for kind in dict.fromkeys(one.support_kind for one in held_out):
        r, other = _representations(training, kind), _representations(held_out, kind)
        if r is not None and other is not None:
            cases[kind] = _learn_case(r, other)
    return Familiarity(cases) if cases else None


def with_distances_of(known: Familiarity, folds: Sequence[Familiarity]) -> Familiarity:
    """Familiarity with a model that has learned from all tasks: how far new ones lie is known from the folds.

    known: of that model, for its own tasks. folds: of models that have learned from some of the tasks, for others.
    """
    cases = {}
    for kind, case in known.cases.items():
        others = [fold.cases[kind] for fold in folds if kind in fold.cases]
        quantiles = np.max([case.quantiles, *(other.quantiles for other in others)], axis=0)
        excess = max([case.excess, *(other.excess for other in others)])
        cases[kind] = replace(case, quantiles=_rounded(quantiles), excess=excess)
    return Familiarity(cases)


def _parse_case(case: dict[str, Any]) -> FamiliarityCase:
    parts = [np.array(case[part], dtype=np.float64) for part in ("mean", "spread", "quantiles")]
    mean, spread, quantiles = parts
    excess = float(case["excess"])
    shapes_fit = mean.ndim == 1 and mean.shape == spread.shape and quantiles.shape == (len(SHARES),)
    if not shapes_fit or not all(np.isfinite(part).all() for part in (*parts, np.array(excess))):
        raise ValueError("familiarity: expected numbers, as many means as spreads")
    positive = (spread > 0).all() and (quantiles > 0).all() and excess > 0
    if not positive or not (np.diff(quantiles) >= 0).all():
        raise ValueError("familiarity: spreads, quantiles and excess are above 0, and quantiles grow")
    return FamiliarityCase(_rounded(mean), _rounded(spread), _rounded(quantiles), excess)


def _learn_case(r: FloatArray, other: FloatArray) -> FamiliarityCase:
    """r: [T, H], of training tasks; other: [V, H], of held-out ones."""
    spread = np.maximum(r.std(0), 1e-3 * max(float(r.std()), 1e-6))  # entries that hardly vary tell nothing
    case = FamiliarityCase(_rounded(r.mean(0)), _rounded(spread), (), 1.0)
    # Held-out tasks may be few, and then alike by chance: the larger distances of both groups are taken.
    quantiles, excess = zip(*(_tail(case.distance(part)) for part in (r, other)), strict=True)
    return FamiliarityCase(case.mean, case.spread, _rounded(np.maximum(*quantiles)), float(f"{max(excess):.6g}"))


def _tail(distance: FloatArray) -> tuple[FloatArray, float]:
    """Quantiles of the distances, and their mean excess over the last one."""
    quantiles = np.maximum(np.quantile(distance, SHARES), 1e-6)
    beyond = distance - quantiles[-1]
    return quantiles, max(float(np.maximum(beyond, 0).sum() / max((beyond >= 0).sum(), 1)), 1e-3)


def _representations(evidence: Sequence[Evidence | Representations], kind: str) -> FloatArray | None:
    found = [one.representation for one in evidence if one.support_kind == kind and one.representation.shape[1] > 0]
    return np.concatenate(found) if found else None


def _rounded(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)  # six digits suffice and make a smaller file
