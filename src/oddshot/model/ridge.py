"""Ridge regression by its dual form: few rows, many columns."""

from torch import Tensor

from oddshot.model.projection import solve_regularised


def solve_ridge(z: Tensor, target: Tensor, ridge: Tensor) -> Tensor:
    """w = argmin ‖Z w − y‖² + λ ‖w‖², solved as w = Zᵀ (Z Zᵀ + λ I)⁻¹ y.

    z: [..., N, J], target: [..., N], ridge: [...], above 0, float64. Returns w: [..., J].
    """
    target = target.expand(z.shape[:-1]).unsqueeze(-1)
    return (z.mT @ solve_regularised(z @ z.mT, ridge, target)).squeeze(-1)
