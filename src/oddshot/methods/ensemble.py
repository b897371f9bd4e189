"""Several trained methods of one kind as one: its score of a row is the mean of theirs.

Each member's scores are divided by a scale, their typical size on held-out tasks, which is the same for all tasks:
every member has the same weight, and scores stay comparable between tasks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.errors import InputError
from oddshot.methods.compiled import CompiledMean, scaled_mean
from oddshot.methods.contract import LabelledRows, Method, Score, ScoredContext


@dataclass(frozen=True)
class MeanScore(Score):
    """The mean of several scores, each divided by its scale."""

    members: Sequence[Score]
    scales: Sequence[float]

    def __call__(self, x: Tensor) -> Tensor:
        """x: [1, T, N, M] -> [1, T, N] in float64."""
        return scaled_mean([score(x) for score in self.members], self.scales)

    @property
    def is_standardised(self) -> bool:
        """If those of all members are."""
        return all(score.is_standardised for score in self.members)

    def rescaled(self, location: float, unit: float) -> "MeanScore":
        """Of every member, which are not divided where they are standardised."""
        return MeanScore([score.rescaled(location, unit) for score in self.members], self.scales)

    def span(self, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """The mean of the members' spans."""
        spans = [score.span(support) for score in self.members]
        low, high = (scaled_mean(ends, self.scales) for ends in zip(*spans, strict=True))
        return low, high

    def scored_context(self) -> ScoredContext:
        """The mean of the members' scores; they are adapted with the same rows."""
        contexts = [score.scored_context() for score in self.members]
        return contexts[0]._replace(scores=scaled_mean([context.scores for context in contexts], self.scales))

    def compiled(self) -> CompiledMean:
        """Every member compiled."""
        return CompiledMean([score.compiled() for score in self.members], self.scales)


class Ensemble(Method):
    """Members of the same kind and settings, one replica each; adapts and scores, but is not trained as a whole."""

    def __init__(self, members: Sequence[Method], scales: Sequence[float]) -> None:
        first = members[0]
        super().__init__(first.n_attributes, first.config)
        self.name, self.config_type = first.name, first.config_type  # type: ignore[misc]
        self.uses_unlabelled = first.uses_unlabelled
        self.members: Sequence[Method] = nn.ModuleList(members)  # type: ignore[assignment]
        self.scales = tuple(scales)
        if len(self.scales) != len(members) or not all(scale > 0 for scale in self.scales):
            raise InputError(f"{len(members)} members need as many scales above 0, got {list(scales)}")

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> MeanScore:
        """Every member adapts on its own. Scores that are standardised already are not divided."""
        scores = [member.adapt(support, unlabelled) for member in self.members]
        return MeanScore(
            scores, [1.0 if s.is_standardised else scale for s, scale in zip(scores, self.scales, strict=True)]
        )


def split_replicas(method: Method, build: Callable[[], Method]) -> list[Method]:
    """Each replica as a method of its own. build: makes a method of the same settings with one replica."""
    members = []
    for r in range(method.replicas):
        member = build().to(method.device)
        member.load_state_dict({name: value[r : r + 1] for name, value in method.state_dict().items()})
        members.append(member.eval())
    return members


@torch.no_grad()
def typical_scores(members: Sequence[Method], support: LabelledRows, query: LabelledRows) -> list[float]:
    """The median absolute score that each member gives to normal rows."""
    sizes = (float(member.adapt(support)(query.normal).abs().median()) for member in members)
    return [size if size > 0 else 1.0 for size in sizes]
