"""Training in bf16 on a GPU: `PYTHONPATH=src:. python3 -m benchmarks.gpu_bf16 --data-dir DIR`.

The column `eigen` with matrix products in TF32 and then under `torch.autocast` in bf16, which leaves the eigenvalue
problem in float64; seconds of training and AUC on the target tasks. Validation and target tasks are scored without it.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oddshot.bench.evaluation import evaluate_splits
from oddshot.bench.paper import OUTLIER_DATASETS
from oddshot.bench.plugins import DatasetSource
from oddshot.bench.protocol import build_split, split_seed
from oddshot.bench.settings import RunSettings
from oddshot.data.sources.catalogue import Dataset
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.score.rows import LabelledRows
from oddshot.training import TrainingConfig
from oddshot.training.trainable import Trainable


class EigenInBf16(Eigen):
    """The proposed method, trained in bf16."""

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None = None) -> Tensor:
        """The same under autocast; without its cache of weights, which a recorded step would keep for ever."""
        with torch.autocast(support.normal.device.type, torch.bfloat16, cache_enabled=False):
            loss: Tensor = super().loss(support, query, unlabelled)
            return loss


@dataclass(frozen=True)
class Trained:
    """Seconds of training and the mean AUC of a dataset."""

    seconds: float
    auc: float


def train_splits(
    method_type: type[Eigen], name: str, dataset: Dataset, n_splits: int, settings: RunSettings, device: torch.device
) -> Trained:
    """All splits of a dataset together."""
    splits = [build_split(dataset, split, settings) for split in range(n_splits)]
    seeds = [split_seed(name, split) for split in range(n_splits)]
    trainable = Trainable(method_type, dataset.X.shape[1], EigenConfig(), n_splits)
    results = evaluate_splits(trainable, splits, seeds, settings, device)
    assert results.history is not None
    return Trained(results.history.seconds, float(results.auc_half.mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="folder with NAME.npz files")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--datasets", default=",".join(name for name in OUTLIER_DATASETS if name != "internetads"))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=1000)
    given = parser.parse_args()
    source, device = DatasetSource(data_dir=given.data_dir), torch.device(given.device)
    settings = RunSettings("resampled", TrainingConfig(epochs=given.epochs))
    pairs = []
    for name in given.datasets.split(","):
        dataset = source.load(name)
        pair = [train_splits(kind, name, dataset, given.splits, settings, device) for kind in (Eigen, EigenInBf16)]
        pairs.append(pair)
        tf32, bf16 = pair
        parts = f"TF32 {tf32.seconds:.1f} s, AUC {tf32.auc:.4f}; bf16 {bf16.seconds:.1f} s, AUC {bf16.auc:.4f}"
        print(f"{name}: {parts}", flush=True)
    seconds = np.array([[trained.seconds for trained in pair] for pair in pairs]).sum(0)
    auc = np.array([[trained.auc for trained in pair] for pair in pairs]).mean(0)
    change = f"{seconds[0]:.1f} -> {seconds[1]:.1f} s, AUC {auc[0]:.4f} -> {auc[1]:.4f}"
    print(f"TF32 -> bf16, {len(pairs)} datasets × {given.splits} splits, resampled: {change}")


if __name__ == "__main__":
    main()
