"""Scores of one adapted task, rows in NumPy, in chunks so that memory is bounded."""

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.methods.contract import Method, Rows, ScoreFunction

CHUNK_ROWS = 16384


def support_rows(X: NDArray[np.float32], y: NDArray[np.int8], device: torch.device) -> Rows:
    """One task's labelled rows as tensors [1, 1, N, M]. X: [n, M], y: [n] in {0, 1, -1}."""
    rows = torch.from_numpy(np.ascontiguousarray(X)).to(device)
    return Rows(rows[torch.from_numpy(y == 0)][None, None], rows[torch.from_numpy(y == 1)][None, None])


def device_of(method: Method) -> torch.device:
    """Where the method's weights are; a method without any works on the CPU."""
    return next((parameter.device for parameter in method.parameters()), torch.device("cpu"))


@torch.no_grad()
def adapt_task(method: Method, support: Rows, fraction: float) -> tuple[ScoreFunction, float]:
    """The score function of one task, and the threshold at this fraction of its span."""
    method.eval()
    score = method.adapt(support)
    low, high = (float(end[0, 0]) for end in method.span(score, support))
    return score, low + fraction * (high - low)


@torch.no_grad()
def score_rows(score: ScoreFunction, X: NDArray[np.float32], device: torch.device) -> NDArray[np.float64]:
    """X: [n, M]. Returns [n]."""
    out = np.empty(len(X))
    for start in range(0, len(X), CHUNK_ROWS):
        chunk = torch.from_numpy(np.ascontiguousarray(X[start : start + CHUNK_ROWS])).to(device)
        out[start : start + CHUNK_ROWS] = score(chunk[None, None])[0, 0].cpu().numpy()
    return out
