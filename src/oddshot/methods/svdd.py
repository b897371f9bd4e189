"""`svdd`: deep support vector data description (Ruff et al., 2018), a network that gathers normal rows at a centre."""

import torch
from torch import Tensor

from oddshot.methods.contract import Rows
from oddshot.methods.embedded import Centered


class SVDD(Centered):
    """One-class: anomalies are looked at neither in training nor in the support."""

    name = "svdd"

    def loss(self, support: Rows, query: Rows) -> Tensor:
        """[R], the mean squared distance of the episode's normal rows from the centre."""
        # NOTE[PAPER] it says "normal support instances"; the queries of a training task are as much at hand.
        normal = torch.cat([support.normal, query.normal], dim=2)
        return self.shared_score()(normal).mean((1, 2))
