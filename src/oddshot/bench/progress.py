"""Progress of a running grid: a live table on a terminal, otherwise one line for every run."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from oddshot.bench.grid import RunCounts
from oddshot.bench.paper import dataset_title, method_title
from oddshot.bench.record import AucKind, RunRecord
from oddshot.errors import printable


class ProgressDisplay:
    """Shows the counts, the remaining time and the mean AUCs so far; its methods are callbacks of `run_grids`."""

    def __init__(self, auc: AucKind, console: Console, live: Live | None) -> None:
        self._auc, self._console, self._live = auc, console, live
        self._aucs: dict[str, dict[str, list[float]]] = {}
        self._counts = RunCounts(0, 0, 0)
        self._started, self._left_at_start, self._last_failure = time.monotonic(), 0, ""

    def on_start(self, counts: RunCounts, stored: Sequence[RunRecord]) -> None:
        """Called before the first job. stored: runs of the grid that are in the store already."""
        self._aucs.clear()
        for record in stored:
            self._add(record)
        self._counts, self._left_at_start, self._started = counts, counts.left, time.monotonic()
        self._refresh(self._describe_counts())

    def on_finish(self, records: list[RunRecord], counts: RunCounts) -> None:
        """Called after every job with its records."""
        self._counts = counts
        for record in records:
            self._add(record)
            self._refresh(f"{_describe_run(record, self._auc)}  ({self._describe_counts()})")

    def _add(self, record: RunRecord) -> None:
        auc = record.auc(self._auc)
        if record.status == "done" and auc is not None:
            self._aucs.setdefault(record.dataset, {}).setdefault(record.method, []).append(auc)
        else:
            self._last_failure = _describe_run(record, self._auc)

    def _refresh(self, line: str) -> None:
        if self._live is not None:
            self._live.update(self._render())
        else:
            self._console.print(Text(printable(line)), soft_wrap=True)

    def _describe_counts(self) -> str:
        counts = self._counts
        text = f"{counts.done} of {counts.total} done, {counts.failed} failed, {counts.left} left"
        finished = self._left_at_start - counts.left
        if finished and counts.left:
            seconds = (time.monotonic() - self._started) / finished * counts.left
            text += f", about {_format_duration(seconds)}"
        return text

    def _render(self) -> Group:
        methods = list(dict.fromkeys(method for row in self._aucs.values() for method in row))
        table = Table("", *map(method_title, methods), box=None, pad_edge=False)
        for dataset, row in self._aucs.items():
            cells = (_format_mean(row.get(method, [])) for method in methods)
            table.add_row(Text(printable(dataset_title(dataset))), *cells)
        parts: list[RenderableType] = [table, Text(self._describe_counts(), style="bold")]
        if self._last_failure:
            parts.append(Text(printable(f"last failure: {self._last_failure}"), style="red"))
        return Group(*parts)


@contextmanager
def show_progress(auc: AucKind, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """A display on stderr for the duration of the block; with `quiet` it prints nothing."""
    console = Console(stderr=True, quiet=quiet)
    if quiet or not console.is_terminal:
        yield ProgressDisplay(auc, console, None)
        return
    with Live(console=console, refresh_per_second=4, vertical_overflow="crop") as live:
        yield ProgressDisplay(auc, console, live)


def _describe_run(record: RunRecord, auc: AucKind) -> str:
    name = f"{record.dataset} split {record.split} {record.method}"
    if record.status == "failed":
        return f"{name}: failed: {record.reason}"
    seconds = "" if record.train_seconds is None else f", trained {record.train_seconds:.1f} s"
    return f"{name}: AUC {record.auc(auc):.3f}{seconds}"


def _format_mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else ""


def _format_duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{seconds} s"
