"""The projection that adapts a task in closed form: w with anomalies (Eqs. 3-7), v without (Sec. 3.4).

Everything here runs in float64, whatever comes in: the matrices are small, and in float32 a small η loses the Cholesky
factor of S_N.
"""

import math

import torch
from torch import Tensor


def fit_projection(z_normal: Tensor, z_anomaly: Tensor, eta: Tensor) -> Tensor:
    """Direction that spreads anomalies and gathers normals around the centre (Eq. 3).

    z_normal: [..., N_N, J], z_anomaly: [..., N_A, J], both minus the centre c; eta: [...]. Returns w: [..., J] in
    float64, sign arbitrary, of length wᵀ S_N w = λ: for one anomaly that is S_N⁻¹ z, Eq. 7 taken as an equality.

    Where all anomalies lie on the centre, w = 0 and every score is 0. Where the largest eigenvalue is tied, w is one of
    the equally good directions and its gradient leaves out the turn within them.
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
    """w / ‖w‖, and 0 where w is 0 (there with a finite gradient). w: [..., J]."""
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
    """Direction that brings the normal rows to 1 in the least-squares sense (Sec. 3.4).

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
        # First-order change of u: du = P dA u. Directions tied with u have no defined turn and get none.
        tied = gap <= 1e-12 * values.abs().amax(-1, keepdim=True)
        turn = vectors * torch.where(tied, 0.0, 1.0 / torch.where(tied, 1.0, gap)).unsqueeze(-2)
    # P A u = λ P u = 0: the second term is 0 in value and carries the whole gradient.
    au = a @ u.unsqueeze(-1)
    change: Tensor = turn @ (vectors.mT @ (au - au.detach()))
    moved: Tensor = u + change.squeeze(-1)
    return moved


def solve_regularised(gram: Tensor, eta: Tensor, b: Tensor) -> Tensor:
    """(gram + η I)⁻¹ b. gram: [..., n, n], positive semi-definite; eta: [...]; b: [..., n, K]. Returns [..., n, K]."""
    # Where η is lost in the rounding of huge entries, a trace of the matrix itself keeps it positive definite.
    trace = gram.detach().diagonal(dim1=-2, dim2=-1).sum(-1)
    ridge = (eta + 1e-14 * trace)[..., None, None]
    matrix = gram + ridge * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    # Not cholesky and cholesky_solve: the one waits for the GPU in every step to look for errors that cannot occur
    # here, the other cannot be recorded in a CUDA graph.
    L = torch.linalg.cholesky_ex(matrix).L
    half = torch.linalg.solve_triangular(L, b, upper=False)
    solution: Tensor = torch.linalg.solve_triangular(L.mT, half, upper=True)
    return solution


def _compress(z: Tensor) -> Tensor:
    """J rows with the same second moment: R' with R'ᵀ R' / J = Zᵀ Z / N. z: [..., N, J], N > J. Returns [..., J, J]."""
    n, n_dims = z.shape[-2:]
    R: Tensor = torch.linalg.qr(z, mode="r").R
    return R * math.sqrt(n_dims / n)
