"""What a running bench shows: a live table on a terminal, a line a run elsewhere."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from oddshot.bench.grid import RunCounts
from oddshot.bench.paper import dataset_title, method_title
from oddshot.bench.record import RunRecord


class ProgressDisplay:
    """Counts, the time left and the mean AUCs so far; `on_start` and `on_finish` are for run_grid."""

    def __init__(self, auc: str, console: Console, live: Live | None) -> None:
        self._auc, self._console, self._live = auc, console, live
        self._aucs: dict[str, dict[str, list[float]]] = {}
        self._tally = RunCounts(0, 0, 0)
        self._started, self._left_at_start, self._failure = time.monotonic(), 0, ""

    def on_start(self, tally: RunCounts, known: Sequence[RunRecord]) -> None:
        """Before the first job. known: runs that the store has from before."""
        self._aucs.clear()
        for record in known:
            self._note(record)
        self._tally, self._left_at_start, self._started = tally, tally.left, time.monotonic()
        self._refresh(self._counts())

    def on_finish(self, records: list[RunRecord], tally: RunCounts) -> None:
        """After each job, when its runs are in the store."""
        self._tally = tally
        for record in records:
            self._note(record)
            self._refresh(f"{_one_line(record, self._auc)}  ({self._counts()})")

    def _note(self, record: RunRecord) -> None:
        value = getattr(record, f"auc_{self._auc}")
        if record.status == "done" and value is not None:
            self._aucs.setdefault(record.dataset, {}).setdefault(record.method, []).append(value)
        else:
            self._failure = _one_line(record, self._auc)

    def _refresh(self, line: str) -> None:
        if self._live is not None:
            self._live.update(self._picture())
        else:
            self._console.print(Text(line), soft_wrap=True)

    def _counts(self) -> str:
        tally = self._tally
        text = f"{tally.done} of {tally.total} done, {tally.failed} failed, {tally.left} left"
        finished = self._left_at_start - tally.left
        if finished and tally.left:
            seconds = (time.monotonic() - self._started) / finished * tally.left
            text += f", about {_duration(seconds)}"
        return text

    def _picture(self) -> Group:
        methods = list(dict.fromkeys(method for row in self._aucs.values() for method in row))
        table = Table("", *map(method_title, methods), box=None, pad_edge=False)
        for dataset, row in self._aucs.items():
            cells = (_mean(row.get(method, [])) for method in methods)
            table.add_row(Text(dataset_title(dataset)), *cells)
        parts: list[Any] = [table, Text(self._counts(), style="bold")]
        if self._failure:
            parts.append(Text(f"last failure: {self._failure}", style="red"))
        return Group(*parts)


@contextmanager
def show_progress(auc: str, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """A view for as long as the block runs. auc: `strict` or `half`."""
    console = Console(stderr=True, quiet=quiet)
    if quiet or not console.is_terminal:
        yield ProgressDisplay(auc, console, None)
        return
    with Live(console=console, refresh_per_second=4, vertical_overflow="crop") as live:
        yield ProgressDisplay(auc, console, live)


def _one_line(record: RunRecord, auc: str) -> str:
    name = f"{record.dataset} split {record.split} {record.method}"
    if record.status == "failed":
        return f"{name}: failed: {record.reason}"
    seconds = "" if record.train_seconds is None else f", trained {record.train_seconds:.1f} s"
    return f"{name}: AUC {getattr(record, f'auc_{auc}'):.3f}{seconds}"


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else ""


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{seconds} s"
