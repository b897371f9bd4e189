"""A progress bar on the terminal, and silence where there is none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from oddshot.training import Progress, TrainingConfig


@contextmanager
def training_bar(config: TrainingConfig, *, enabled: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Yields a function to call after each epoch; it shows loss, validation AUC and the time left at most."""
    console = Console(stderr=True)
    columns = (
        TextColumn("training"),
        BarColumn(),
        TextColumn("epoch {task.completed:.0f} of at most {task.total:.0f}  {task.description}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    silent = not (enabled and console.file.isatty())  # rich's own is_terminal is true in a log with FORCE_COLOR set
    with Bar(*columns, console=console, disable=silent, transient=True) as bar:
        line = bar.add_task("", total=config.epochs)

        def on_epoch(state: Progress) -> None:
            # Early stopping may come sooner: the end is at most `patience` epochs after the best one.
            text = f"loss {state.loss:.3f}  validation AUC {state.valid_auc:.3f} (best {state.best_auc:.3f})"
            bar.update(line, completed=state.epoch, description=text)

        yield on_epoch
