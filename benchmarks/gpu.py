"""Training on a GPU, ten splits as replicas: `PYTHONPATH=src:. python3 -m benchmarks.gpu --data-dir DIR`.

First 1,000 epochs of one dataset without early stopping, then the column `eigen` over all of the paper's outlier
datasets, as the bench runs it. Needs torch, NumPy, SciPy, scikit-learn, pandas and pyarrow, nothing to be installed.
"""

import argparse
import time

import numpy as np
import torch

from benchmarks.timing import Verdict
from oddshot.bench.jobs import Job, run_job
from oddshot.bench.paper import OUTLIER_DATASETS
from oddshot.bench.plugins import DatasetSource
from oddshot.bench.protocol import build_split, split_seed
from oddshot.bench.settings import RunSettings, dataset_fingerprint, describe_run
from oddshot.data.episodes.sampling import SamplingRule
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.training import TrainingConfig, TrainingData, train
from oddshot.training.trainable import Trainable

PROTOCOLS: tuple[SamplingRule, ...] = ("published", "resampled")


class Clock:
    """Seconds and the peak of the GPU's memory since it was made; 0 of the latter on a CPU."""

    def __init__(self, device: torch.device) -> None:
        self.on_cuda = device.type == "cuda"
        if self.on_cuda:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        self.started = time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Seconds, GiB."""
        if not self.on_cuda:
            return time.perf_counter() - self.started, 0.0
        torch.cuda.synchronize()
        return time.perf_counter() - self.started, torch.cuda.max_memory_allocated() / 2**30


def train_replicas(
    source: DatasetSource, name: str, splits: int, settings: RunSettings, device: torch.device
) -> Verdict:
    """All epochs of one dataset, the splits together; their tasks are made before the clock starts."""
    dataset = source.load(name)
    parts = [build_split(dataset, split, settings) for split in range(splits)]
    trainable = Trainable(Eigen, dataset.X.shape[1], EigenConfig(), splits)
    seeds = [split_seed(name, split) for split in range(splits)]
    pools = [part.training for part in parts], [part.validation for part in parts]
    data = TrainingData(*pools, settings.sizes, settings.protocol)
    clock = Clock(device)
    history = train(trainable, data, seeds, config=settings.training, device=device)
    seconds, peak = clock.read()
    epochs = settings.training.epochs
    assert min(history.epochs) == epochs
    what = f"{epochs:,} epochs × {splits} splits of {name} (M = {dataset.X.shape[1]}), {settings.protocol}"
    print(f"{what}: {seconds:.2f} s, {peak:.2f} GiB, validation AUC {np.mean(history.best_auc):.3f}", flush=True)
    return Verdict(f"{what}: seconds", seconds, 8.0, seconds <= 8.0)


def run_column(
    source: DatasetSource, names: list[str], splits: int, settings: RunSettings, device: torch.device
) -> list[Verdict]:
    """The column `eigen`: tasks made, trained with early stopping, adapted, scored."""
    whole, most = time.perf_counter(), 0.0
    for name in names:
        clock = Clock(device)
        dataset = source.load(name)
        config = describe_run(settings, "eigen", dataset_fingerprint(dataset))
        job = Job(name, "eigen", tuple(range(splits)), settings, config, str(device), source)
        records = run_job(job, dataset)
        failed = [record.reason for record in records if record.status != "done"]
        seconds, peak = clock.read()
        most = max(most, peak)
        auc = np.mean([record.auc_half for record in records if record.auc_half is not None] or [np.nan])
        epochs = max((record.epochs or 0 for record in records), default=0)
        note = f", FAILED: {failed[0]}" if failed else ""
        print(f"{name}: {seconds:.1f} s, {peak:.2f} GiB, up to {epochs} epochs, AUC {auc:.3f}{note}", flush=True)
    total = time.perf_counter() - whole
    what = f"column eigen, {len(names)} datasets × {splits} splits, {settings.protocol}"
    return [
        Verdict(f"{what}: seconds", total, 120.0, total <= 120.0),
        Verdict(f"{what}: peak GiB", most, 20.0, most <= 20.0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="folder with NAME.npz files")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dataset", default="cardiotocography", help="for the first part; M <= 60")
    parser.add_argument("--datasets", default=",".join(OUTLIER_DATASETS), help="for the column; empty for none")
    parser.add_argument("--column-protocol", default="published", choices=PROTOCOLS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=1000)
    given = parser.parse_args()
    device, source = torch.device(given.device), DatasetSource(data_dir=given.data_dir)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name(device) if device.type == 'cuda' else device}")
    started = time.perf_counter()
    train_replicas(source, given.dataset, 1, RunSettings(training=TrainingConfig(epochs=2, patience=2)), device)
    print(f"started in {time.perf_counter() - started:.1f} s: context, libraries, a training of two epochs")
    full, verdicts = TrainingConfig(epochs=given.epochs, patience=given.epochs), []
    for protocol in PROTOCOLS:
        settings = RunSettings(protocol=protocol, training=full)
        verdicts.append(train_replicas(source, given.dataset, given.splits, settings, device))
    names = [name for name in given.datasets.split(",") if name]
    if names:
        settings = RunSettings(protocol=given.column_protocol, training=TrainingConfig(epochs=given.epochs))
        verdicts += run_column(source, names, given.splits, settings, device)
    for verdict in verdicts:
        print(
            f"{'ok    ' if verdict.ok else 'MISSED'} {verdict.ratio:8.2f} (target {verdict.target:g})  {verdict.name}"
        )


if __name__ == "__main__":
    main()
