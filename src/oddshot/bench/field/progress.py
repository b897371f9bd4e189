"""Progress of the field trial and of the grid of decisions: a bar on a terminal, otherwise a line every few seconds."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from oddshot.errors import printable

SECONDS_PER_LINE = 10.0


@contextmanager
def show_progress(
    n_jobs: int, quiet: bool = False, title: str = "field trial", unit: str = "cells"
) -> Iterator[Callable[[str], None]]:
    """Yield a function to be called with a description of every finished job. unit: what the jobs are."""
    console = Console(stderr=True, quiet=quiet)
    if quiet or not console.is_terminal:
        yield _line_printer(n_jobs, console, unit)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=n_jobs)
        yield lambda text: progress.update(task, advance=1, description=printable(text))


def _line_printer(n_jobs: int, console: Console, unit: str) -> Callable[[str], None]:
    started = last = time.monotonic()
    finished = 0

    def on_finish(text: str) -> None:
        nonlocal finished, last
        finished += 1
        now = time.monotonic()
        if now - last >= SECONDS_PER_LINE or finished == n_jobs:
            last = now
            left = (now - started) / finished * (n_jobs - finished)
            console.print(
                f"{finished} of {n_jobs} {unit}, about {left:.0f} s left: {printable(text)}",
                soft_wrap=True,
                markup=False,
            )

    return on_finish
