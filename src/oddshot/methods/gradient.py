"""`ft`, `maml`: SSVDD whose network takes gradient steps on the support of each task.

The backward pass is written out, so that it needs no automatic differentiation, and that of training goes through it as
through any other function.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from oddshot.methods.contract import Score
from oddshot.methods.embedding import Centered, EmbeddingConfig
from oddshot.methods.hyperparameters import require_at_least, require_positive
from oddshot.methods.scores import PreparedNetwork
from oddshot.score.arrays import Array, affine_rows, contiguous, detach, float64, namespace, over_tasks, relu, swap
from oddshot.score.auc import smooth_auc_gradient
from oddshot.score.networks import Drop
from oddshot.score.rows import LabelledRows


class TaskLayer(Protocol):
    """A bias-free layer that is another one for each task."""

    def __call__(self, x: Array) -> Array:
        """x W_t: [..., n, in] -> [..., n, out]."""

    def backward(self, y: Array) -> Array:
        """y W_tᵀ: [..., n, out] -> [..., n, in]."""

    def weight(self) -> Array:
        """W_t of the only task: [in, out]."""


@dataclass(frozen=True)
class DenseLayer:
    """W: [..., in, out], of each task."""

    W: Array

    def __call__(self, x: Array) -> Array:
        """x W_t."""
        return x @ self.W

    def backward(self, y: Array) -> Array:
        """y W_tᵀ."""
        return y @ swap(self.W)

    def weight(self) -> Array:
        """[in, out]."""
        return self.W


@dataclass(frozen=True)
class LowRankLayer:
    """W_t = W + X_tᵀ C_t. W: [..., in, out], shared; X: [..., n, in]; C: [..., n, out] of each task.

    The gradient of a weight is XᵀG, the layer's input rows times the gradient of its outputs. On a support of few rows
    that is a matrix of low rank: the steps of a task are kept as the rows of X and G, n being those of all steps.
    """

    W: Array
    X: Array | None = None
    C: Array | None = None

    def __call__(self, x: Array) -> Array:
        """x W_t."""
        shared = affine_rows(self.W, x)
        return shared if self.X is None else shared + (x @ swap(self.X)) @ self.C

    def backward(self, y: Array) -> Array:
        """y W_tᵀ."""
        shared = affine_rows(swap(self.W), y)
        return shared if self.X is None else shared + (y @ swap(self.C)) @ self.X

    def step(self, x: Array, change: Array) -> "LowRankLayer":
        """After a gradient step. x: [..., s, in]; change: rate times the gradient of outputs, [..., s, out]."""
        if self.X is None:
            return LowRankLayer(self.W, x, change)
        xp = namespace(x)
        return LowRankLayer(self.W, xp.concat([self.X, x], axis=-2), xp.concat([self.C, change], axis=-2))

    def weight(self) -> Array:
        """[in, out]."""
        return self.W if self.X is None else self.W + swap(self.X) @ self.C


@dataclass(frozen=True)
class SteppedDistance(Score):
    """a(x) = ‖φ_t(x) − c‖² with a bias-free network of each task. center: [..., J]. drop: dropout, in training."""

    layers: Sequence[TaskLayer]
    center: Array
    drop: Drop | None = None

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        for layer in self.layers[:-1]:
            x = relu(layer(x))
            x = x if self.drop is None else self.drop(x)
        z = self._from_center(x)
        return namespace(z).sum(z * z, axis=-1)

    def rising(self, support: LabelledRows) -> list[tuple[Array, Array]]:
        """Of each layer, its inputs and the gradient of the support's smooth AUC with respect to its outputs."""
        xp, inputs, gates = namespace(support.normal), [support.joined()], []
        for layer in self.layers[:-1]:
            y = layer(inputs[-1])
            gate = xp.astype(y > 0, y.dtype)  # ReLU and dropout are a product with this
            gates.append(gate if self.drop is None else self.drop(gate))
            inputs.append(y * gates[-1])
        z, n = self._from_center(inputs[-1]), support.n_normal
        scores = xp.sum(z * z, axis=-1)
        up = xp.concat(list(smooth_auc_gradient(scores[..., :n], scores[..., n:])), axis=-1)
        changes = [xp.astype(2 * up[..., None] * z, inputs[-1].dtype)]  # of each layer's output, last one first
        for layer, gate in zip(self.layers[:0:-1], gates[::-1], strict=True):
            changes.append(layer.backward(changes[-1]) * gate)
        return list(zip(inputs, changes[::-1], strict=True))

    def prepare(self) -> PreparedNetwork:
        """The only task's weights, written out."""
        *weights, last = (contiguous(layer.weight()) for layer in self.layers)
        return PreparedNetwork(tuple(weights), (None,) * len(weights), last, float64(self.center)[None])

    def _from_center(self, hidden: Array) -> Array:
        """φ_t(x) − c in float64, from what enters the last layer: [..., n, J]."""
        z = float64(self.layers[-1](hidden))
        return z - over_tasks(float64(self.center), z, 1)


