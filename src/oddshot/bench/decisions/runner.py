"""The grid from beginning to end: tables and draws in worker processes, then the files of the report."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pandas as pd

from oddshot.adapted.task import require_calibration
from oddshot.bench.decisions.grid import DecisionCell
from oddshot.bench.decisions.measure import DecisionJob, job_cost, measure_draw
from oddshot.bench.decisions.results import to_frame
from oddshot.bench.decisions.rows import draw_table
from oddshot.bench.field.product import load_candidate
from oddshot.bench.field.tables import FieldTable
from oddshot.bench.field.workers import run_in_workers
from oddshot.errors import InputError


@dataclass(frozen=True)
class GridTables:
    """Tables to be measured with a model: the one in a file, or None for the one that ships."""

    tables: tuple[FieldTable, ...]
    model_file: str | None = None


def tables_of_sources(tables: Sequence[FieldTable], limit: int) -> list[FieldTable]:
    """At most so many tables of every source: those with the most anomalies, which take part in the most cells."""
    by_source: dict[str, list[FieldTable]] = {}
    for table in tables:
        by_source.setdefault(table.source, []).append(table)
    chosen = (sorted(group, key=lambda table: -int(table.y.sum()))[:limit] for group in by_source.values())
    return [table for group in chosen for table in group]


def measure_tables(
    groups: Sequence[GridTables], cells: Sequence[DecisionCell], draws: int, workers: int, quiet: bool = False
) -> pd.DataFrame:
    """Measure all tables and draws: a row for every cell, table and draw in which the table has the rows."""
    for group in groups:  # a model that cannot be used is reported before anything is run
        model = load_candidate(group.model_file)
        if model is not None:
            require_calibration(model, "the grid of decisions")
    jobs = [
        DecisionJob(draw_table(table, draw), tuple(cells), group.model_file)
        for group in groups
        for table in group.tables
        for draw in range(draws)
    ]
    costs = {id(job): job_cost(job) for job in jobs}
    jobs = sorted((job for job in jobs if costs[id(job)]), key=lambda job: -costs[id(job)])
    if not jobs:
        raise InputError("no table has the rows that a cell needs; give --data-dir or --tables")
    measured = []
    with _show_progress(len(jobs), quiet) as on_finish:
        for result in run_in_workers(measure_draw, jobs, workers):
            measured.append(result)
            on_finish(f"{result.table}, draw {result.draw + 1}")
    return to_frame(measured, cells)


def _show_progress(n_jobs: int, quiet: bool) -> AbstractContextManager[Callable[[str], None]]:
    """Progress as in the field trial, or plain lines where `rich` is not installed."""
    try:
        from oddshot.bench.field.progress import show_progress
    except ModuleNotFoundError:
        return _plain_progress(n_jobs, quiet)
    return show_progress(n_jobs, quiet, "grid of decisions", "draws of tables")


@contextmanager
def _plain_progress(n_jobs: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    started, finished = time.monotonic(), 0

    def on_finish(text: str) -> None:
        nonlocal finished
        finished += 1
        if not quiet:
            left = (time.monotonic() - started) / finished * (n_jobs - finished)
            print(
                f"{finished} of {n_jobs} draws of tables, about {left:.0f} s left: {text}", file=sys.stderr, flush=True
            )

    yield on_finish
