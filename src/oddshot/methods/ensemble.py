"""Several trained methods of one kind as one: its score of a row is the mean of theirs.

Each member's scores are divided by what is usual of them on held-out tasks, the same for all tasks: every member has
the same say, and scores stay comparable between tasks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.errors import InputError
from oddshot.methods.contract import Method, LabelledRows, ScoreFunction


@dataclass(frozen=True)
class Averaged:
    """Score function of an adapted task: the mean of several, each divided by its scale."""

    scores: Sequence[ScoreFunction]
    scales: Sequence[float]

    def __call__(self, x: Tensor) -> Tensor:
        """x: [1, T, N, M]. Returns [1, T, N] in float64."""
        return average([score(x) for score in self.scores], self.scales)

    @property
    def distance(self) -> ScoreFunction:
        """Where a task representation is looked for: the first member's."""
        first = self.scores[0]
        out: ScoreFunction = getattr(first, "distance", first)
        return out


class Ensemble(Method):
    """Members of the same kind and settings, one replica each; adapts and scores, but is not trained as a whole."""

    def __init__(self, members: Sequence[Method], scales: Sequence[float]) -> None:
        first = members[0]
        super().__init__(first.n_attributes, first.config)
        self.name, self.config_type = first.name, first.config_type  # type: ignore[misc]
        self.members: Sequence[Method] = nn.ModuleList(members)  # type: ignore[assignment]
        self.scales = tuple(scales)
        if len(self.scales) != len(members) or not all(scale > 0 for scale in self.scales):
            raise InputError(f"{len(members)} members need as many scales above 0, got {list(scales)}")

    @property
    def uses_unlabelled(self) -> bool:
        """As the members."""
        return self.members[0].uses_unlabelled

    def adapt(self, support: LabelledRows) -> Averaged:
        """Every member adapts on its own."""
        return self.adapt_with(support, None)

    def adapt_with(self, support: LabelledRows, unlabelled: Tensor | None) -> Averaged:
        """The same with unlabelled rows of each task beside its support: [1, T, u, M]."""
        return Averaged([member.adapt_with(support, unlabelled) for member in self.members], self.scales)

    def span(self, score: ScoreFunction, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """The mean of the members' spans."""
        assert isinstance(score, Averaged)
        spans = [member.span(one, support) for member, one in zip(self.members, score.scores, strict=True)]
        low, high = (average(ends, self.scales) for ends in zip(*spans, strict=True))
        return low, high


def average(values: Sequence[Tensor], scales: Sequence[float]) -> Tensor:
    """Mean of tensors of one shape, each divided by its scale."""
    return torch.stack([value / scale for value, scale in zip(values, scales, strict=True)]).mean(0)


def split_replicas(method: Method, build: Callable[[], Method]) -> list[Method]:
    """Each replica as a method of its own. build: makes a method of the same settings with one replica."""
    members = []
    for r in range(method.replicas):
        member = build().to(next(method.parameters()).device)
        member.load_state_dict({name: value[r : r + 1] for name, value in method.state_dict().items()})
        members.append(member.eval())
    return members


@torch.no_grad()
def usual_scores(members: Sequence[Method], support: LabelledRows, query: LabelledRows) -> list[float]:
    """The median size of each member's scores of normal rows."""
    sizes = (float(member.adapt(support)(query.normal).abs().median()) for member in members)
    return [size if size > 0 else 1.0 for size in sizes]
