"""How a row lies to its task, once more as plain loops over single rows in NumPy float64: independent of src.

One task: normal [n, M], anomaly [a, M] and unlabelled [u, M] (the last two may be empty). Its rows are numbered:
anomalies, normal rows, unlabelled rows. What a row must not see because it is itself is left out of the lists by its
number, `own`; None for a row that is not of the task.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tests.references import feed_forward

LARGEST, TINY = 2.0**30, 1e-6
KNOTS, REACH, FINEST = 64, 30.0, 0.3
GRID = np.linspace(-np.log(1 + REACH / FINEST), np.log(1 + REACH / FINEST), KNOTS)  # of squash(off / FINEST)


def squash(value):
    return np.sign(value) * np.log(1 + abs(value))


def offset_at(place):
    """How many spreads from the background's mean the value at a knot, or between two, lies: dense around it."""
    along = np.interp(place, np.arange(KNOTS), GRID)
    return np.sign(along) * FINEST * (np.exp(abs(along)) - 1)


@dataclass(eq=False)
class TaskRows:
    normal: np.ndarray
    anomaly: np.ndarray
    unlabelled: np.ndarray
    marks: np.ndarray | None = None  # [M, E], joined to what the networks over columns see

    def marked(self, m, numbers):
        return np.array(numbers) if self.marks is None else np.array([*numbers, *self.marks[m]])

    @cached_property
    def rows(self):
        return [*self.anomaly, *self.normal, *self.unlabelled]

    @cached_property
    def support(self):
        return [*self.anomaly, *self.normal]

    @cached_property
    def background(self):
        return [*self.normal, *self.unlabelled]

    @cached_property
    def alive(self):
        return [any(row[m] != 0 for row in self.rows) for m in range(self.normal.shape[1])]

    @cached_property
    def width(self):
        return max(sum(self.alive), 1)

    @cached_property
    def center(self):
        return sum(self.normal) / len(self.normal)

    @cached_property
    def log_size(self):
        return np.log(len(self.background)) / 5

    def seen_anomalies(self, own=None):
        return [row for k, row in enumerate(self.anomaly) if k != own]

    def seen_normals(self, own=None):
        return [row for k, row in enumerate(self.normal, len(self.anomaly)) if k != own]

    def seen_background(self, own=None):
        return [row for k, row in enumerate(self.background, len(self.anomaly)) if k != own]

    def mean_anomaly(self, own=None):
        """Of the anomalies seen; the centre where there is none."""
        seen = self.seen_anomalies(own)
        return sum(seen) / len(seen) if seen else self.center

    def mean_product(self, x, y):
        return sum(p * q for p, q in zip(x, y, strict=True)) / self.width

    def length(self, x):
        return np.sqrt(self.mean_product(x, x) + TINY)

    def distance(self, x, y):
        return self.length(x - y)

    def pair(self, x, other):
        """[9]: the seven numbers that the row takes part in, then the two lengths of the labelled row."""
        origins = (np.zeros_like(x), self.center)
        products = [self.mean_product(x - origin, other - origin) for origin in origins]
        lengths = [self.length(x - origin) for origin in origins]
        others = [self.length(other - origin) for origin in origins]
        cosines = [product / (p * q) for product, p, q in zip(products, lengths, others, strict=True)]
        return np.array([*cosines, *map(squash, [self.distance(x, other), *products, *lengths, *others])])

    def excess(self, m, value):
        """How many values of the background lie below in column m, less how many lie above."""
        return sum(int(row[m] < value) - int(row[m] > value) for row in self.background)

    def tail(self, excess):
        """−log of the share of the background that lies further out, of which half a row more is counted."""
        b = len(self.background)
        further = (b - abs(excess)) / 2
        return -np.log((further + 0.5) / (b + 1))

    def moments(self, m):
        values, b = [row[m] for row in self.background], len(self.background)
        mean = sum(values) / b
        variance = sum((value - mean) ** 2 for value in values) / b
        return mean, np.sqrt((b * variance + 2) / (b + 2))

    def along(self, m, value):
        """A value in the units of GRID, not beyond its ends."""
        mean, spread = self.moments(m)
        return min(max(squash((value - mean) / spread / FINEST), GRID[0]), GRID[-1])

    def place(self, m, value):
        return np.interp(self.along(m, value), GRID, np.arange(KNOTS))

    def knot(self, m, knot, own=None):
        """[7 + marks]: the value at this knot, seen in its column."""
        mean, spread = self.moments(m)
        off, anomaly = offset_at(knot), self.mean_anomaly(own)[m]
        anomalous = (anomaly - self.center[m]) / spread
        excess, anomaly_excess = self.excess(m, mean + spread * off), self.excess(m, anomaly)
        same_side = np.sign(excess * anomaly_excess)
        sides = [squash(off), squash(abs(off)), squash(anomalous), squash(off * anomalous)]
        ranks = [self.tail(excess), same_side * self.tail(anomaly_excess), self.log_size]
        return self.marked(m, [*sides, *ranks])

    def anomaly_column(self, m, own=None):
        """[3 + marks]."""
        anomaly = self.mean_anomaly(own)[m]
        offset = (anomaly - self.center[m]) / self.moments(m)[1]
        return self.marked(m, [squash(abs(offset)), self.tail(self.excess(m, anomaly)), self.log_size])

    def curve(self, column, m, value, own=None):
        """The column network's numbers at a value, and their fourth powers: straight between two knots."""
        along = self.along(m, value)
        low = max(k for k in range(KNOTS - 1) if GRID[k] <= along)
        share = (along - GRID[low]) / (GRID[low + 1] - GRID[low])
        below, above = (np.maximum(feed_forward(column, self.knot(m, k, own)), 0) for k in (low, low + 1))
        return tuple((1 - share) * below**power + share * above**power for power in (1, 4))

    def weights(self, attention, own=None):
        """How much each column that counts, counts: alike, and by each head of the attention."""
        counted = [m for m, alive in enumerate(self.alive) if alive]
        outs = np.array([np.exp(feed_forward(attention, self.anomaly_column(m, own))) for m in counted])
        heads = [head / sum(head) for head in outs.T]
        return [
            {m: weight[k] for k, m in enumerate(counted)} for weight in (np.full(len(counted), 1 / self.width), *heads)
        ]

    def columns(self, column, attention, x, own=None):
        """[(2 + heads) · C]: means of the curves over the columns, and the fourth root of that of their powers."""
        weights = self.weights(attention, own)
        curves = {m: self.curve(column, m, x[m], own) for m in weights[0]}
        means = [sum(weight[m] * value for m, (value, _) in curves.items()) for weight in weights]
        power = sum(weights[0][m] * power for m, (_, power) in curves.items())
        return np.concatenate([*means, (power + 1e-6) ** 0.25])

    def figures(self, x, own=None):
        """[11], before any squashing."""
        to_normal = [self.distance(x, row) for row in self.seen_normals(own)]
        to_anomaly = [self.distance(x, row) for row in self.seen_anomalies(own)]
        near = min(to_normal, default=0.0)  # 0 where there is none
        out = [near, sum(to_normal) / max(len(to_normal), 1)]
        out += [min(to_anomaly), near / (min(to_anomaly) + 1e-3)] if to_anomaly else [0.0, 0.0]
        out += [self.length(x), self.length(x - self.center), self.towards_anomaly(x, own)]
        return np.array([*out, *self.background_distances(x, own)])

    def towards_anomaly(self, x, own=None):
        """How far from the centre in the direction of the mean of the anomalies seen."""
        towards = self.mean_anomaly(own) - self.center
        return self.mean_product(x - self.center, towards) / self.length(towards)

    def background_distances(self, x, own=None):
        """Of the nearest background row, and two soft minima, in bandwidths."""
        distances = [self.distance(x, row) / self.bandwidth for row in self.seen_background(own)]
        if not distances:
            return [0.0, 0.0, 0.0, 0.0]
        soft = [-np.log(sum(np.exp(-k * d) for d in distances) / len(distances)) / k for k in (1, 4)]
        neighbours = sorted(distances)[:10]
        return [min(distances), *soft, sum(neighbours) / len(neighbours)]

    @cached_property
    def bandwidth(self):
        """The lower median of the distances from each background row to the nearest other one; 1 for a single row."""
        if len(self.background) == 1:
            return 1.0
        nearest = []
        for k, row in enumerate(self.background, len(self.anomaly)):
            nearest.append(min(self.distance(row, other) for other in self.seen_background(k)))
        return min(max(sorted(nearest)[(len(nearest) - 1) // 2], 1e-3), LARGEST)

    @cached_property
    def background_features(self):
        """Mean and spread of each figure over the background rows, none of which sees itself."""
        each = [squash(self.figures(row, k)) for k, row in enumerate(self.background, len(self.anomaly))]
        mean = sum(each) / len(each)
        variance = sum((figures - mean) ** 2 for figures in each) / len(each)
        return mean, np.sqrt(variance + 0.05**2)

    def described_figures(self, x, own=None):
        """[22]: figures, then how unusual each is, which a single background row does not tell."""
        if len(self.background) == 1:
            return np.array([*squash(self.figures(x, own)), *np.zeros(11)])
        figures, (mean, spread) = squash(self.figures(x, own)), self.background_features
        return np.array([*figures, *squash((figures - mean) / spread)])

    def facts(self, own=None):
        """[5]."""
        n, a = len(self.normal), len(self.anomaly)
        seen = float(len(self.seen_anomalies(own)) > 0)
        return np.array([self.log_size, np.log(self.width) / 5, a / (a + n), seen, np.log(n) / 5])

    def pairs(self, pair, x, own=None):
        """[3 · P]: over the labelled rows seen."""
        by_label = ([], [])
        for k, other in enumerate(self.support):
            is_anomaly = k < len(self.anomaly)
            if k != own:
                out = np.maximum(feed_forward(pair, np.array([*self.pair(x, other), float(is_anomaly)])), 0)
                by_label[is_anomaly].append(out)
        nothing = np.zeros(pair[-1][0].shape[1])
        normal, anomaly = (sum(part) / len(part) if part else nothing for part in by_label)
        return np.concatenate([normal, anomaly, np.max([nothing, *by_label[False]], axis=0)])

    def description(self, networks, x, own=None):
        """[D]. networks: the layers of `pair`, `column` and `attention`."""
        pair, column, attention = networks
        columns = self.columns(column, attention, x, own)
        return np.concatenate([self.pairs(pair, x, own), columns, self.described_figures(x, own), self.facts(own)])
