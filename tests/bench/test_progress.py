import io

from rich.console import Console
from rich.live import Live

from oddshot.bench.grid import RunCounts
from oddshot.bench.progress import ProgressDisplay, _format_duration
from tests.bench.samples import record


def shown(terminal):
    """A bench of four runs, one of them known from before, one failing."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100, color_system=None)
    live = Live(console=console, auto_refresh=False) if terminal else None
    view = ProgressDisplay("strict", console, live)
    view.on_start(RunCounts(4, 1, 0), [record("wdbc", "lr", auc=0.75)])
    view.on_finish([record("glass", "eigen", auc=0.5), record("glass", "eigen", 1, auc=0.6)], RunCounts(4, 3, 0))
    view.on_finish([record("glass", "lr", status="failed", reason="[no] luck")], RunCounts(4, 3, 1))
    if live is not None:
        console.print(live.renderable)
    return text.getvalue()


def test_a_line_a_run_where_there_is_no_terminal():
    first, second, third, fourth = shown(terminal=False).splitlines()
    assert first == "1 of 4 done, 0 failed, 3 left"
    assert second.startswith("glass split 0 eigen: AUC 0.500, trained 10.0 s  (3 of 4 done, 0 failed, 1 left, about ")
    assert third.startswith("glass split 1 eigen: AUC 0.600")
    assert fourth == "glass split 0 lr: failed: [no] luck  (3 of 4 done, 1 failed, 0 left)"


def test_counts_and_the_table_so_far_on_a_terminal():
    lines = [" ".join(line.split()) for line in shown(terminal=True).splitlines()]
    assert lines[-5:] == [
        "LR Ours",
        "WDBC 0.750",
        "Glass 0.550",
        "3 of 4 done, 1 failed, 0 left",
        "last failure: glass split 0 lr: failed: [no] luck",
    ]


def test_format_durations():
    assert [_format_duration(seconds) for seconds in (3, 60, 3599, 7260)] == ["3 s", "1 min", "59 min", "2 h 1 min"]
