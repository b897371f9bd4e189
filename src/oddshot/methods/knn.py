"""`knn`: the label of the nearest support row."""

from oddshot.methods.pertask import Array, PerTask, RowScores, labelled


class KNN(PerTask):
    """One neighbour, as the paper sets it; scores are 0 or 1."""

    name = "knn"
    least_anomaly = 1

    def fit_task(self, normal: Array, anomaly: Array, seed: int) -> RowScores:
        """1 where an anomaly is nearest."""
        from sklearn.neighbors import KNeighborsClassifier

        model = KNeighborsClassifier(n_neighbors=1).fit(*labelled(normal, anomaly))
        return lambda x: model.predict_proba(x)[:, 1]
