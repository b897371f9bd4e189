"""A progress bar on the terminal, and silence where there is none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from oddshot.training.algorithm import Progress, TrainingConfig


@contextmanager
def training_bar(config: TrainingConfig, *, enabled: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Yields a function to call after each epoch; it shows loss, validation AUC and the time left at most."""
    columns = (
        TextColumn("training"),
        BarColumn(),
        TextColumn("epoch {task.completed:.0f} of at most {task.total:.0f}  {task.description}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with _bar(*columns, enabled=enabled) as bar:
        line = bar.add_task("", total=config.epochs)

        def on_epoch(state: Progress) -> None:
            # Early stopping may come sooner: the end is at most `patience` epochs after the best one.
            text = f"loss {state.loss:.3f}  validation AUC {state.valid_auc:.3f} (best {state.best_auc:.3f})"
            bar.update(line, completed=state.epoch, description=text)

        yield on_epoch


@contextmanager
def scoring_bar() -> Iterator[Callable[[str, int], None]]:
    """Yields a function to call with a file's name and how many more of its rows are scored."""
    columns = (
        TextColumn("scoring {task.description}"),
        SpinnerColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
    )
    with _bar(*columns) as bar:
        line = bar.add_task("", total=None)
        yield lambda file, rows: bar.update(line, advance=rows, description=escape(file))


def _bar(*columns: ProgressColumn, enabled: bool = True) -> Bar:
    console = Console(stderr=True)
    silent = not (enabled and console.file.isatty())  # rich's own is_terminal is true in a log with FORCE_COLOR set
    return Bar(*columns, console=console, disable=silent, transient=True)
