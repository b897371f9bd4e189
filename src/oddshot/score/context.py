"""The rows of a task, and what follows from them alone before any other row comes.

Columns are expected to have about unit spread (the encoding, or the z-score of a task, sees to that). `x` is rows with
their columns first, [..., M, n]: what is computed for every row runs over adjacent numbers.
"""

from dataclasses import dataclass

from array_api_compat import device

from oddshot.score.arrays import Array, clip, is_lazy, namespace, swap
from oddshot.score.rows import LabelledRows

MAX_ABS_VALUE = 2.0**30  # larger values are clipped: their squares stay finite in float32, and products are exact
MIN_SQUARE = 1e-6  # added to mean squares before their root, whose gradient stays finite at 0


@dataclass(frozen=True, eq=False)
class Context:
    """The L rows of tasks: anomalies, normal rows, unlabelled rows. The first K of them are labelled.

    The background is the normal and the unlabelled rows together: what most rows of a task look like. n_columns:
    [..., 1], without those that are 0 in all rows, as padding and constant ones are. has_single_columns: whether that
    is 1 in any of the tasks, or cannot be told without waiting.
    """

    n_anomaly: int
    n_normal: int
    x: Array
    """The rows, columns first: [..., M, L]."""
    mask: Array
    """1 for columns that count, else 0: [..., M, 1]."""
    n_columns: Array
    has_single_columns: bool
    center: Array
    """The mean of the normal rows: [..., M, 1]."""
    squares: Array
    """Mean squares of the rows from the centre: [..., L]."""
    scaled: Array
    """The rows from the centre, divided by the number of columns, for mean products: [..., M, L]."""
    scaled_labelled: Array
    """The labelled rows from the origin, divided likewise: [..., M, K]."""
    lengths: Array
    """Of the labelled rows, from the origin and from the centre: [..., 2, K]."""
    mean_anomaly: Array
    """The mean of the anomalies, or the centre where there is none: [..., M, 1]."""
    anomaly_direction: Array
    """From the centre to the mean anomaly; the product with it is a length: [..., M, 1]."""

    @classmethod
    def of(cls, support: LabelledRows, unlabelled: Array | None = None) -> "Context":
        """unlabelled: [..., u, M]."""
        xp = namespace(support.normal)
        parts = [support.anomaly, support.normal, *([] if unlabelled is None else [unlabelled])]
        x = swap(clip(xp.concat(parts, axis=-2), -MAX_ABS_VALUE, MAX_ABS_VALUE))
        return cls.of_columns(x, support.n_anomaly, support.n_normal)

    @classmethod
    def of_columns(cls, x: Array, n_anomaly: int, n_normal: int) -> "Context":
        """x: [..., M, L], within ±MAX_ABS_VALUE."""
        xp, K = namespace(x), n_anomaly + n_normal
        mask = xp.astype(xp.any(x != 0, axis=-1, keepdims=True), x.dtype)
        n_columns = xp.sum(mask, axis=-2)
        n_columns = xp.maximum(n_columns, xp.ones_like(n_columns))
        has_single_columns = is_lazy(x) or bool(xp.any(n_columns == 1))
        center = xp.mean(x[..., n_anomaly:K], axis=-1, keepdims=True)
        mean_anomaly = xp.mean(x[..., :n_anomaly], axis=-1, keepdims=True) if n_anomaly > 0 else center
        centered, per_column = x - center, n_columns[..., None]
        squares, direction = mean_square(centered, n_columns), mean_anomaly - center
        length = xp.sqrt(mean_square(direction, n_columns))[..., None]
        return cls(
            n_anomaly=n_anomaly,
            n_normal=n_normal,
            x=x,
            mask=mask,
            n_columns=n_columns,
            has_single_columns=has_single_columns,
            center=center,
            squares=squares,
            scaled=centered / per_column,
            scaled_labelled=x[..., :K] / per_column,
            lengths=xp.sqrt(xp.stack([mean_square(x[..., :K], n_columns), squares[..., :K]], axis=-2)),
            mean_anomaly=mean_anomaly,
            anomaly_direction=direction / (length * per_column),
        )

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows, K."""
        return self.n_anomaly + self.n_normal

    @property
    def n_rows(self) -> int:
        """Number of rows, L."""
        return int(self.x.shape[-1])

    @property
    def n_background(self) -> int:
        """Number of background rows, B."""
        return self.n_rows - self.n_anomaly

    def other_mean_anomaly(self) -> Array:
        """For each anomaly, the mean of the others, or the centre where there is none: [..., M, a]."""
        xp, n, anomalies = namespace(self.x), self.n_anomaly, self.x[..., : self.n_anomaly]
        if n <= 1:
            return xp.broadcast_to(self.center, anomalies.shape)
        # Added one by one, so that equal anomalies have the same mean on every machine: whether it equals values of the
        # background is a feature of columns, and rounding would tell them apart.
        share = (1 - xp.eye(n, dtype=self.x.dtype, device=device(self.x))) / (n - 1)
        return xp.sum(anomalies[..., :, None] * share, axis=-2)

    def other_anomaly_direction(self) -> Array:
        """From the centre to the mean of the other anomalies, for each: [..., M, a]."""
        direction = self.other_mean_anomaly() - self.center
        length = namespace(direction).sqrt(mean_square(direction, self.n_columns))[..., None, :]
        return direction / (length * self.n_columns[..., None])


def mean_square(x: Array, n_columns: Array) -> Array:
    """Over the columns, with a little added: [..., M, n], [..., 1] -> [..., n]."""
    return namespace(x).sum(x * x, axis=-2) / n_columns + MIN_SQUARE
