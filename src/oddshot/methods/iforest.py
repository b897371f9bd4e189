"""`if`: isolation forest (Liu et al., 2008) on the normal support rows."""

from oddshot.methods.pertask import Array, PerTask, RowScores


class IF(PerTask):
    """Both defaults are 100 trees; the old contamination of 0.1 moved all scores alike and is left out."""

    name = "if"
    least_normal = 2

    def fit_task(self, normal: Array, anomaly: Array, seed: int) -> RowScores:
        """Minus the score of scikit-learn, whose normal rows score high."""
        from sklearn.ensemble import IsolationForest

        model = IsolationForest(random_state=seed).fit(normal)
        return lambda x: -model.score_samples(x)
