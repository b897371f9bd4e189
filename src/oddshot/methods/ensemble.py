"""Several trained methods of one kind as one: its score of a row is the mean of theirs.

Each member's scores are divided by a scale, their typical size on held-out tasks, which is the same for all tasks:
every member has the same weight, and scores stay comparable between tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from oddshot.errors import InputError
from oddshot.methods.contract import Method, OwnScores, PreparedScore, Score
from oddshot.score.arrays import Array, namespace
from oddshot.score.rows import LabelledRows


@dataclass(frozen=True)
class MeanScore(Score):
    """The mean of several scores, each divided by its scale."""

    members: Sequence[Score]
    scales: Sequence[float]

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        return scaled_mean([score(x) for score in self.members], self.scales)

    @property
    def is_standardised(self) -> bool:
        """If those of all members are."""
        return all(score.is_standardised for score in self.members)

    def rescaled(self, location: float, unit: float) -> "MeanScore":
        """Of every member, which are not divided where they are standardised."""
        return MeanScore([score.rescaled(location, unit) for score in self.members], self.scales)

    def score_range(self, support: LabelledRows) -> tuple[Array, Array]:
        """The mean of the members' ranges."""
        ranges = [score.score_range(support) for score in self.members]
        low, high = (scaled_mean(ends, self.scales) for ends in zip(*ranges, strict=True))
        return low, high

    def own(self) -> OwnScores | None:
        """The mean of the members' scores; they are adapted with the same rows."""
        own = [found for found in (score.own() for score in self.members) if found is not None]
        return own[0]._replace(scores=scaled_mean([one.scores for one in own], self.scales)) if own else None

    def prepare(self) -> "PreparedMean":
        """Every member."""
        return PreparedMean(tuple(score.prepare() for score in self.members), tuple(self.scales))


@dataclass(frozen=True)
class PreparedMean(PreparedScore):
    """The mean of the scores of an ensemble's members, each divided by its scale."""

    members: tuple[PreparedScore, ...]
    scales: tuple[float, ...]

    def __call__(self, x: Array) -> Array:
        """x: [n, M] -> [n]."""
        return scaled_mean([member(x) for member in self.members], self.scales)


class Ensemble(Method):
    """Members of the same kind and settings; adapts and scores, but is not trained as a whole."""

    def __init__(self, members: Sequence[Method], scales: Sequence[float]) -> None:
        first = members[0]
        weights = {f"members.{k}.{name}": w for k, one in enumerate(members) for name, w in one.weights.items()}
        super().__init__(first.n_attributes, first.config, weights)
        self.name, self.config_type = first.name, first.config_type  # type: ignore[misc]
        self.uses_unlabelled = first.uses_unlabelled  # type: ignore[misc]
        self.members, self.scales = tuple(members), tuple(scales)
        if len(self.scales) != len(members) or not all(scale > 0 for scale in self.scales):
            raise InputError(f"{len(members)} members need as many scales above 0, got {list(scales)}")

    @property
    def is_learned(self) -> bool:
        """If the members are."""
        return self.members[0].is_learned

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> MeanScore:
        """Every member adapts on its own. Scores that are standardised already are not divided."""
        scores = [member.adapt(support, unlabelled) for member in self.members]
        return MeanScore(
            scores, [1.0 if s.is_standardised else scale for s, scale in zip(scores, self.scales, strict=True)]
        )


def scaled_mean(values: Sequence[Array], scales: Sequence[float]) -> Array:
    """Mean of arrays of one shape, each divided by its scale."""
    xp = namespace(values[0])
    return xp.mean(xp.stack([value / scale for value, scale in zip(values, scales, strict=True)]), axis=0)


def typical_scores(members: Sequence[Method], support: LabelledRows, query: LabelledRows) -> list[float]:
    """The median absolute score that each member gives to normal rows."""
    sizes = []
    for member in members:
        scores = member.adapt(support)(query.normal)
        xp = namespace(scores)
        sizes.append(float(xp.sort(xp.reshape(xp.abs(scores), (-1,)))[(scores.size - 1) // 2]))
    return [size if size > 0 else 1.0 for size in sizes]
