"""Every equation of the paper once more, as plain loops in NumPy float64: slow, obvious, independent of src."""

import numpy as np
import scipy.linalg


def layers_of(network, replica=0):
    """[(weight, bias)] of one replica of a Network."""
    weights = [w[replica].detach().double().numpy() for w in network.weights]
    if network.biases is None:
        return [(w, np.zeros(w.shape[1])) for w in weights]
    return [(w, b[replica, 0].detach().double().numpy()) for w, b in zip(weights, network.biases, strict=True)]


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