@dataclass(frozen=True)
class FTConfig(EmbeddingConfig):
    """fine_tuning_epochs: the paper's 30. chunk_tasks: how many tasks are fine-tuned at a time."""

    fine_tuning_epochs: int = 30
    fine_tuning_rate: float = 1e-3
    chunk_tasks: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, fine_tuning_epochs=1, chunk_tasks=1)
        require_positive(self, "fine_tuning_rate")


class FT(Centered):
    """SSVDD, trained and validated as such, then fine-tuned on the support of each new task."""

    name = "ft"
    config_type = FTConfig

    def learned(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """The support is ignored."""
        return self.shared_score()

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Adam on minus the smooth AUC of each task's support, the whole support a step; not differentiable."""
        self.check_support(support, anomaly=1)
        if support.normal.ndim == 2:
            return self._fine_tune(support)
        xp, step = namespace(support.normal), self.config.chunk_tasks
        starts = range(0, support.normal.shape[-3], step)
        parts = [self._fine_tune(LabelledRows(*(rows[..., k : k + step, :, :] for rows in support))) for k in starts]
        layers = zip(*(part.layers for part in parts), strict=True)
        joined = [DenseLayer(xp.concat([one.weight() for one in layer], axis=-3)) for layer in layers]
        return SteppedDistance(joined, self.weights["center"])

    def _fine_tune(self, support: LabelledRows) -> SteppedDistance:
        # NOTE[PAPER] how it fine-tunes is not stated: as it trains, by Adam at learning rate 1e-3 for the same AUC.
        xp, center = namespace(support.normal), self.weights["center"]
        weights = []
        for weight in self.layers("phi").weights:
            shape = (*support.normal.shape[:-2], *weight.shape[-2:])
            weights.append(xp.broadcast_to(over_tasks(detach(weight), support.normal, 2), shape))
        moments = [(xp.zeros_like(weight), xp.zeros_like(weight)) for weight in weights]
        for step in range(1, self.config.fine_tuning_epochs + 1):
            rising = SteppedDistance([DenseLayer(weight) for weight in weights], detach(center)).rising(support)
            for k, (inputs, change) in enumerate(rising):
                gradient = -(swap(inputs) @ change)
                weights[k], moments[k] = adam_step(weights[k], gradient, moments[k], step, self.config.fine_tuning_rate)
        return SteppedDistance([DenseLayer(weight) for weight in weights], center)


def adam_step(
    weight: Array, gradient: Array, moments: tuple[Array, Array], step: int, learning_rate: float
) -> tuple[Array, tuple[Array, Array]]:
    """Adam with its default settings, each entry by itself: the weight after the step, and its moments."""
    beta1, beta2, epsilon = 0.9, 0.999, 1e-8
    first = beta1 * moments[0] + (1 - beta1) * gradient
    second = beta2 * moments[1] + (1 - beta2) * gradient * gradient
    spread = namespace(weight).sqrt(second) / (1 - beta2**step) ** 0.5 + epsilon
    return weight - learning_rate / (1 - beta1**step) * first / spread, (first, second)


@dataclass(frozen=True)
class MAMLConfig(EmbeddingConfig):
    """inner_steps: the paper's five."""

    inner_steps: int = 5
    inner_learning_rate: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, inner_steps=1)
        require_positive(self, "inner_learning_rate")


class MAML(Centered):
    """Model-agnostic meta-learning (Finn et al., 2017) of SSVDD: φ is where all tasks start; each takes gradient steps
    on its support, and training differentiates through them."""

    name = "maml"
    config_type = MAMLConfig

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> SteppedDistance:
        """Full-gradient steps down minus the smooth AUC of the support, differentiable to the second order."""
        self.check_support(support, anomaly=1)
        # NOTE[PAPER] the inner learning rate and optimiser are not stated: plain gradient steps, as Finn et al. take.
        layers = [LowRankLayer(weight) for weight in self.layers("phi").weights]
        for _ in range(self.config.inner_steps):
            rising = SteppedDistance(layers, self.weights["center"], self.drop).rising(support)
            rate = self.config.inner_learning_rate
            layers = [layer.step(x, rate * change) for layer, (x, change) in zip(layers, rising, strict=True)]
        return SteppedDistance(layers, self.weights["center"], self.drop)
