"""`woproj`: the proposed method without its projection (Table 2)."""

from oddshot.methods.contract import Distance, LabelledRows
from oddshot.methods.represented import Represented, RepresentedConfig


class WoProj(Represented):
    """Scores a row by its distance from the centre in the task's own embedding: a(x|S) = ‖φ([x, r]) − c‖²."""

    name = "woproj"
    config_type = RepresentedConfig

    def adapt(self, support: LabelledRows) -> Distance:
        """Only r adapts; the support may hold any number of anomalies."""
        P = self.phi.last_weight.unsqueeze(1)
        return Distance(self.phi, self.represent(support), P, self.center.unsqueeze(1).double())
