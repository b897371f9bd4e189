"""`lof`: local outlier factor (Breunig et al., 2000) against the normal support rows."""

from oddshot.methods.pertask import Array, PerTask, RowScores


class LOF(PerTask):
    """Both defaults are 20 neighbours, or all there are (4 for 5 rows); the old contamination changed no order."""

    name = "lof"
    least_normal = 2

    def fit_task(self, normal: Array, anomaly: Array, seed: int) -> RowScores:
        """The local outlier factor of a new row."""
        from sklearn.neighbors import LocalOutlierFactor

        model = LocalOutlierFactor(n_neighbors=min(20, len(normal) - 1), novelty=True).fit(normal)
        return lambda x: -model.score_samples(x)
