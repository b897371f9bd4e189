"""Ctrl-C in `oddshot train`, and --resume."""

import os
import signal
from pathlib import Path

import pytest

from oddshot import load_model
from oddshot.training import candidates
from oddshot.training.interrupts import COMMAND_MESSAGE, catch_interrupt
from tests.cli.test_train_score_info import COMMAND, EPISODES, folder, oddshot, refusal, train  # noqa: F401  (fixtures)
from tests.processes import started

AUTO = ("train", "fleet/*.csv", "--label", "fault", "--out", "out.safetensors", *EPISODES)


def interrupted(command, n_times=1, number=signal.SIGINT):
    """Start a long training and send a signal after its first epoch. Returns exit code, stdout and stderr after it."""
    long = [*COMMAND, *command, "--epochs", "1000000", "--patience", "1000000", "--verbose"]
    with started(long) as process:
        assert ": epoch 1 of at most" in process.stderr.readline()
        process.send_signal(number)
        if n_times == 2:
            assert f"{COMMAND_MESSAGE}\n" in iter(process.stderr.readline, "")
            process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=120)
    return process.returncode, out, [line for line in errors.splitlines() if ": epoch " not in line]


def test_ctrl_c_keeps_the_best_model_and_resume_goes_on(folder, oddshot, refusal):  # noqa: F811
    before = sorted(os.listdir())
    code, out, errors = interrupted(train())
    assert code == 130
    assert errors == [
        COMMAND_MESSAGE,
        "interrupted: out.safetensors is the best model so far; the same command with --resume goes on",
    ]
    assert "written: out.safetensors" in out
    assert sorted(os.listdir()) == sorted([*before, "out.safetensors"])
    first = load_model("out.safetensors")
    assert first.training["interrupted"] is True
    assert "interrupted True" in oddshot("info", "out.safetensors")[1]
    assert "had units 16, not 8" in refusal(*train(), "--resume", "--units", "8")
    code, out, errors = oddshot(*train(), "--resume")
    assert (code, errors) == (0, [])
    second = load_model("out.safetensors")
    assert "interrupted" not in second.training
    assert second.training["validation_auc"] >= first.training["validation_auc"]
    assert refusal(*train(), "--resume") == (
        "out.safetensors: its training was not interrupted; without --resume, it is trained anew"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_that_end_a_program_are_like_ctrl_c(folder, number):  # noqa: F811
    code, out, errors = interrupted(train(), number=number)
    assert code == 130
    assert errors[0] == COMMAND_MESSAGE
    assert "written: out.safetensors" in out


def test_a_second_ctrl_c_leaves_the_old_file(folder):  # noqa: F811
    Path("out.safetensors").write_text("old")
    before = sorted(os.listdir())
    code, _, errors = interrupted(train(), 2)
    # The first one may have been served already: then the model is there, and complete.
    assert code == 130
    if Path("out.safetensors").read_bytes() == b"old":
        assert [line for line in errors if line] == []
    else:
        load_model("out.safetensors")
    assert sorted(os.listdir()) == before


def test_resume_starts_where_there_is_no_file(folder, oddshot):  # noqa: F811
    assert oddshot(*train(), "--resume")[0] == 0
    assert "interrupted" not in load_model("out.safetensors").training


def test_candidates_that_were_not_compared_are_compared_later(folder, oddshot, monkeypatch):  # noqa: F811
    monkeypatch.setattr(candidates, "FOREST", candidates.ClassicalConfig("paper"))
    shipped = candidates._shipped

    def press(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return shipped(*arguments)

    monkeypatch.setattr(candidates, "_shipped", press)
    code, out, errors = oddshot(*AUTO, "--epochs", "2")
    assert code == 130
    assert "chosen: the model that ships" in out
    assert any(line.startswith("interrupted: out.safetensors") for line in errors)
    monkeypatch.setattr(candidates, "_shipped", shipped)
    code, out, _ = oddshot(*AUTO, "--epochs", "2", "--resume")
    assert code == 0
    assert "logistic regression" in out
    assert len(load_model("out.safetensors").training["candidates"]) > 5


def test_signals_that_are_ignored_stay_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with catch_interrupt(COMMAND_MESSAGE) as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_second_signal_ends_the_block_and_the_handler_is_restored():
    handler = signal.getsignal(signal.SIGINT)
    with catch_interrupt(COMMAND_MESSAGE) as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is handler
    with catch_interrupt(COMMAND_MESSAGE, enabled=False) as stop:
        assert stop is None
        assert signal.getsignal(signal.SIGINT) is handler
