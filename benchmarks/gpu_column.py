"""One method on all 24 datasets, ten splits: `PYTHONPATH=src:. python3 -m benchmarks.gpu_column --data-dir DIR ...`.

Runs `oddshot bench run` as a user would, once for wide datasets and once for the others, at the same time on one GPU.
Their processes share it better if `nvidia-cuda-mps-control -d` was run before.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from oddshot.bench.store import read_store

WIDE = "internetads"  # each of its splits is trained alone
OTHERS = (
    "arrhythmia,ionosphere,lymphography,spambase,kddcup99,wdbc,waveform,aloi,wbc,pageblocks,cardiotocography,pendigits,"
    "parkinson,pima,shuttle,annthyroid,hepatitis,glass,stamps,heartdisease,nbaiot,wilt,landmine"
)  # those that take longest first


def start(names: str, workers: int, store: Path, given: argparse.Namespace) -> subprocess.Popen[bytes]:
    """Start the bench for some datasets."""
    options = {
        "protocol": given.protocol, "datasets": names, "methods": given.method, "splits": given.splits,
        "patience": 100, "device": given.device, "data-dir": given.data_dir, "workers": workers, "store": store,
    }  # fmt: skip
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return subprocess.Popen([sys.executable, "-m", "oddshot", "bench", "run", "--quiet", *arguments])


def report(stores: list[Path]) -> tuple[int, int]:
    """Print the AUC of each dataset. Returns the numbers of datasets and of runs that are done."""
    records = [record for store in stores if store.exists() for record in read_store(store)]
    done = [record for record in records if record.status == "done"]
    for failed in (record for record in records if record.status != "done"):
        print(f"FAILED {failed.dataset} {failed.split}: {failed.reason}")
    names = sorted({record.dataset for record in done})
    for name in names:
        own = [record for record in done if record.dataset == name]
        auc = np.mean([record.auc_half for record in own if record.auc_half is not None])
        epochs = max(record.epochs or 0 for record in own)
        print(f"{name}: {len(own)} splits, up to {epochs} epochs, AUC {auc:.3f}")
    return len(names), len(done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="folder with NAME.npz files")
    parser.add_argument("--stores", required=True, type=Path, help="folder for the two stores of runs")
    parser.add_argument("--method", default="relative")
    parser.add_argument("--protocol", default="resampled", choices=("published", "resampled"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--wide", default=WIDE)
    parser.add_argument("--others", default=OTHERS)
    parser.add_argument("--workers", default="3,5", help="processes for the wide datasets and for the others")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which what still runs is ended")
    given = parser.parse_args()
    given.stores.mkdir(parents=True, exist_ok=True)
    parts, begin = list(zip((given.wide, given.others), given.workers.split(","), strict=True)), time.monotonic()
    stores = [given.stores / f"{given.protocol}-{number}.db" for number in range(len(parts))]
    running = [
        start(names, int(workers), store, given) for (names, workers), store in zip(parts, stores, strict=True) if names
    ]
    is_complete = True
    for process in running:
        try:
            is_complete &= process.wait(max(0.0, given.limit - (time.monotonic() - begin))) == 0
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
            is_complete = False
        print(f"a part ended after {time.monotonic() - begin:.1f} s", flush=True)
    seconds = time.monotonic() - begin
    n_datasets, n_runs = report(stores)
    what = f"column {given.method}, {n_datasets} datasets, {n_runs} runs, {given.protocol}"
    verdict = "NOT COMPLETE" if not is_complete else "ok" if seconds <= 600 else "MISSED"
    print(f"{verdict} {seconds:.1f} s (target 600)  {what}")


if __name__ == "__main__":
    main()
