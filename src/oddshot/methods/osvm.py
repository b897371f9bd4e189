"""`osvm`: one-class support vector machine (Schölkopf et al., 2001) on the normal support rows."""

from oddshot.methods.pertask import Array, PerTask, RowScores


class OSVM(PerTask):
    """paper: γ = 1 / M; modern: γ = 1 / (M · variance of the support)."""

    name = "osvm"

    def fit_task(self, normal: Array, anomaly: Array, seed: int) -> RowScores:
        """Minus the decision function."""
        from sklearn.svm import OneClassSVM

        model = OneClassSVM(gamma="auto" if self.config.defaults == "paper" else "scale").fit(normal)
        return lambda x: -model.decision_function(x)
