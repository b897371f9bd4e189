"""`relative` without one of its parts: pairs, columns, figures, the eigenvalue problem, marks, what it is blended with.

Not in the paper; as with its own ablations, they tell what each part is good for.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from oddshot.methods.contract import LabelledRows, Method, Score
from oddshot.methods.relative import Relative, RelativeConfig
from oddshot.methods.scores import Distance
from oddshot.model.description import Describer
from oddshot.model.projection import to_unit_length
from oddshot.model.relations import LeaveOneOutView


@dataclass(frozen=True, eq=False, kw_only=True)
class PartialDescriber(Describer):
    """Descriptions with 0 in the place of one part, as if the networks that see them had no such inputs."""

    absent: slice
    has_all_parts: ClassVar[bool] = False

    def transposed(self, x: Tensor) -> Tensor:
        """Descriptions of rows, as [R, T, D, N]."""
        return self._without_part(super().transposed(x).mT).mT

    def _leave_one_out(self, view: LeaveOneOutView) -> Tensor:
        return self._without_part(super()._leave_one_out(view))

    def _without_part(self, descriptions: Tensor) -> Tensor:
        present = descriptions.new_ones(descriptions.shape[-1])
        present[self.absent] = 0
        return descriptions * present


class RelativeWithoutPart(Relative):
    """Rows are described without one of three parts: pairs of rows, columns, or figures of the row and its task."""

    part: ClassVar[Literal["pairs", "columns", "figures"]]

    def describer(self, support: LabelledRows, unlabelled: Tensor | None) -> Describer:
        """The same without the part."""
        whole = super().describer(support, unlabelled)
        networks = whole.pair, whole.column, whole.attention
        inputs = whole.context, whole.marks, whole.sampled
        return PartialDescriber(*networks, *inputs, absent=self._place_of_part())

    def _place_of_part(self) -> slice:
        n_pairs = 3 * self.config.pair_units
        n_columns = (2 + self.config.heads) * self.config.column_units
        places = {
            "pairs": slice(n_pairs),
            "columns": slice(n_pairs, n_pairs + n_columns),
            "figures": slice(n_pairs + n_columns, None),
        }
        return places[self.part]


class RelativeWithoutPairs(RelativeWithoutPart):
    """Without the network over the pairs of a row with the labelled rows."""

    name = "relative-pairs"
    part = "pairs"


class RelativeWithoutColumns(RelativeWithoutPart):
    """Without the networks over the columns, and so without marks."""

    name = "relative-columns"
    part = "columns"


class RelativeWithoutFigures(RelativeWithoutPart):
    """Without distances, lengths and numbers of rows, which are given as they are."""

    name = "relative-figures"
    part = "figures"


class RelativeWithoutHead(Relative):
    """The direction w is learned and the same for all tasks, not solved for (Eq. 3): it is that of `imagined`."""

    name = "relative-head"

    def solve(self, support: LabelledRows, imagined: Tensor | None = None) -> Distance:
        """Only r adapts to the task."""
        assert imagined is not None
        r = self.represent(support)
        w = to_unit_length(imagined.double())[:, None].expand(-1, r.shape[1], -1)
        return Distance(self.phi, r, self._fold(w), (w * self.center[:, None]).sum(-1, keepdim=True))


@dataclass(frozen=True)
class WithoutMarksConfig(RelativeConfig):
    """The same without marks."""

    marks: int = 0

    def with_marks(self) -> RelativeConfig:
        """Further training has no marks either."""
        return self


class RelativeWithoutMarks(Relative):
    """No column is told from another by anything but its values."""

    name = "relative-marks"
    config_type = WithoutMarksConfig


class RelativeWithoutBlend(Relative):
    """The learned score alone, where `relative` adds distances to neighbours or a forest."""

    name = "relative-blend"

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
        """Solve Eq. 3 for the described rows."""
        return self.relate(support, unlabelled)


RELATIVE_ABLATIONS: tuple[type[Method], ...] = (
    RelativeWithoutPairs,
    RelativeWithoutColumns,
    RelativeWithoutFigures,
    RelativeWithoutHead,
    RelativeWithoutMarks,
    RelativeWithoutBlend,
)
