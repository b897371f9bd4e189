"""How a row lies to its task, once more as plain loops over single rows in NumPy float64: independent of src.

One task: normal [n, M], anomaly [a, M] and unlabelled [u, M] (either may be empty). What a row must not see because it
is itself is left out of the lists by its number, `own` in the support (normal rows first) and `own_background` in the
background (normal rows, then unlabelled ones); None for a row that is in neither.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tests.references import feed_forward

LARGEST, TINY = 1e9, 1e-6
UNSEEN = LARGEST  # a distance to nothing


def squash(value):
    return np.sign(value) * np.log(1 + abs(value))


@dataclass(eq=False)
class TaskRows:
    normal: np.ndarray
    anomaly: np.ndarray
    unlabelled: np.ndarray

    @cached_property
    def support(self):
        return [*self.normal, *self.anomaly]

    @cached_property
    def background(self):
        return [*self.normal, *self.unlabelled]

    @cached_property
    def alive(self):
        every = [*self.support, *self.unlabelled]
        return [any(row[m] != 0 for row in every) for m in range(self.normal.shape[1])]

    @cached_property
    def width(self):
        return max(sum(self.alive), 1)

    @cached_property
    def center(self):
        return sum(self.normal) / len(self.normal)

    @cached_property
    def log_size(self):
        return np.log(len(self.background)) / 5

    def length(self, x):
        return np.sqrt(sum(value**2 for value in x) / self.width + TINY)

    def distance(self, x, y):
        return np.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / self.width + TINY)

    def towards_anomaly(self, own=None):
        """From the centre to the mean of the anomalies seen; 0 where there is none."""
        seen = [row for k, row in enumerate(self.anomaly, len(self.normal)) if k != own]
        return sum(seen) / len(seen) - self.center if seen else np.zeros_like(self.center)

    def pair(self, x, other):
        """[9]."""
        out = [squash(self.distance(x, other))]
        for origin in (np.zeros_like(x), self.center):
            a, b = x - origin, other - origin
            product = sum(p * q for p, q in zip(a, b, strict=True)) / self.width
            cosine = product / (self.length(a) * self.length(b))
            out += [squash(product), cosine, squash(self.length(a)), squash(self.length(b))]
        return np.array(out)

    def rank(self, m, value):
        """Share of the background below in column m, ties as a half."""
        return sum(1.0 if row[m] < value else 0.5 if row[m] == value else 0.0 for row in self.background) / len(
            self.background
        )

    def tail(self, rank):
        b = len(self.background)
        return -np.log((min(rank, 1 - rank) * b + 0.5) / (b + 1))

    def moments(self, m):
        values, b = [row[m] for row in self.background], len(self.background)
        mean = sum(values) / b
        variance = sum((value - mean) ** 2 for value in values) / b
        return mean, np.sqrt((b * variance + 2) / (b + 2))

    def columns(self, x, own=None):
        """[M, 7]."""
        out, towards = [], self.towards_anomaly(own)
        for m, value in enumerate(x):
            mean, spread = self.moments(m)
            off, anomalous = (value - mean) / spread, towards[m] / spread
            rank, anomaly_rank = self.rank(m, value), self.rank(m, self.center[m] + towards[m])
            same_side = np.sign((rank - 0.5) * (anomaly_rank - 0.5))
            sides = [squash(off), squash(abs(off)), squash(anomalous), squash(off * anomalous)]
            out.append([*sides, self.tail(rank), same_side * self.tail(anomaly_rank), self.log_size])
        return np.array(out)

    def anomaly_columns(self, own=None):
        """[M, 3]."""
        out, towards = [], self.towards_anomaly(own)
        for m, along in enumerate(towards):
            tail = self.tail(self.rank(m, self.center[m] + along))
            out.append([squash(abs(along / self.moments(m)[1])), tail, self.log_size])
        return np.array(out)

    def own_figures(self, x, own=None, own_background=None):
        """[9], before any squashing."""
        n = len(self.normal)
        to_normal = [self.distance(x, row) for k, row in enumerate(self.normal) if k != own]
        to_anomaly = [self.distance(x, row) for k, row in enumerate(self.anomaly, n) if k != own]
        near = min([*to_normal, UNSEEN])
        out = [near, sum(to_normal) / max(len(to_normal), 1)]
        out += [min(to_anomaly), near / (min(to_anomaly) + 1e-3)] if to_anomaly else [0.0, 0.0]
        out += [self.length(x), self.length(x - self.center)]
        neighbours = self.neighbours(x, own_background)
        return np.array([*out, *(mean / usual for mean, usual in zip(neighbours, self.usual, strict=True))])

    def neighbours(self, x, own_background=None):
        """Mean distance to the 1, 4, 10 nearest background rows, or to all but one where there are not so many."""
        distances = [UNSEEN if k == own_background else self.distance(x, row) for k, row in enumerate(self.background)]
        sizes = [min(k, max(len(distances) - 1, 1)) for k in (1, 4, 10)]
        return [sum(sorted(distances)[:size]) / size for size in sizes]

    @cached_property
    def usual(self):
        """The lower median of each over the background rows."""
        each = [self.neighbours(row, k) for k, row in enumerate(self.background)]
        middle = (len(each) - 1) // 2
        return [min(max(sorted(values)[middle], 1e-3), LARGEST) for values in zip(*each, strict=True)]

    @cached_property
    def background_figures(self):
        n = len(self.normal)
        return [self.own_figures(row, k if k < n else None, k) for k, row in enumerate(self.background)]

    def figures(self, x, own=None, own_background=None):
        """[18]: own figures, then twice the share of the background's below (ties as a half) minus 1."""
        values, ranks = self.own_figures(x, own, own_background), []
        for value, others in zip(values, zip(*self.background_figures, strict=True), strict=True):
            below = sum(1.0 if other < value else 0.5 if other == value else 0.0 for other in others)
            ranks.append(2 * below / len(others) - 1)
        return np.array([*squash(values), *ranks])

    def facts(self, own=None):
        """[4]."""
        n, a = len(self.normal), len(self.anomaly)
        sees = a - (own is not None and own >= n) > 0
        return np.array([self.log_size, np.log(self.width) / 5, a / (a + n), float(sees)])

    def description(self, networks, x, own=None, own_background=None):
        """[D]. networks: the layers of `pair`, `column` and `attention`."""
        pair, column, attention = networks
        n, by_label = len(self.normal), ([], [])
        largest = np.zeros(pair[-1][0].shape[1])
        for k, other in enumerate(self.support):
            if k != own:
                out = np.maximum(feed_forward(pair, [*self.pair(x, other), float(k >= n)]), 0)
                by_label[k >= n].append(out)
                largest = np.maximum(largest, out) if k < n else largest
        means = [sum(part) / len(part) if part else np.zeros_like(largest) for part in by_label]
        counted = [m for m, alive in enumerate(self.alive) if alive]
        out = [np.maximum(feed_forward(column, self.columns(x, own)[m]), 0) for m in counted]
        weight = np.exp([feed_forward(attention, self.anomaly_columns(own)[m])[0] for m in counted])
        weighted = sum(w * one for w, one in zip(weight / weight.sum(), out, strict=True))
        pooled = [sum(out) / self.width, np.max(out, axis=0), weighted]
        return np.concatenate([*means, largest, *pooled, self.figures(x, own, own_background), self.facts(own)])
