"""`ssvdd`: supervised SVDD, the same distance from a centre trained for the AUC (Sec. 4.2)."""

from oddshot.methods.embedded import Centered


class SSVDD(Centered):
    """Learns from the labels of the training tasks; the support of a new task is not looked at."""

    name = "ssvdd"
