"""Every equation of the paper once more, as plain loops in NumPy float64: slow, obvious, independent of src."""

import numpy as np
import scipy.linalg


def layers_of(layers):
    """[(weight, bias)] of Layers in NumPy, without leading dimensions."""
    weights = [weight.astype(np.float64) for weight in layers.weights]
    if layers.biases is None:
        return [(weight, np.zeros(weight.shape[1])) for weight in weights]
    return [(weight, bias[0].astype(np.float64)) for weight, bias in zip(weights, layers.biases, strict=True)]


def feed_forward(layers, x):
    for k, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if k < len(layers) - 1:
            x = np.maximum(x, 0.0)
    return x


def task_representation(f, g, normal, anomaly):
    """Eq. 1."""
    total, n = 0.0, 0
    for rows, y in ((normal, 0.0), (anomaly, 1.0)):
        for x in rows:
            total = total + feed_forward(f, np.append(x, y))
            n += 1
    return feed_forward(g, total / n)


def scatter(rows):
    """S_A (Eq. 4), and S_N (Eq. 5) without η: mean outer product. rows: [n, J], minus the centre."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for z in rows:
        total += np.outer(z, z)
    return total / len(rows)


def projection(z_normal, z_anomaly, eta):
    """Eq. 6 by LAPACK on the J x J matrices, scaled to wᵀ S_N w = λ."""
    S_A = scatter(z_anomaly)
    S_N = scatter(z_normal) + eta * np.eye(z_normal.shape[1])
    values, vectors = scipy.linalg.eigh(S_A, S_N)  # vectors with wᵀ S_N w = 1
    return vectors[:, -1] * np.sqrt(max(values[-1], 0.0))


def anomaly_score(w, z):
    """Eq. 2, z already minus the centre."""
    return float(w @ z) ** 2


def normal_projection(phi, center, ridge):
    """Sec. 3.4 with a ridge: argmin_W mean ‖Wᵀφ − c‖² + ρ ‖W‖², by the normal equations."""
    n, J = phi.shape
    C = np.stack([center] * n)
    return np.linalg.inv(phi.T @ phi / n + ridge * np.eye(J)) @ (phi.T @ C / n)


def auc(normal, anomaly, ties):
    """Eq. 8; `ties` is what an equal pair counts."""
    won = 0.0
    for a in anomaly:
        for b in normal:
            won += 1.0 if a > b else ties if a == b else 0.0
    return won / (len(normal) * len(anomaly))


def smooth_auc(normal, anomaly):
    """Eq. 9."""
    total = sum(1.0 / (1.0 + np.exp(-(a - b))) for a in anomaly for b in normal)
    return total / (len(normal) * len(anomaly))


def center_distance(phi, center, x):
    """SVDD and its kin: ‖φ(x) − c‖²."""
    total = 0.0
    for value, c in zip(feed_forward(phi, x), center, strict=True):
        total += (value - c) ** 2
    return total


def prototype_logit(phi, normal, anomaly, x):
    """Prototypical networks: log p(anomaly) − log p(normal), p from a softmax of minus the squared distances."""
    z = feed_forward(phi, x)
    distances = []
    for rows in (normal, anomaly):
        mean = sum(feed_forward(phi, row) for row in rows) / len(rows)
        distances.append(sum((z - mean) ** 2))
    exponents = np.array([-distances[0], -distances[1]])
    log_p = exponents - np.logaddexp(*exponents)
    return log_p[1] - log_p[0]


def ridge_weights(rows, targets, ridge):
    """argmin_w Σ (wᵀz − y)² + λ ‖w‖², by its J x J normal equations."""
    A = ridge * np.eye(rows.shape[1])
    b = np.zeros(rows.shape[1])
    for z, y in zip(rows, targets, strict=True):
        A += np.outer(z, z)
        b += y * z
    return np.linalg.inv(A) @ b


def ridge_head_score(phi, normal, anomaly, x, ridge, scale):
    """R2D2: ridge regression of ±1 on the embedding."""
    rows = np.stack([feed_forward(phi, row) for row in (*normal, *anomaly)])
    w = ridge_weights(rows, [-1.0] * len(normal) + [1.0] * len(anomaly), ridge)
    return scale * (w @ feed_forward(phi, x))


def ridge_and_nearest(normal, anomaly, x):
    """Length along the ridge direction plus length to the nearest normal row."""
    rows = np.concatenate([normal, anomaly])
    mean = rows.mean(axis=0)
    targets = np.array([0.0] * len(normal) + [1.0] * len(anomaly))
    ridge = np.mean([(row - mean) @ (row - mean) for row in rows])
    w = ridge_weights(rows - mean, targets - targets.mean(), ridge)
    length = np.sqrt(w @ w)
    along = w @ (x - mean) / length if length > 0 else 0.0
    return along + min(np.sqrt((x - row) @ (x - row)) for row in normal)
