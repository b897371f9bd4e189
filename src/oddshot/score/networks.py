"""Feed-forward networks: f, g and φ of Eq. 1, and those that describe rows."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from oddshot.score.arrays import Array, affine_rows, over_tasks, relu

Drop = Callable[[Array], Array]


class Layers(NamedTuple):
    """weights: [..., in, out] each; biases: [..., 1, out] each, or none of them."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...] | None

    @classmethod
    def named(cls, weights: Mapping[str, Array], name: str) -> "Layers":
        """Those called `name.weights.0`, `name.biases.0` and so on."""
        return cls(_numbered(weights, f"{name}.weights."), _numbered(weights, f"{name}.biases.") or None)

    def bias(self, k: int) -> Array | None:
        """Of the layer k."""
        return None if self.biases is None else self.biases[k]


def mlp(x: Array, layers: Layers, r: Array | None = None, drop: Drop | None = None) -> Array:
    """ReLU between the layers, none after the last. x: [..., n, in] -> [..., n, out]; see `hidden`."""
    h = hidden(x, layers, r, drop)
    return affine_rows(layers.weights[-1], h, layers.bias(-1))


def hidden(x: Array, layers: Layers, r: Array | None = None, drop: Drop | None = None) -> Array:
    """The input of the last layer: [..., n, units]. r: [..., H], joined to every row of its task. drop: dropout."""
    for k, weight in enumerate(layers.weights[:-1]):
        if k == 0 and r is not None:
            x = relu(affine_rows(weight[..., : x.shape[-1], :], x) + task_part(weight, layers.bias(0), r))
        else:
            x = affine_rows(weight, x, layers.bias(k), rectified=True)
        x = x if drop is None else drop(x)
    return x


def task_part(weight: Array, bias: Array | None, r: Array) -> Array:
    """What r, the same for all rows of a task, adds to the first layer: [x, r] W = x W_x + r W_r. [..., 1, out]."""
    of_task = affine_rows(weight[..., -r.shape[-1] :, :], r[..., None, :])
    return of_task if bias is None else of_task + over_tasks(bias, of_task, 2)


def _numbered(weights: Mapping[str, Array], start: str) -> tuple[Array, ...]:
    found: list[Array] = []
    while f"{start}{len(found)}" in weights:
        found.append(weights[f"{start}{len(found)}"])
    return tuple(found)
