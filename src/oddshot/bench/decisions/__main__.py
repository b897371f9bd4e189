"""`python -m oddshot.bench.decisions`: the same as `oddshot bench decisions`, where the packages of the command line
are not installed."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from oddshot.bench.decisions.command import GridRequest, run_grid
from oddshot.errors import OddshotError


def main() -> None:
    """Parse the options, run, and print the criteria."""
    parser = ArgumentParser("python -m oddshot.bench.decisions", description="See oddshot bench decisions --help.")
    for name in ("data-dir", "cache-dir", "split", "fleet", "copies"):
        parser.add_argument(f"--{name}")
    for name in ("max-tables", "draws", "every", "workers"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("tables", "model", "compare", "raw", "out"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--from", dest="from_raw", type=Path)
    parser.add_argument("--quiet", action="store_true")
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    try:
        text, written = run_grid(GridRequest(**given))
    except OddshotError as error:
        sys.exit(f"oddshot: error: {error}")
    print(text)
    print(f"written: {', '.join(written)}")


if __name__ == "__main__":
    main()
