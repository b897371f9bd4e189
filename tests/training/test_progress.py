import io

from rich.console import Console

from oddshot.training import EpochProgress, TrainingConfig, progress


def shown(monkeypatch, *, terminal, enabled=True):
    """What the bar writes during two epochs."""
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    console = Console(file=stream, width=160)
    monkeypatch.setattr(progress, "Console", lambda stderr: console)
    with progress.training_bar(TrainingConfig(epochs=9), enabled=enabled) as on_epoch:
        on_epoch(EpochProgress(1, -0.5, 0.7, 0.7, 0))
        on_epoch(EpochProgress(2, -0.625, 0.75, 0.875, 1))
    return stream.getvalue()


def test_the_bar_shows_loss_validation_auc_and_time(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = shown(monkeypatch, terminal=True)
    assert "epoch 2 of at most 9" in text
    assert "loss -0.625  validation AUC 0.750 (best 0.875)" in text
    assert "left" in text


def test_there_is_silence_without_a_terminal_and_on_request(monkeypatch):
    assert shown(monkeypatch, terminal=False) == ""
    assert shown(monkeypatch, terminal=True, enabled=False) == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert shown(monkeypatch, terminal=False) == ""


def test_the_bar_of_scoring_counts_rows_and_takes_names_as_they_are(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for terminal in (True, False):
        stream = io.StringIO()
        stream.isatty = lambda terminal=terminal: terminal
        console = Console(file=stream, width=160)
        monkeypatch.setattr(progress, "Console", lambda stderr, console=console: console)
        with progress.scoring_bar() as on_rows:
            on_rows("[red]m1[/red].csv", 1000)
            on_rows("[red]m1[/red].csv", 234)
        assert ("[red]m1[/red].csv" in stream.getvalue()) == terminal
        assert ("1,234 rows" in stream.getvalue()) == terminal
