"""A study: does the universal model gain from real tables? Each of the paper's tables is scored by a model that has not
learned from it.

    python results/universal/keel_tables.py TABLES.npz          # see there
    python results/universal/leave_out.py TABLES.npz DATA_DIR [--device cuda] [--workers 7]

The training of the model that ships, with as many steps again on real tables: those of TABLES.npz, and of the paper's
21 outlier tables all large ones but the fold's three. Seven folds, all settings as for what ships. The AUC is that of
`oddshot bench unmixed` on the same draws. Writes leave_out.csv beside this file.
"""

import argparse
import csv
import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.bench.paper import OUTLIER_DATASETS
from oddshot.bench.protocol import z_score
from oddshot.bench.unmixed import draw_episodes, mean_auc
from oddshot.data.sources.catalogue import load_dataset
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model
from oddshot.training.shipped_weights import UniversalConfig, train_universal
from oddshot.universal.prior import MAX_ABS_Z_SCORE, Prior

FOLDS = (
    "aloi glass pima",
    "annthyroid heartdisease pendigits",
    "arrhythmia hepatitis shuttle",
    "cardiotocography ionosphere spambase",
    "wbc wdbc kddcup99",  # the first two have a source in common
    "lymphography stamps waveform",
    "pageblocks parkinson wilt",
)
MIN_ROWS = (250, 30)  # normal rows and anomalies of a table to learn from: an episode takes up to 239 and 16
MAX_ROWS_PER_TABLE = 1650  # rows of a table that are kept
Table = tuple[NDArray[np.float32], NDArray[np.int64]]


