"""Scores that are a network's embedding and one linear map: squared distances from a centre, and linear scores."""

from dataclasses import dataclass

from oddshot.methods.contract import PreparedScore, Score
from oddshot.score.arrays import Array, affine_rows, float64, matmul, namespace, over_tasks, swap
from oddshot.score.networks import Drop, Layers, hidden, task_part

NO_LAYERS = Layers((), None)  # h(x) = x


@dataclass(frozen=True)
class Distance(Score):
    """a(x) = ‖h(x) P − o‖² (Eq. 2 with the projection folded in).

    h is φ up to its last layer (x itself without layers); that layer's weight is folded into P, so that scoring a row
    costs one layer less. r: [..., H], P: [..., units, K], offset: [..., 1, K]; those that all tasks share have no
    dimension of tasks, or 1 in its place.
    """

    network: Layers
    r: Array | None
    P: Array
    offset: Array
    drop: Drop | None = None

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64, so that squares of large float32 numbers stay finite."""
        projected = self.project(x)
        return namespace(projected).sum(projected * projected, axis=-1)

    def project(self, x: Array) -> Array:
        """Rows in the projected space, relative to the centre (Fig. 2c). x: [..., n, M] -> [..., n, K]."""
        h = hidden(x, self.network, self.r, self.drop)
        projected = float64(affine_rows(self.P, h))
        return projected - over_tasks(self.offset, projected, 2)

    def prepare(self) -> "PreparedNetwork":
        """r becomes a bias of the first layer."""
        weights = list(self.network.weights[:-1])
        biases = [self.network.bias(k) for k in range(len(weights))]
        if self.r is not None:
            biases[0] = task_part(weights[0], biases[0], self.r)
            weights[0] = weights[0][: -self.r.shape[-1]]
        return PreparedNetwork(tuple(weights), tuple(biases), self.P, self.offset)


@dataclass(frozen=True)
class PreparedNetwork(PreparedScore):
    """‖h(x) P − o‖² if `is_distance`, else h(x) P − o. weights: [in, out], biases: [1, out] or None, P: [units, K]."""

    weights: tuple[Array, ...]
    biases: tuple[Array | None, ...]
    P: Array
    offset: Array
    is_distance: bool = True

    def __call__(self, x: Array) -> Array:
        """x: [n, M] -> [n]."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = affine_rows(weight, x, bias, rectified=True)
        projected = float64(matmul(x, self.P)) - self.offset
        return namespace(x).sum(projected * projected, axis=-1) if self.is_distance else projected[..., 0]


@dataclass(frozen=True)
class Linear(Score):
    """A score that is linear in the embedding: a(x) = h(x) P + o.

    h and P as in Distance, with P: [..., units, 1] and offset: [..., 1].
    """

    network: Layers
    P: Array
    offset: Array
    drop: Drop | None = None

    @classmethod
    def of(cls, network: Layers, w: Array, offset: Array, drop: Drop | None = None) -> "Linear":
        """a(x) = wᵀ z + o with z = network(x). w: [..., J], offset: [..., 1], both float64."""
        P, xp = fold_last_layer(network, w), namespace(w)
        if network.biases is not None:
            last = over_tasks(network.biases[-1], w[..., None, :], 2)[..., 0, :]
            offset = offset + xp.sum(w * last, axis=-1, keepdims=True)
        return cls(network, P, offset, drop)

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        h = hidden(x, self.network, drop=self.drop)
        return float64(affine_rows(self.P, h))[..., 0] + self.offset

    def prepare(self) -> PreparedNetwork:
        """The same layers."""
        n = len(self.network.weights) - 1
        biases = tuple(self.network.bias(k) for k in range(n))
        return PreparedNetwork(self.network.weights[:-1], biases, self.P, -self.offset[None], is_distance=False)


def fold_last_layer(network: Layers, w: Array) -> Array:
    """A network's last layer and a direction w of its outputs in one: [..., J] -> [..., units, 1]."""
    last = network.weights[-1]
    return swap(affine_rows(swap(last), namespace(w).astype(w, last.dtype)[..., None, :]))


def shared_distance(network: Layers, center: Array, drop: Drop | None = None) -> Distance:
    """‖φ(x) − c‖² with weights that all tasks share. center: [..., J]."""
    return Distance(network, None, network.weights[-1], float64(center)[..., None, :], drop)
