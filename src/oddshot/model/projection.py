"""The projection that adapts a task in closed form: w with anomalies (Eqs. 3-7), v without (Sec. 3.4).

Everything is computed in float64, whatever the inputs: the matrices are small, and with a small η the Cholesky
factorisation of S_N fails in float32.
"""

import math

import torch
from torch import Tensor


def fit_projection(z_normal: Tensor, z_anomaly: Tensor, eta: Tensor) -> Tensor:
    """Direction in which anomalies lie far from the centre and normal rows near it (Eq. 3).

    z_normal: [..., N_N, J], z_anomaly: [..., N_A, J], both minus the centre c; eta: [...]. Returns w: [..., J] in
    float64, with arbitrary sign, scaled so that wᵀ S_N w = λ: for one anomaly w = S_N⁻¹ z (Eq. 7).

    If all anomalies lie on the centre, w = 0 and every score is 0. If the largest eigenvalue is not simple, w is one of
    its eigenvectors, and its gradient leaves out rotations within their space.
    """
    z_normal, z_anomaly, eta = z_normal.double(), z_anomaly.double(), eta.double()
    n_anomaly, n_dims = z_anomaly.shape[-2:]
    if n_anomaly > n_dims and not z_anomaly.requires_grad:
        z_anomaly, n_anomaly = _compress(z_anomaly), n_dims
    # S_A has rank N_A at most, so the J x J problem of Eq. 6 is an N_A x N_A one; for N_A = 1 this is Eq. 7.
    z_anomaly = z_anomaly / n_anomaly**0.5
    solved = solve_S_N(z_normal, eta, z_anomaly.mT)  # [..., J, N_A]
    if n_anomaly == 1:
        return solved.squeeze(-1)
    u = top_eigenvector(z_anomaly @ solved)
    return (solved @ u.unsqueeze(-1)).squeeze(-1)


def to_unit_length(w: Tensor) -> Tensor:
    """w / ‖w‖, or 0 if w is 0, with a finite gradient in both cases. w: [..., J]."""
    # NOTE[PAPER] Eq. 3 leaves the length of w open, the sigmoid of Eq. 9 does not; see docs/PAPER.md for the choice.
    length = w.norm(dim=-1, keepdim=True)
    return w / torch.where(length > 0, length, torch.ones_like(length))


def solve_S_N(z_normal: Tensor, eta: Tensor, b: Tensor) -> Tensor:
    """S_N⁻¹ b with S_N = Zᵀ Z / N_N + η I (Eq. 5).

    z_normal: [..., N_N, J], eta: [...], b: [..., J, K]. Returns [..., J, K].
    """
    n_normal, n_dims = z_normal.shape[-2:]
    ridge = eta[..., None, None]
    z = z_normal / n_normal**0.5
    if n_normal >= n_dims:
        return solve_regularised(z.mT @ z, eta, b)
    # Woodbury: S_N⁻¹ = (I − Zᵀ (Z Zᵀ + η I)⁻¹ Z) / η needs the Cholesky factor of an N_N x N_N matrix only.
    within: Tensor = z.mT @ solve_regularised(z @ z.mT, eta, z @ b)
    return (b - within) / ridge


def fit_normal_projection(phi_normal: Tensor, ridge: Tensor) -> Tensor:
    """Direction v with vᵀφ ≈ 1 for the normal rows in the least-squares sense (Sec. 3.4).

    phi_normal: [..., N_N, J], ridge: [...]. Returns v: [..., J] in float64. All rows of the paper's C are the centre c,
    so its W is v cᵀ, and the score ‖Wᵀφ − c‖² is ‖c‖² (vᵀφ − 1)².
    """
    # NOTE[PAPER] (ΦᵀΦ)⁻¹ is singular for N_N < J: a ridge is added, v = (ΦᵀΦ / N_N + ρ I)⁻¹ Φᵀ1 / N_N.
    phi = phi_normal.double()
    return solve_S_N(phi, ridge.double(), phi.mean(-2).unsqueeze(-1)).squeeze(-1)


def top_eigenvector(a: Tensor) -> Tensor:
    """Unit eigenvector of the largest eigenvalue, with a gradient that is finite for any symmetric matrix.

    a: [..., n, n], symmetric. Returns u: [..., n].
    """
    with torch.no_grad():
        values, vectors = torch.linalg.eigh((a + a.mT) / 2)
        u = vectors[..., -1]
        gap = values[..., -1:] - values
        # First-order change of u: du = P dA u. Rotations towards eigenvectors of the same eigenvalue are not defined.
        tied = gap <= 1e-12 * values.abs().amax(-1, keepdim=True)
        turn = vectors * torch.where(tied, 0.0, 1.0 / torch.where(tied, 1.0, gap)).unsqueeze(-2)
    # P A u = λ P u = 0: the second term is 0 in value and carries the whole gradient.
    au = a @ u.unsqueeze(-1)
    change: Tensor = turn @ (vectors.mT @ (au - au.detach()))
    moved: Tensor = u + change.squeeze(-1)
    return moved


def solve_regularised(gram: Tensor, eta: Tensor, b: Tensor) -> Tensor:
    """(gram + η I)⁻¹ b. gram: [..., n, n], positive semi-definite; eta: [...]; b: [..., n, K]. Returns [..., n, K]."""
    # If η is lost in the rounding of huge entries, a small multiple of the trace keeps the matrix positive definite.
    trace = gram.detach().diagonal(dim1=-2, dim2=-1).sum(-1)
    ridge = (eta + 1e-14 * trace)[..., None, None]
    matrix = gram + ridge * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    # cholesky would wait for the GPU in every step to check for errors that cannot occur here, and cholesky_solve
    # cannot be captured in a CUDA graph.
    L = torch.linalg.cholesky_ex(matrix).L
    half = torch.linalg.solve_triangular(L, b, upper=False)
    solution: Tensor = torch.linalg.solve_triangular(L.mT, half, upper=True)
    return solution


def _compress(z: Tensor) -> Tensor:
    """J rows with the same second moment: R' with R'ᵀ R' / J = Zᵀ Z / N. z: [..., N, J], N > J. Returns [..., J, J]."""
    n, n_dims = z.shape[-2:]
    R: Tensor = torch.linalg.qr(z, mode="r").R
    return R * math.sqrt(n_dims / n)
