"""Values of many rows looked up between the knots of their columns, in memory that may be used again."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.model.curves import MAX_POSITION, N_KNOTS, ColumnCurves


class LookUpMemory(NamedTuple):
    """For n rows. position, scratch: [n, M]. places, weights: [n, 2, M], of the two knots around each value.

    starts: [n], where the places of each row start.
    """

    position: Tensor
    scratch: Tensor
    places: Tensor
    weights: Tensor
    starts: Tensor

    def sums(self, table: Tensor) -> Tensor:
        """Sums over the columns of what they add between their knots. table: [M · N_KNOTS, D] -> [n, D]."""
        return torch.nn.functional.embedding_bag(
            self.places.view(-1), table, self.starts, mode="sum", per_sample_weights=self.weights.view(-1)
        )


@dataclass(frozen=True, eq=False)
class KnotLookUp:
    """Finds the two knots around each value in the columns of the only task of `curves`."""

    curves: ColumnCurves

    def make_memory(self, n: int) -> LookUpMemory:
        """Memory for n rows."""
        firsts = self._firsts
        M, device = len(firsts), firsts.device
        position, scratch, weights = (firsts.new_empty(shape) for shape in ((n, M), (n, M), (n, 2, M)))
        places = torch.empty(n, 2, M, dtype=torch.int32, device=device)
        starts = torch.arange(0, 2 * M * n, 2 * M, dtype=torch.int32, device=device)
        return LookUpMemory(position, scratch, places, weights, starts)

    def __call__(self, x: Tensor, memory: LookUpMemory) -> None:
        """Fill places and weights; see `ColumnCurves.knot_position`. x: [n, M]."""
        (scale, shift), (position, low, places, weights, _) = self._scaling, memory
        torch.addcmul(shift, x, scale, out=position)
        torch.abs(position, out=low).log1p_().copysign_(position)
        torch.add(self._middle, low, alpha=(N_KNOTS - 1) / (2 * MAX_POSITION), out=position)
        torch.floor(position.clamp_(0, self._last), out=low)
        torch.sub(position, low, out=weights[:, 1])
        torch.sub(self._one, weights[:, 1], out=weights[:, 0])
        places[:, 0] = low.add_(self._firsts)
        torch.add(places[:, 0], 1, out=places[:, 1])

    @cached_property
    def _scaling(self) -> tuple[Tensor, Tensor]:
        """Factor and summand of each column: [M] each."""
        scale, shift = (part[0, 0, :, 0].contiguous() for part in self.curves.knot_scaling)
        return scale, shift

    @cached_property
    def _firsts(self) -> Tensor:
        """The place of the first knot of each column: [M]."""
        rows = self.curves.context.rows
        return N_KNOTS * torch.arange(rows.shape[3], dtype=rows.dtype, device=rows.device)

    @cached_property
    def _middle(self) -> Tensor:
        """The position of a column's mean."""
        return self._firsts.new_tensor((N_KNOTS - 1) / 2)

    @cached_property
    def _last(self) -> float:
        """The last position: the next smaller number than that of the last knot, so that there is always one after."""
        return (N_KNOTS - 1) * (1 - torch.finfo(self._firsts.dtype).eps / 2)

    @cached_property
    def _one(self) -> Tensor:
        return self._firsts.new_ones(())
