"""The projection that adapts a task in closed form: w with anomalies (Eqs. 3-7), v without (Sec. 3.4).

Everything is computed in float64, whatever the inputs: the matrices are small, and with a small η the Cholesky
factorisation of S_N fails in float32.
"""

import math

from array_api_compat import device

from oddshot.score.arrays import Array, detach, float64, has_gradient, namespace, solve_spd, swap


def fit_projection(z_normal: Array, z_anomaly: Array, eta: Array) -> Array:
    """Direction in which anomalies lie far from the centre and normal rows near it (Eq. 3).

    z_normal: [..., N_N, J], z_anomaly: [..., N_A, J], both minus the centre c; eta: [...]. Returns w: [..., J] in
    float64, with arbitrary sign, scaled so that wᵀ S_N w = λ: for one anomaly w = S_N⁻¹ z (Eq. 7).

    If all anomalies lie on the centre, w = 0 and every score is 0. If the largest eigenvalue is not simple, w is one of
    its eigenvectors, and its gradient leaves out rotations within their space.
    """
    z_normal, z_anomaly, eta = float64(z_normal), float64(z_anomaly), float64(eta)
    n_anomaly, n_dims = z_anomaly.shape[-2:]
    if n_anomaly > n_dims and not has_gradient(
        z_anomaly
    ):  # rows with the same second moment: R with Rᵀ R / J = Zᵀ Z / N
        z_anomaly, n_anomaly = _compress(z_anomaly), n_dims
    # S_A has rank N_A at most, so the J x J problem of Eq. 6 is an N_A x N_A one; for N_A = 1 this is Eq. 7.
    z_anomaly = z_anomaly / n_anomaly**0.5
    solved = solve_S_N(z_normal, eta, swap(z_anomaly))  # [..., J, N_A]
    if n_anomaly == 1:
        return solved[..., 0]
    u = top_eigenvector(z_anomaly @ solved)
    return (solved @ u[..., None])[..., 0]


def to_unit_length(w: Array) -> Array:
    """w / ‖w‖, or 0 if w is 0, with a finite gradient in both cases. w: [..., J]."""
    # NOTE[PAPER] Eq. 3 leaves the length of w open, the sigmoid of Eq. 9 does not; see docs/PAPER.md for the choice.
    xp = namespace(w)
    squared = xp.sum(w * w, axis=-1, keepdims=True)
    is_zero = squared == 0
    one = xp.ones_like(squared)
    return w / xp.sqrt(xp.where(is_zero, one, squared))


def solve_S_N(z_normal: Array, eta: Array, b: Array) -> Array:
    """S_N⁻¹ b with S_N = Zᵀ Z / N_N + η I (Eq. 5).

    z_normal: [..., N_N, J], eta: [...], b: [..., J, K]. Returns [..., J, K].
    """
    n_normal, n_dims = z_normal.shape[-2:]
    z = z_normal / n_normal**0.5
    if n_normal >= n_dims:
        return solve_regularised(swap(z) @ z, eta, b)
    # Woodbury: S_N⁻¹ = (I − Zᵀ (Z Zᵀ + η I)⁻¹ Z) / η needs the Cholesky factor of an N_N x N_N matrix only.
    within = swap(z) @ solve_regularised(z @ swap(z), eta, z @ b)
    return (b - within) / eta[..., None, None]


def fit_normal_projection(phi_normal: Array, ridge: Array) -> Array:
    """Direction v with vᵀφ ≈ 1 for the normal rows in the least-squares sense (Sec. 3.4).

    phi_normal: [..., N_N, J], ridge: [...]. Returns v: [..., J] in float64. All rows of the paper's C are the centre c,
    so its W is v cᵀ, and the score ‖Wᵀφ − c‖² is ‖c‖² (vᵀφ − 1)².
    """
    # NOTE[PAPER] (ΦᵀΦ)⁻¹ is singular for N_N < J: a ridge is added, v = (ΦᵀΦ / N_N + ρ I)⁻¹ Φᵀ1 / N_N.
    phi = float64(phi_normal)
    mean = namespace(phi).mean(phi, axis=-2)
    return solve_S_N(phi, float64(ridge), mean[..., None])[..., 0]


def solve_ridge(z: Array, target: Array, ridge: Array) -> Array:
    """w = argmin ‖Z w − y‖² + λ ‖w‖², solved as w = Zᵀ (Z Zᵀ + λ I)⁻¹ y: few rows, many columns.

    z: [..., N, J], target: [N] or [..., N], ridge: [...], above 0, float64. Returns w: [..., J].
    """
    target = namespace(z).broadcast_to(target, z.shape[:-1])[..., None]
    return (swap(z) @ solve_regularised(z @ swap(z), ridge, target))[..., 0]


def top_eigenvector(a: Array) -> Array:
    """Unit eigenvector of the largest eigenvalue, with a gradient that is finite for any symmetric matrix.

    a: [..., n, n], symmetric. Returns u: [..., n].
    """
    xp, fixed = namespace(a), detach(a)
    values, vectors = xp.linalg.eigh((fixed + swap(fixed)) / 2)
    u = vectors[..., -1]
    if not has_gradient(a):
        return u
    gap = values[..., -1:] - values
    # First-order change of u: du = P dA u. Rotations towards eigenvectors of the same eigenvalue are not defined.
    is_tied = gap <= 1e-12 * xp.max(xp.abs(values), axis=-1, keepdims=True)
    one = xp.ones_like(gap)
    turn = vectors * xp.where(is_tied, 0 * one, 1 / xp.where(is_tied, one, gap))[..., None, :]
    # P A u = λ P u = 0: the second term is 0 in value and carries the whole gradient.
    au = a @ u[..., None]
    change = turn @ (swap(vectors) @ (au - detach(au)))
    return u + change[..., 0]


def solve_regularised(gram: Array, eta: Array, b: Array) -> Array:
    """(gram + η I)⁻¹ b. gram: [..., n, n], positive semi-definite; eta: [...]; b: [..., n, K]. Returns [..., n, K]."""
    xp = namespace(gram)
    # If η is lost in the rounding of huge entries, a small multiple of the trace keeps the matrix positive definite.
    trace = xp.sum(xp.linalg.diagonal(detach(gram)), axis=-1)
    identity = xp.eye(gram.shape[-1], dtype=gram.dtype, device=device(gram))
    return solve_spd(gram + (eta + 1e-14 * trace)[..., None, None] * identity, b)


def _compress(z: Array) -> Array:
    """J rows with the same second moment: R' with R'ᵀ R' / J = Zᵀ Z / N. z: [..., N, J], N > J. Returns [..., J, J]."""
    n, n_dims = z.shape[-2:]
    _, R = namespace(z).linalg.qr(z)
    return R * math.sqrt(n_dims / n)
