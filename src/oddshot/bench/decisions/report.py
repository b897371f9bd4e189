"""The report."""

from pathlib import Path

import pandas as pd

from oddshot.bench.decisions.results import summarise, to_csv
from oddshot.data.files import write_bytes


def write_report(frame: pd.DataFrame, out: Path, title: str, earlier: pd.DataFrame | None) -> tuple[str, list[str]]:
    """Write grid.csv."""
    write_bytes(out / "grid.csv", to_csv(summarise(frame)).encode())
    return "", ["grid.csv"]
