"""`rf`: random forest (Breiman, 2001) on the support."""

from oddshot.methods.pertask import Array, PerTask, RowScores, labelled


class RF(PerTask):
    """paper: 10 trees; modern: 100."""

    name = "rf"
    least_anomaly = 1

    def fit_task(self, normal: Array, anomaly: Array, seed: int) -> RowScores:
        """The mean over trees of the probability of an anomaly."""
        from sklearn.ensemble import RandomForestClassifier

        trees = 10 if self.config.defaults == "paper" else 100
        model = RandomForestClassifier(n_estimators=trees, random_state=seed).fit(*labelled(normal, anomaly))
        return lambda x: model.predict_proba(x)[:, 1]
