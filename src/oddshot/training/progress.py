"""Progress on stderr: bars on a terminal; elsewhere a line now and then, for logs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Literal

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from oddshot.errors import printable

if TYPE_CHECKING:
    from oddshot.training.algorithm import EpochProgress, TrainingConfig

ProgressMode = bool | Literal["epochs"]  # whether to show it; "epochs": a line for every epoch in place of a bar

MIN_LOG_SECONDS, MIN_LOG_SHARE = 10.0, 0.1
BAR_WIDTH = 16  # with the numbers of epochs and the times, the line is shorter than 80 columns


@contextmanager
def training_bar(
    config: "TrainingConfig", *, enabled: ProgressMode = True, title: str = "training"
) -> Iterator[Callable[["EpochProgress"], None]]:
    """Yields a function to call after each epoch; it shows loss, validation AUC and the remaining time."""
    columns = (
        BarColumn(BAR_WIDTH),
        TextColumn("epoch {task.completed:.0f} of at most {task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    bar, log = _progress_bar(*columns, enabled=enabled is True), LogLines(enabled)
    with bar:
        line, last_epoch = bar.add_task(title, total=config.epochs, left=""), 0

        def on_epoch(state: "EpochProgress") -> None:
            nonlocal log, last_epoch
            if state.epoch <= last_epoch:  # another training begins
                bar.reset(line)
                log = LogLines(enabled)
            last_epoch = state.epoch
            figures = f"AUC {state.valid_auc:.3f} (best {state.best_auc:.3f}), loss {state.loss:.3f}"
            left = _describe_left(*time_left(state, config, log.seconds))
            bar.update(line, completed=state.epoch, description=f"{title}: {figures}", left=left)
            epoch = f"epoch {state.epoch} of at most {config.epochs}"
            log.offer(lambda seconds: f"{title}: {epoch}, {figures}, {_format(seconds)} gone, {left}")

        yield on_epoch


@contextmanager
def working_bar(title: str, *, enabled: ProgressMode = True) -> Iterator[None]:
    """Shows what is being done, and for how long."""
    log = LogLines(enabled)
    with _progress_bar(SpinnerColumn(), TimeElapsedColumn(), enabled=enabled is True) as bar:
        bar.add_task(title, total=None)
        yield
    log.offer(lambda seconds: f"{title}: done in {_format(seconds)}")


@contextmanager
def scoring_bar(*, enabled: bool = True) -> Iterator[Callable[[str, int], None]]:
    """Yields a function to call with the name of a file and the number of its rows that were scored since."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn())
    bar, log = _progress_bar(*columns, enabled=enabled), LogLines(enabled)
    with bar:
        line = bar.add_task("scoring", total=None)
        total = 0

        def on_rows(file: str, rows: int) -> None:
            nonlocal total
            total += rows
            bar.update(line, completed=total, description=f"scoring {file}")
            log.offer(lambda seconds: f"scoring {file}: {total:,} rows, {_format(seconds)} gone")

        yield on_rows


def until_stopped(
    on_epoch: Callable[["EpochProgress"], None], stop: Callable[[], bool] | None
) -> Callable[["EpochProgress"], bool]:
    """The same function of an epoch, which also says whether training is to end there."""

    def call(state: "EpochProgress") -> bool:
        on_epoch(state)
        return stop is not None and stop()

    return call


class LogLines:
    """Lines on stderr where it is no terminal: after ten seconds, and then as often as the time has grown by a tenth.

    mode: "epochs" prints every line that is offered, also on a terminal; False none.
    """

    def __init__(self, mode: ProgressMode) -> None:
        self._console = Console(stderr=True)
        self._all = mode == "epochs"
        self._enabled = self._all or (mode and not self._console.file.isatty())
        self._started = monotonic()
        self._last = 0.0

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return monotonic() - self._started

    def offer(self, make_line: Callable[[float], str]) -> None:
        """Print a line if one is due. make_line: takes the seconds since the beginning."""
        seconds = self.seconds
        due = self._last + max(MIN_LOG_SECONDS, MIN_LOG_SHARE * self._last)
        if self._enabled and (self._all or seconds >= due):
            self._last = seconds
            self._console.print(Text(printable(make_line(seconds))), soft_wrap=True)


class TitledProgress(Progress):
    """A bar below its title, which is cut where it is too long: bar and time keep their places."""

    def get_renderables(self) -> Iterator[RenderableType]:
        """The title of each task, and the bars."""
        for task in self.tasks:
            yield Text(printable(task.description), no_wrap=True, overflow="ellipsis")
        yield from super().get_renderables()


def _progress_bar(*columns: ProgressColumn, enabled: bool) -> Progress:
    console = Console(stderr=True)
    hidden = not (enabled and console.file.isatty())  # rich's own is_terminal is true in a log if FORCE_COLOR is set
    return TitledProgress(*columns, console=console, disable=hidden, transient=True)


def time_left(state: "EpochProgress", config: "TrainingConfig", seconds: float) -> tuple[float, float]:
    """Seconds until training ends, at least and at most, with epochs as fast as those of the `seconds` so far.

    It ends when patience is spent. When that is cannot be told earlier: every better epoch puts it off.
    """
    most = config.epochs - state.epoch
    least = min(max(config.patience - state.epochs_since_best, 0), most)
    return least * seconds / state.epoch, most * seconds / state.epoch


def _describe_left(least: float, most: float) -> str:
    first, last = _format(least), _format(most)
    return f"{last} left" if first == last else f"{first} to {last} left"


def _format(seconds: float) -> str:
    """Hours, minutes and seconds, such as 0:01:30."""
    return str(timedelta(seconds=round(seconds)))
