"""What the methods with one network share: an embedding that sees the attributes only, and a centre to score from."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from oddshot.methods.contract import Distance, Method, LabelledRows, ScoreFunction
from oddshot.methods.settings import require_at_least, require_dropout
from oddshot.model.networks import Network


@dataclass(frozen=True)
class EmbeddedConfig:
    """The paper's network (Sec. 4.3), the same as φ in the proposed method but for its input; layers as there."""

    units: int = 256
    layers: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        require_at_least(self, units=1, layers=2)
        require_dropout(self)


class Embedded(Method):
    """A network φ that embeds rows of every task alike."""

    config_type: ClassVar[type] = EmbeddedConfig
    bias: ClassVar[bool] = True

    def __init__(self, n_attributes: int, config: EmbeddedConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        sizes = [n_attributes] + [config.units] * (config.layers - 1)
        self.phi = Network(sizes, replicas=replicas, bias=self.bias, dropout=config.dropout)


class Centered(Embedded):
    """Scores a row by its distance from the centre c: a(x) = ‖φ(x) − c‖². The support is not looked at."""

    bias = False  # or φ could map every row to the centre (hypersphere collapse)

    def __init__(self, n_attributes: int, config: EmbeddedConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        self.center: Tensor
        self.register_buffer("center", torch.zeros(replicas, config.units))

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """The mean embedding of training normals at the initial weights."""
        self.center.copy_(self.phi(normal).mean((1, 2)))

    def adapt(self, support: LabelledRows) -> ScoreFunction:
        """The same score function for every task."""
        return self.shared_score()

    def shared_score(self) -> Distance:
        """‖φ(x) − c‖² with the weights that all tasks share."""
        return Distance(self.phi, None, self.phi.last_weight.unsqueeze(1), self.center.unsqueeze(1).double())
