"""Progress bars on a terminal; without a terminal nothing is shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from oddshot.training.algorithm import EpochProgress, TrainingConfig


@contextmanager
def training_bar(
    config: TrainingConfig, *, enabled: bool = True, title: str = "training"
) -> Iterator[Callable[[EpochProgress], None]]:
    """Yields a function to call after each epoch; it shows loss, validation AUC and the longest remaining time."""
    columns = (
        TextColumn(escape(title)),
        BarColumn(),
        TextColumn("epoch {task.completed:.0f} of at most {task.total:.0f}  {task.description}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with _progress_bar(*columns, enabled=enabled) as bar:
        line = bar.add_task("", total=config.epochs)

        def on_epoch(state: EpochProgress) -> None:
            text = f"loss {state.loss:.3f}  validation AUC {state.valid_auc:.3f} (best {state.best_auc:.3f})"
            bar.update(line, completed=state.epoch, description=text)

        yield on_epoch


@contextmanager
def working_bar(title: str, *, enabled: bool = True) -> Iterator[None]:
    """Shows what is being done, and for how long."""
    with _progress_bar(TextColumn(escape(title)), SpinnerColumn(), TimeElapsedColumn(), enabled=enabled) as bar:
        bar.add_task("", total=None)
        yield


@contextmanager
def scoring_bar() -> Iterator[Callable[[str, int], None]]:
    """Yields a function to call with the name of a file and the number of its rows that were scored since."""
    columns = (
        TextColumn("scoring {task.description}"),
        SpinnerColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
    )
    with _progress_bar(*columns) as bar:
        line = bar.add_task("", total=None)
        yield lambda file, rows: bar.update(line, advance=rows, description=escape(file))


def _progress_bar(*columns: ProgressColumn, enabled: bool = True) -> Progress:
    console = Console(stderr=True)
    hidden = not (enabled and console.file.isatty())  # rich's own is_terminal is true in a log if FORCE_COLOR is set
    return Progress(*columns, console=console, disable=hidden, transient=True)
