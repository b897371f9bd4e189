"""`relative` without one of its parts: pairs, columns, features, the eigenvalue problem, embeddings of columns, blends.

Not in the paper; as with its own ablations, they tell what each part is good for.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from array_api_compat import device

from oddshot.methods.contract import Method, PlainScore, PreparedScore, Score
from oddshot.methods.relative import Relative, RelativeConfig, RelativeScore
from oddshot.methods.scores import Distance
from oddshot.score.arrays import Array, float64, namespace, over_tasks
from oddshot.score.projection import to_unit_length
from oddshot.score.rows import LabelledRows


class RelativeWithoutPart(Relative):
    """Rows are described without one of three parts: pairs of rows, columns, or features of the row and its task.

    There is 0 in their place, as if the networks that see them had no such inputs.
    """

    part: ClassVar[Literal["pairs", "columns", "figures"]]

    def select(self, description: Array) -> Array:
        """Without the part."""
        sizes = self.config.parts
        first, end = {"pairs": (0, 1), "columns": (1, 3), "figures": (3, 5)}[self.part]
        present = np.ones(sum(sizes), np.float32)
        present[sum(sizes[:first]) : sum(sizes[:end])] = 0
        xp = namespace(description)
        return description * xp.asarray(present, dtype=description.dtype, device=device(description))

    def relate(
        self, support: LabelledRows, unlabelled: Array | None = None, describes_all: bool = False
    ) -> RelativeScore:
        """The same, which is not folded for many rows."""
        score = super().relate(support, unlabelled, describes_all)
        return PartialScore(**vars(score))


class PartialScore(RelativeScore):
    """A score of descriptions without a part."""

    def prepare(self) -> PreparedScore:
        """As it is."""
        return PlainScore(self)


class RelativeWithoutPairs(RelativeWithoutPart):
    """Without the network over the pairs of a row with the labelled rows."""

    name = "relative-pairs"
    part = "pairs"


class RelativeWithoutColumns(RelativeWithoutPart):
    """Without the networks over the columns, and so without embeddings."""

    name = "relative-columns"
    part = "columns"


class RelativeWithoutFigures(RelativeWithoutPart):
    """Without distances, lengths and numbers of rows, which are given as they are."""

    name = "relative-figures"
    part = "figures"


class RelativeWithoutHead(Relative):
    """The direction w is learned and the same for all tasks, not solved for (Eq. 3): it is that of the embedding that
    stands for an anomaly."""

    name = "relative-head"

    def solve(self, support: LabelledRows, default_anomaly: Array | None = None) -> Distance:
        """Only r adapts to the task."""
        assert default_anomaly is not None
        r = self.represent(support)
        w = over_tasks(to_unit_length(float64(default_anomaly)), r, 1)
        return self.projected(r, namespace(w).broadcast_to(w, (*r.shape[:-1], w.shape[-1])))


@dataclass(frozen=True)
class WithoutMarksConfig(RelativeConfig):
    """The same without embeddings of columns."""

    marks: int = 0

    def with_marks(self) -> RelativeConfig:
        """Further training has none either."""
        return self


class RelativeWithoutMarks(Relative):
    """No column is told from another by anything but its values."""

    name = "relative-marks"
    config_type = WithoutMarksConfig


class RelativeWithoutBlend(Relative):
    """The learned score alone, where `relative` adds distances to neighbours or a forest."""

    name = "relative-blend"

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Solve Eq. 3 for the described rows."""
        return self.relate(support, unlabelled, describes_all=True)


RELATIVE_ABLATIONS: tuple[type[Method], ...] = (
    RelativeWithoutPairs,
    RelativeWithoutColumns,
    RelativeWithoutFigures,
    RelativeWithoutHead,
    RelativeWithoutMarks,
    RelativeWithoutBlend,
)
