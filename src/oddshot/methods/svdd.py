"""`svdd`: deep support vector data description (Ruff et al., 2018), a network that gathers normal rows at a centre."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows
from oddshot.methods.embedded import Centered, EmbeddedConfig
from oddshot.methods.settings import require_one_of


@dataclass(frozen=True)
class SVDDConfig(EmbeddedConfig):
    """rows: which normal rows of an episode are gathered, the support's as in the paper or the queries' too."""

    rows: Literal["support", "episode"] = "support"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self, "rows", ("support", "episode"))


class SVDD(Centered):
    """One-class: anomalies are looked at neither in training nor in the support."""

    name = "svdd"
    config_type = SVDDConfig

    def loss(self, support: LabelledRows, query: LabelledRows) -> Tensor:
        """[R], the mean squared distance of normal rows from the centre."""
        normal = support.normal
        if self.config.rows == "episode":
            normal = torch.cat([normal, query.normal], dim=2)
        return self.shared_score()(normal).mean((1, 2))
