"""The projection through the small N_A × N_A problem, against the J × J one that Eq. 6 states."""

import torch
from torch import Tensor

from benchmarks.timing import Verdict, best_seconds
from oddshot.score.projection import fit_projection

TASKS, J, N_NORMAL, N_ANOMALY = 256, 256, 5, 3


def full_projection(z_normal: Tensor, z_anomaly: Tensor, eta: Tensor) -> Tensor:
    """Cholesky whitening of S_N and `eigh` of the J × J matrix: [T, N, J] -> [T, J]."""
    identity = torch.eye(z_normal.shape[-1])
    S_N = z_normal.mT @ z_normal / z_normal.shape[-2] + eta[..., None, None] * identity
    S_A = z_anomaly.mT @ z_anomaly / z_anomaly.shape[-2]
    L = torch.linalg.cholesky(S_N)
    half = torch.linalg.solve_triangular(L, S_A, upper=False)
    whitened = torch.linalg.solve_triangular(L, half.mT, upper=False)
    v = torch.linalg.eigh((whitened + whitened.mT) / 2).eigenvectors[..., -1:]
    w: Tensor = torch.linalg.solve_triangular(L.mT, v, upper=True).squeeze(-1)
    return w


def run() -> list[Verdict]:
    generator = torch.Generator().manual_seed(0)
    normal, anomaly = (torch.randn(TASKS, n, J, generator=generator, requires_grad=True) for n in (N_NORMAL, N_ANOMALY))
    eta = torch.ones(TASKS)

    def forward_backward(solve: object) -> None:
        assert callable(solve)
        solve(normal, anomaly, eta).square().sum().backward()

    full = best_seconds(lambda: forward_backward(full_projection), repeats=2)
    ours = best_seconds(lambda: forward_backward(fit_projection))
    ratio = full / ours
    name = f"projection, {TASKS} tasks, J = {J}, N_A = {N_ANOMALY}: times faster than J×J eigh"
    return [Verdict(name, ratio, 100.0, ratio >= 100.0)]
