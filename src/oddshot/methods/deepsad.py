"""`deepsad`: Deep SAD (Ruff et al., 2020), which gathers normal rows at a centre and pushes anomalies away from it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows
from oddshot.methods.embedded import Centered, EmbeddedConfig
from oddshot.methods.settings import require_positive

TINY = 1e-6  # its authors' guard against the inverse of 0


@dataclass(frozen=True)
class DeepSADConfig(EmbeddedConfig):
    """eta: weight of an anomaly's inverse distance against a normal row's distance; its authors' value."""

    eta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "eta")


class DeepSAD(Centered):
    """Learns from the labels of the training tasks; the support of a new task is not looked at."""

    name = "deepsad"
    config_type = DeepSADConfig

    def loss(self, support: LabelledRows, query: LabelledRows) -> Tensor:
        """[R], mean over all rows of the episode: d of a normal row, η / d of an anomaly, with d = ‖φ(x) − c‖²."""
        score = self.shared_score()
        normal, anomaly = (score(torch.cat(rows, dim=2)) for rows in zip(support, query, strict=True))
        terms = torch.cat([normal, self.config.eta / (anomaly + TINY)], dim=2)
        return terms.mean((1, 2))
