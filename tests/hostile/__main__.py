"""Runs the trial: `python -m tests.hostile [--short] [--seed N] [--out FOLDER]`; exit code 1 if anything failed."""

import argparse
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from tests.hostile.connections import try_connections
from tests.hostile.files import try_files
from tests.hostile.log import TrialLog, write_report
from tests.hostile.long_files import try_depth, try_long_files
from tests.hostile.outputs import try_permissions
from tests.hostile.processes import try_full_disk, try_kills, try_signals
from tests.hostile.rankings import try_rankings
from tests.hostile.requests import try_dictionaries, try_many_tasks, try_requests


def run(log: TrialLog, seed: int, short: bool) -> None:
    """All doors; the short form leaves out what starts processes, which other tests do."""
    try_rankings(log, seed, 40 if short else 2000)
    try_files(log, seed, 30 if short else 1200)
    try_long_files(log, seed, 20 if short else 600)
    try_depth(log, seed, 50 if short else 2000)
    try_permissions(log, seed, 50 if short else 2000)
    try_requests(log, seed, 150 if short else 4000)
    try_dictionaries(log, seed, 100 if short else 2000)
    try_many_tasks(log, seed, 60 if short else 5000)
    if not short:
        try_full_disk(log, seed, 20)
        try_signals(log, seed, 40)
        try_kills(log, seed, 20)
        try_connections(log, seed, 60.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="where to write report.json and table.md")
    arguments = parser.parse_args()
    threadpool_limits(1)
    log = TrialLog()
    run(log, arguments.seed, arguments.short)
    report = log.report(arguments.seed)
    if arguments.out is not None:
        write_report(report, arguments.out)
    for name, door in report["doors"].items():
        print(f"{name}: {door['tried']:,} tried, {door['failed']:,} failed, {door['seconds']:.0f} s")
    print(f"all: {report['tried']:,} tried, {report['failed']:,} failed")
    sys.exit(report["failed"] > 0)


if __name__ == "__main__":
    main()
