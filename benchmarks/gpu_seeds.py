"""The shipped model trained with several seeds at once on one GPU: `PYTHONPATH=src:. python3 -m benchmarks.gpu_seeds`.

Each seed is a process of its own. The time is that of the slowest, from the step at which all of them have started.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from oddshot.training.shipped_weights import UniversalConfig, train_universal

WARM_UP = 10  # steps, the first of which load the libraries


def train_seed(seed: int, n_steps: int, device: str) -> tuple[float, float]:
    """Train with one seed. Returns the times of its first counted and of its last step, on the machine's clock."""
    torch.set_num_threads(1)
    times: list[float] = []

    def on_step(step: int, loss: float) -> None:
        times.append(time.monotonic())

    train_universal(UniversalConfig(steps=WARM_UP + n_steps, seed=seed), device=device, on_step=on_step)
    return times[WARM_UP - 1], times[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seeds", default="1,4", help="how many at once, one after the other")
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    for n_seeds in map(int, given.seeds.split(",")):
        with ProcessPoolExecutor(n_seeds, mp_context=get_context("spawn")) as pool:
            spans = list(pool.map(train_seed, range(n_seeds), [given.steps] * n_seeds, [given.device] * n_seeds))
        seconds = max(last for _, last in spans) - min(first for first, _ in spans)
        what = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds at once"
        print(
            f"shipped model, {given.steps} steps, {what}: {seconds:.1f} s, {seconds / n_seeds:.1f} s a seed", flush=True
        )


if __name__ == "__main__":
    main()
