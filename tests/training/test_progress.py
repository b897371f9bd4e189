import io
import re
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console
from rich.text import Text

from oddshot.training import EpochProgress, TrainingConfig, progress


@pytest.fixture
def stderr(monkeypatch):
    """Replaces the console of progress by one of some width. Returns its stream."""
    monkeypatch.setenv("TERM", "xterm")

    def replace(*, terminal, width=160):
        stream = io.StringIO()
        stream.isatty = lambda: terminal
        console = Console(file=stream, width=width)
        monkeypatch.setattr(progress, "Console", lambda stderr: console)
        return stream

    return replace


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def show_two_epochs(epochs=9, **settings):
    with progress.training_bar(TrainingConfig(epochs=epochs), **settings) as on_epoch:
        on_epoch(EpochProgress(1, -0.5, 0.7, 0.7, 0))
        on_epoch(EpochProgress(2, -0.625, 0.75, 0.875, 1))


@pytest.mark.parametrize("width", [80, 160])
def test_the_bar_shows_auc_loss_and_time_left_also_below_a_long_title(stderr, width):
    stream = stderr(terminal=True, width=width)
    show_two_epochs(title="training the model that ships, trained further")
    *_, title, bar = stream.getvalue().replace("\x1b[2K", "").rpartition("━")[0].splitlines()
    assert "training the model that ships, trained further: AUC 0.750 (best 0.875)" in title
    assert "━━━━━" in bar
    *_, after = stream.getvalue().rpartition("━")
    assert "epoch 2 of at most 9" in after
    assert re.search(r"\d:\d\d:\d\d left", after)


def test_lines_of_a_bar_are_no_wider_than_the_terminal(stderr):
    stream = stderr(terminal=True, width=80)
    show_two_epochs(title="training " + "x" * 200, epochs=100_000)
    lines = [Text.from_ansi(line).plain for line in stream.getvalue().splitlines()]
    assert max(map(len, lines)) == 80
    assert any(line.endswith("…") for line in lines)
    (bar, *_) = [line for line in lines if "epoch 2 of" in line]
    assert re.fullmatch(
        r"━+[╸╺]?━+ epoch 2 of at most 100000 0:00:00 (\d:\d\d:\d\d to )?\d:\d\d:\d\d left", bar.strip()
    )


def test_there_is_silence_without_a_terminal_and_on_request(stderr, monkeypatch):
    stream = stderr(terminal=False)
    show_two_epochs()
    assert stream.getvalue() == ""
    stream = stderr(terminal=True)
    show_two_epochs(enabled=False)
    assert stream.getvalue() == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = stderr(terminal=False)
    show_two_epochs()
    assert stream.getvalue() == ""


def test_without_a_terminal_there_is_a_line_every_ten_seconds_and_fewer_later(stderr, clock):
    stream = stderr(terminal=False)
    with progress.training_bar(TrainingConfig(epochs=400), title="training eigen") as on_epoch:
        for epoch in range(1, 401):
            clock[0] = float(epoch)
            on_epoch(EpochProgress(epoch, -0.5, 0.7, 0.75, 0))
    lines = stream.getvalue().splitlines()
    assert lines[0] == (
        "training eigen: epoch 10 of at most 400, AUC 0.700 (best 0.750), loss -0.500, 0:00:10 gone, "
        "0:00:50 to 0:06:30 left"
    )
    epochs = [int(line.split()[3]) for line in lines]
    assert epochs[:10] == list(range(10, 101, 10))
    assert len(epochs) < 30
    gaps = [later - earlier for earlier, later in pairwise(epochs)]
    assert max(gaps[-3:]) >= 30


def test_the_time_of_a_second_training_is_its_own(stderr, clock):
    stream = stderr(terminal=False)
    with progress.training_bar(TrainingConfig(epochs=5)) as on_epoch:
        for seconds, epoch in ((9, 4), (100, 1), (112, 2)):
            clock[0] = float(seconds)
            on_epoch(EpochProgress(epoch, -0.5, 0.7, 0.75, 0))
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("0:00:12 gone, 0:00:18 left")


@pytest.mark.parametrize("seed", range(20))
def test_the_time_left_holds_the_end_whatever_the_course_of_the_auc(seed):
    """Early stopping ends at some epoch; the range must hold it from the first epoch on, and be narrow at the end."""
    rng = np.random.default_rng(seed)
    config = TrainingConfig(epochs=120, patience=10)
    aucs = 1 - np.exp(-np.arange(1, 121) / rng.uniform(2, 60)) + rng.uniform(0, 0.2) * rng.normal(size=120)
    states, best = [], 0
    for epoch in range(1, 121):
        best = epoch if epoch == 1 or aucs[epoch - 1] > aucs[best - 1] else best
        states.append(EpochProgress(epoch, 0.0, aucs[epoch - 1], aucs[best - 1], epoch - best))
        if epoch - best >= 10:
            break
    end = 3.0 * states[-1].epoch
    for state in states:
        least, most = progress.time_left(state, config, 3.0 * state.epoch)
        assert least <= end - 3.0 * state.epoch + 1e-9 <= most + 2e-9
    assert least == 0


def test_a_line_for_every_epoch_on_request(stderr):
    for terminal in (True, False):
        stream = stderr(terminal=terminal)
        show_two_epochs(enabled="epochs")
        assert len(stream.getvalue().splitlines()) == 2
        assert "\x1b" not in stream.getvalue()
        assert "━" not in stream.getvalue()


def test_other_work_is_told_of_where_it_was_long(stderr, clock):
    stream = stderr(terminal=False)
    for seconds in (9.0, 11.0):
        with progress.working_bar("comparing random forest"):
            clock[0] += seconds
    assert stream.getvalue() == "comparing random forest: done in 0:00:11\n"


def test_the_bar_of_scoring_counts_rows_and_takes_names_as_they_are(stderr, clock):
    for terminal in (True, False):
        stream = stderr(terminal=terminal)
        with progress.scoring_bar() as on_rows:
            on_rows("[red]m1[/red].csv", 1000)
            on_rows("[red]m1[/red].csv", 234)
        assert ("[red]m1[/red].csv" in stream.getvalue()) == terminal
        assert ("1,234 rows" in stream.getvalue()) == terminal
    stream = stderr(terminal=True)
    with progress.scoring_bar(enabled=False) as on_rows:
        on_rows("m1.csv", 1000)
    assert stream.getvalue() == ""
    stream = stderr(terminal=False)
    with progress.scoring_bar() as on_rows:
        clock[0] += 12
        on_rows("[b]m1.csv", 1000)
    assert stream.getvalue() == "scoring [b]m1.csv: 1,000 rows, 0:00:12 gone\n"
