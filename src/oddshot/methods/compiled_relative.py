"""The score of `relative` for one task, with what depends on the task alone folded into the weights of φ."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.methods.compiled import CompiledNetwork, CompiledScore, rows_in_cache
from oddshot.model.chunk_description import ChunkDescriber, ChunkMemory
from oddshot.model.curves import N_KNOTS
from oddshot.model.description import MIN_POWER_MEAN, Describer
from oddshot.model.knot_lookup import LookUpMemory
from oddshot.model.relations import N_ROW_FEATURES, N_TASK_FEATURES

MEMORY_NUMBERS = 2**21  # numbers of one chunk in all steps: with fewer rows the cost of calling the steps shows


@dataclass(frozen=True)
class CompiledRelative(CompiledScore):
    """The score of `relative`: rows are described, then scored by φ and the projection."""

    describe: Describer
    network: CompiledNetwork

    @property
    def chunk_rows(self) -> int:
        """A chunk takes some hundred steps: it is so long that the cost of calling them does not show."""
        return rows_in_cache(MEMORY_NUMBERS, self._chunks.numbers_per_row)

    def make_buffers(self, n: int) -> list[Tensor]:
        """The memory of a look-up and of a description, and that of φ's second layer.

        None where rows are not described in chunks.
        """
        if not self._has_chunks(n):
            return []
        second = self.network.layers[1].W
        memories = (*self.describe.look_up.make_memory(n), *self._chunks.make_memory(n))
        return [*memories, second.new_empty(n, second.shape[1])]

    def __call__(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]."""
        if not self._has_chunks(len(x)):
            return self._score_few(x)
        if not buffers or len(buffers[0]) != len(x):
            buffers = self.make_buffers(len(x))
        n = len(LookUpMemory._fields)
        looked_up, memory, second = LookUpMemory(*buffers[:n]), ChunkMemory(*buffers[n:-1]), buffers[-1]
        self.describe.look_up(x, looked_up)
        first, roots = self._first_layer, looked_up.sums(self._first_layer.powers).sqrt_().sqrt_()
        h = looked_up.sums(first.table).addmm_(self._chunks(x, memory).T, first.W).addmm_(roots, first.roots).relu_()
        torch.mm(h, self.network.layers[1].W, out=second).relu_()
        return (second @ self.network.P).double().sub_(self.network.offset).square_().sum(1)

    def _has_chunks(self, n: int) -> bool:
        """Whether n rows are described in chunks: many rows of two columns or more, by all parts, on a CPU."""
        context = self.describe.context
        return n >= N_KNOTS and self.describe.has_all_parts and not (context.rows.is_cuda or context.has_single_columns)

    @cached_property
    def _chunks(self) -> ChunkDescriber:
        return ChunkDescriber(self.describe)

    @cached_property
    def _first_layer(self) -> "FirstLayer":
        """φ's first layer."""
        layer, values, context = self.network.layers[0], self.describe.table, self.describe.context
        U, M, C = self._chunks.n_units, context.rows.shape[3], int(self.describe.column.last_weight.shape[-1])
        sizes = [U, U, U, values.shape[1] - C, C, 2 * N_ROW_FEATURES, N_TASK_FEATURES]
        normal, anomaly, largest, means, roots, features, task = layer.W.split(sizes)
        b = self.describe.task_features[0, 0, :, 0] @ task
        b = b if layer.b is None else b + layer.b
        parts = [normal / context.normal.shape[2], anomaly / max(context.n_anomaly, 1), largest, features]
        # The weights of a column's two knots have the sum 1, so that those of all columns have the sum M.
        table, powers = values[:, :-C] @ means + b / M, values[:, -C:] + MIN_POWER_MEAN / M
        return FirstLayer(table, powers, torch.cat(parts), roots)

    def _score_few(self, x: Tensor) -> Tensor:
        """Descriptions come transposed, [D, n], and Wᵀ x needs no transposition back."""
        z = self.describe.transposed(x[None, None])[0, 0]
        for layer in self.network.layers:
            z = layer.W.T @ z if layer.b is None else torch.addmm(layer.b[:, None], layer.W.T, z)
            z.relu_()
        projected = (self.network.P.T @ z).double().sub_(self.network.offset[:, None])
        return projected.square_().sum(0)


class FirstLayer(NamedTuple):
    """φ's first layer. table: [M · N_KNOTS, units], what the columns add to it at each knot, with all that is the same
    for all rows; powers: [M · N_KNOTS, C], what they add to the means of fourth powers.

    W: [D, units], of the numbers of a description that are not looked up; roots: [C, units], of the fourth roots.
    """

    table: Tensor
    powers: Tensor
    W: Tensor
    roots: Tensor
