"""`lr`: logistic regression on the support."""

from oddshot.methods.pertask import Array, PerTask, RowScores, labelled


class LR(PerTask):
    """paper: liblinear, which shrinks the intercept too; modern: L-BFGS, which does not."""

    name = "lr"
    least_anomaly = 1

    def fit_task(self, normal: Array, anomaly: Array, seed: int) -> RowScores:
        """The logit of the probability of an anomaly."""
        from sklearn.linear_model import LogisticRegression

        solver = "liblinear" if self.config.defaults == "paper" else "lbfgs"
        model = LogisticRegression(solver=solver, random_state=seed).fit(*labelled(normal, anomaly))
        return lambda x: model.decision_function(x)
