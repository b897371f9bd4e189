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
from oddshot.model.description import Describer
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
        """The memory of a description, and that of φ's second layer; none where rows are not described in chunks."""
        if not self._has_chunks(n):
            return []
        second = self.network.layers[1].W
        return [*self._chunks.make_memory(n), second.new_empty(n, second.shape[1])]

    def __call__(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]."""
        if not self._has_chunks(len(x)):
            return self._score_few(x)
        if not buffers or buffers[0].shape[-1] != len(x):
            buffers = self.make_buffers(len(x))
        memory, second = ChunkMemory(*buffers[:-1]), buffers[-1]
        first, units = self._first_layer, self.network.layers[0].W.shape[1]
        looked_up = self.describe.look_up(x, first.table)
        description = self._chunks(x, looked_up[:, units:], memory)
        h = looked_up[:, :units].addmm_(description.T, first.W).relu_()
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
        U, C = self._chunks.n_units, self._chunks.n_powers
        sizes = [U, U, U, values.shape[1] - C, C, 2 * N_ROW_FEATURES, N_TASK_FEATURES]
        normal, anomaly, largest, means, roots, features, task = layer.W.split(sizes)
        b = self.describe.task_features[0, 0, :, 0] @ task
        b = b if layer.b is None else b + layer.b
        # The weights of a column's two knots have the sum 1, so that those of all columns have the sum M.
        table = torch.cat([values[:, :-C] @ means + b / context.rows.shape[3], values[:, -C:]], dim=1)
        parts = [normal / context.normal.shape[2], anomaly / max(context.n_anomaly, 1), largest, features, roots]
        return FirstLayer(table, torch.cat(parts))

    def _score_few(self, x: Tensor) -> Tensor:
        """Descriptions come transposed, [D, n], and Wᵀ x needs no transposition back."""
        z = self.describe.transposed(x[None, None])[0, 0]
        for layer in self.network.layers:
            z = layer.W.T @ z if layer.b is None else torch.addmm(layer.b[:, None], layer.W.T, z)
            z.relu_()
        projected = (self.network.P.T @ z).double().sub_(self.network.offset[:, None])
        return projected.square_().sum(0)


class FirstLayer(NamedTuple):
    """φ's first layer. table: [M · N_KNOTS, units + C], what the columns add to it at each knot, with all that is the
    same for all rows, and the fourth powers. W: [D, units], of the other numbers of a description."""

    table: Tensor
    W: Tensor
