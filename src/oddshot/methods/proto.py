"""`proto`: prototypical networks (Snell et al., 2017), the nearer of two class means in an embedding."""

from oddshot.methods.contract import Linear, LabelledRows
from oddshot.methods.embedded import Embedded


class Proto(Embedded):
    """Scores a row by ‖z − m_N‖² − ‖z − m_A‖², the logit of its probability of being an anomaly."""

    name = "proto"

    def adapt(self, support: LabelledRows) -> Linear:
        """m_N, m_A: the mean embeddings of the normal and of the anomalous support rows."""
        self.check_support(support, anomaly=1)
        z = self.phi(support.joined()).double()
        n_normal = support.normal.shape[2]
        m_N, m_A = z[:, :, :n_normal].mean(2), z[:, :, n_normal:].mean(2)
        # NOTE[PAPER] whether the AUC is of the probability or of its logit is not stated: of the logit.
        # The squares of z cancel: the score is 2 (m_A − m_N)ᵀ z + ‖m_N‖² − ‖m_A‖².
        offset = (m_N - m_A) * (m_N + m_A)
        return Linear.of(self.phi, 2 * (m_A - m_N), offset.sum(-1, keepdim=True))
