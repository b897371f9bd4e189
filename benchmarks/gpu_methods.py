"""Table 3 with each method alone on the GPU: `PYTHONPATH=src:. python3 -m benchmarks.gpu_methods --data-dir DIR`.

For every learned method, one after the other: seconds of 1,000 epochs of ten splits that are trained together, from the
epochs after the first ones, in which steps are recorded; then the time to adapt to a task, and to score a row of it.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch

from benchmarks.gpu import PROTOCOLS
from oddshot.bench.evaluation import MIN_TARGET_EPISODES, TARGET_STREAM
from oddshot.bench.plugins import DatasetSource
from oddshot.bench.protocol import Split, build_split, split_seed
from oddshot.bench.settings import RunSettings
from oddshot.methods import find_method
from oddshot.training import EpochProgress, TrainingConfig, TrainingData, train, validation_episodes
from oddshot.training.trainable import Trainable

LEARNED = "eigen,svdd,ssvdd,proto,r2d2,maml,ft,wonn,woproj,woanomaly,relative"
RECORDED = 20  # epochs after which all steps of every method are recorded as CUDA graphs
REPEATS = 7  # of an adaptation


def synchronized() -> float:
    """Seconds on a clock, after the GPU has finished its work."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def epoch_seconds(
    trainable: Trainable, splits: list[Split], seeds: list[int], settings: RunSettings, device: str
) -> float:
    """Mean seconds of an epoch of all splits together, validation included, without the first epochs."""
    ends: list[float] = []

    def on_epoch(progress: EpochProgress) -> None:
        ends.append(synchronized())

    pools = [split.training for split in splits], [split.validation for split in splits]
    data = TrainingData(*pools, settings.sizes, settings.protocol)
    train(trainable, data, seeds, config=settings.training, device=device, on_epoch=on_epoch)
    return (ends[-1] - ends[RECORDED - 1]) / (len(ends) - RECORDED)


def median_seconds(action: Callable[[], object]) -> float:
    """Of some repetitions, after one that does not count."""
    times = []
    for _ in range(REPEATS + 1):
        started = synchronized()
        action()
        times.append(synchronized() - started)
    return median(times[1:])


@torch.no_grad()
def target_seconds(
    trainable: Trainable, splits: list[Split], seeds: list[int], settings: RunSettings, device: str
) -> tuple[float, float]:
    """Seconds to adapt to one of all target tasks that are adapted to together, and to score one row."""
    streams = [np.random.SeedSequence([seed, TARGET_STREAM]) for seed in seeds]
    targets, where = [split.target for split in splits], torch.device(device)
    support, query = validation_episodes(
        targets, settings.sizes, settings.protocol, where, streams, MIN_TARGET_EPISODES
    )
    n_tasks = support.normal.shape[0] * support.normal.shape[1]
    method = trainable.method
    score, rows = method.adapt(support), query.joined()
    adapt = median_seconds(lambda: method.adapt(support))
    return adapt / n_tasks, median_seconds(lambda: score(rows)) / (n_tasks * rows.shape[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="folder with NAME.npz files")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dataset", default="cardiotocography")
    parser.add_argument("--methods", default=LEARNED)
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=120, help=f"of which the first {RECORDED} do not count")
    given = parser.parse_args()
    dataset = DatasetSource(data_dir=given.data_dir).load(given.dataset)
    seeds = [split_seed(given.dataset, split) for split in range(given.splits)]
    device = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    print(f"torch {torch.__version__}, {device}; {given.splits} splits of {given.dataset} (M = {dataset.X.shape[1]})")
    for protocol in (name for name in PROTOCOLS if name in given.protocols.split(",")):
        settings = RunSettings(protocol, TrainingConfig(epochs=given.epochs, patience=given.epochs))
        splits = [build_split(dataset, split, settings) for split in range(given.splits)]
        for name in given.methods.split(","):
            kind = find_method(name)
            trainable = Trainable(kind, dataset.X.shape[1], kind.config_type(), given.splits)
            epoch = epoch_seconds(trainable, splits, seeds, settings, given.device)
            adapt, score = target_seconds(trainable, splits, seeds, settings, given.device)
            print(
                f"{name}, {protocol}: {1000 * epoch:.2f} s for 1,000 epochs, {1000 * epoch / given.splits:.3f} s a "
                f"split; {1e6 * adapt:.2f} µs to adapt to a task; {1e9 * score:.1f} ns to score a row",
                flush=True,
            )


if __name__ == "__main__":
    main()