class RealTables:
    """Tables on a device, and episodes of them. Sources are equally likely, and so are the tables of each."""

    def __init__(self, tables: dict[str, Table], device: torch.device) -> None:
        usable = {name: _thinned(*table) for name, table in tables.items() if _is_large(table[1])}
        self.width = max(X.shape[1] for X, _ in usable.values())
        of_source = Counter(name.split("/")[0] for name in usable)
        self.weights = torch.tensor([1 / of_source[name.split("/")[0]] for name in usable], device=device)
        self.X = torch.zeros(len(usable), MAX_ROWS_PER_TABLE, self.width, device=device)
        counts = []
        for k, (X, y) in enumerate(usable.values()):
            order = np.argsort(y, kind="stable")  # normal rows first
            scaled = z_score(X[order].astype(np.float64)).clip(-MAX_ABS_Z_SCORE, MAX_ABS_Z_SCORE)
            self.X[k, : len(X), : X.shape[1]] = torch.from_numpy(scaled.astype(np.float32))
            counts.append([int((y == 0).sum()), int((y == 1).sum()), X.shape[1]])
        self.counts = torch.tensor(counts, device=device)

    def rows(self, tables: Tensor, normal: int, anomaly: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Of these tables, [T]: so many rows at random, [T, n, W] and [T, a, W]; the last one again for more."""
        n, a, _ = self.counts[tables].unbind(1)
        place = torch.arange(MAX_ROWS_PER_TABLE, device=self.X.device)
        is_normal = place < n[:, None]
        is_anomaly = ~is_normal & (place < (n + a)[:, None])
        parts = []
        for some, count, size in ((is_normal, n, normal), (is_anomaly, a, anomaly)):
            mixed = torch.where(some, torch.rand(some.shape, generator=generator, device=place.device), 2.0).argsort(1)
            chosen = mixed.gather(1, torch.minimum(place[:size], count[:, None] - 1))
            parts.append(self.X[tables[:, None], chosen])
        return parts[0], parts[1]


class RealPrior(Prior):
    """Tasks of real tables instead of synthetic ones, with some of their columns in any order and direction."""

    def __init__(self, tables: RealTables, width: int, generator: torch.Generator) -> None:
        super().__init__(width, generator)
        self.source = tables

    def tasks(self, n_tasks: int, n_normal: int, n_anomaly: int) -> tuple[Tensor, Tensor, Tensor]:
        """Normal rows [T, n, M] and anomalous ones [T, a, M], and which columns exist [T, 1, M]."""
        tables = torch.multinomial(self.source.weights, n_tasks, replacement=True, generator=self.generator)
        normal, anomaly = self.source.rows(tables, n_normal, n_anomaly, self.generator)
        _, self.n_anomalies, width = self.source.counts[tables].unbind(1)
        column = torch.arange(self.source.width, device=self.device)
        order = torch.where(column < width[:, None], self._random(n_tasks, len(column)), 2.0).argsort(1)
        order = order[:, : self.width]
        order = torch.nn.functional.pad(order, (0, self.width - order.shape[1]))
        most = width.clamp_max(self.width)
        fewer = 2 + torch.floor(self._random(n_tasks) * (most - 1)).long()
        n_columns = torch.where(self._random(n_tasks) < 0.4, torch.minimum(fewer, most), most)
        has_column = (torch.arange(self.width, device=self.device) < n_columns[:, None]).float().unsqueeze(1)
        sign = self._normal(n_tasks, 1, self.width).sign() * has_column
        normal, anomaly = (
            rows.gather(2, order[:, None].expand(-1, rows.shape[1], -1)) * sign for rows in (normal, anomaly)
        )
        return normal, anomaly, has_column

    def _contaminated(self, normal: Tensor, anomaly: Tensor) -> tuple[Tensor, Tensor]:
        """The same with every anomaly that the table has left once at most."""
        left = self.n_anomalies[:, None] - 16  # no episode takes more
        known = (torch.arange(anomaly.shape[1], device=self.device) < left).unsqueeze(-1)
        n = min(normal.shape[1], anomaly.shape[1])
        return super()._contaminated(normal, torch.where(known[:, :n], anomaly[:, :n], normal[:, :n]))


def half_real(tables: RealTables, width: int, generator: torch.Generator) -> Prior:
    """Every other step or so with real tables."""
    is_real = bool(torch.rand(1, generator=generator, device=generator.device) < 0.5)
    return RealPrior(tables, width, generator) if is_real else Prior(width, generator)


def run_fold(fold: int, tables: Path, data_dir: str, device: str, steps: int) -> dict[str, tuple[float, float]]:
    """AUC of the fold's tables, without and with 200 unlabelled rows."""
    torch.set_num_threads(1)
    held_out = FOLDS[fold].split()
    datasets = {name: load_dataset(name, data_dir, None) for name in OUTLIER_DATASETS if name != "internetads"}
    with np.load(tables) as file:
        known = {name[:-2]: (file[name], file[name[:-1] + "y"]) for name in file.files if name.endswith("/X")}
    known |= {name: (one.X, one.y) for name, one in datasets.items() if name not in held_out}
    real = RealTables(known, torch.device(device))
    method = train_universal(UniversalConfig(steps=steps), device=device, make_prior=partial(half_real, real)).cpu()
    model = Model(method, None, DEFAULT_THRESHOLD, {})
    out = {}
    for name in held_out:
        episodes = draw_episodes(datasets[name], 20, 200, [0, len(datasets[name].y)])
        out[datasets[name].card.title] = (mean_auc(model, episodes, 0), mean_auc(model, episodes, 200))
    return out


def main() -> None:
    """Train and score all folds, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("data_dir")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2 * UniversalConfig().steps)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("leave_out.csv"))
    given = parser.parse_args()
    job = partial(run_fold, tables=given.tables, data_dir=given.data_dir, device=given.device, steps=given.steps)
    found: dict[str, tuple[float, float]] = {}
    with ProcessPoolExecutor(given.workers, multiprocessing.get_context("spawn")) as pool:
        for part in pool.map(job, range(len(FOLDS))):
            found |= part
            print(part, flush=True)
    lines = [[name, *(f"{value:.4f}" for value in found[name])] for name in sorted(found)]
    lines.append(["Average", *(f"{value:.4f}" for value in np.mean(list(found.values()), axis=0))])
    print(*lines[-1])
    with given.out.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["dataset", "labels only", "and 200 unlabelled"], *lines])


def _is_large(y: NDArray[np.int64]) -> bool:
    return all((y == label).sum() >= least for label, least in enumerate(MIN_ROWS))


def _thinned(X: NDArray[np.float32], y: NDArray[np.int64]) -> Table:
    """At most MAX_ROWS_PER_TABLE rows, a tenth of the rest at most anomalies."""
    rng = np.random.default_rng(len(y))
    normal = rng.permutation(np.flatnonzero(y == 0))[: MAX_ROWS_PER_TABLE * 10 // 11]
    anomaly = rng.permutation(np.flatnonzero(y == 1))[: max(len(normal) // 10, MIN_ROWS[1])]
    rows = np.concatenate([normal, anomaly])
    return X[rows], y[rows].astype(np.int64)


if __name__ == "__main__":
    main()
