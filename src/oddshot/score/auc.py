"""Area under the ROC curve of anomaly scores: exact (Eq. 8) and smooth (Eq. 9)."""

from oddshot.score.arrays import Array, float64, namespace, rank_bounds


def exact_auc(normal: Array, anomaly: Array, *, ties: float = 0.5) -> Array:
    """Share of (anomaly, normal) pairs in which the anomaly has the higher score; a tie counts as `ties`.

    normal: [..., N], anomaly: [..., A]. Returns [...]. Eq. 8 is ties=0; the standard AUC is ties=0.5.
    """
    xp = namespace(normal)
    below, not_above = rank_bounds(xp.sort(float64(normal), axis=-1), float64(anomaly))
    n_lower = below + ties * (not_above - below)
    return xp.mean(n_lower, axis=-1) / normal.shape[-1]


def smooth_auc(normal: Array, anomaly: Array) -> Array:
    """Mean sigmoid of the score differences over all (anomaly, normal) pairs (Eq. 9).

    normal: [..., N], anomaly: [..., A]. Returns [...].
    """
    return namespace(normal).mean(sigmoid(anomaly[..., :, None] - normal[..., None, :]), axis=(-2, -1))


def smooth_auc_gradient(normal: Array, anomaly: Array) -> tuple[Array, Array]:
    """Derivatives of the smooth AUC with respect to the scores, themselves differentiable: [..., N] and [..., A]."""
    xp = namespace(normal)
    smoothed = sigmoid(anomaly[..., :, None] - normal[..., None, :])
    slope = smoothed * (1 - smoothed) / (normal.shape[-1] * anomaly.shape[-1])
    return -xp.sum(slope, axis=-2), xp.sum(slope, axis=-1)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e⁻ˣ), finite for any x."""
    return 0.5 * (namespace(x).tanh(0.5 * x) + 1)
