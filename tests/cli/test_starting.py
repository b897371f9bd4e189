"""What happens while modules are imported: a terminal shows it, and no garbage is collected."""

import gc
import os
import pty
import subprocess
import sys

import pytest

from oddshot.cli.starting import starting

COMMANDS = {
    "train": ["train", "nowhere.csv", "--label=fault", "--out=model.safetensors"],
    "score": ["score", "nowhere.csv", "--support=nowhere.csv", "--label=fault", "--out=scores.csv"],
}


def on_terminal(folder, *arguments):
    """What a command shows on a terminal, with a line for every import."""
    terminal, end = pty.openpty()
    command = [sys.executable, "-X", "importtime", "-m", "oddshot", *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    try:
        while part := os.read(terminal, 1 << 16):
            shown += part
    except OSError:  # the end, on Linux
        pass
    finally:
        os.close(terminal)
    assert process.wait(timeout=60) == 2
    return shown.decode()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_line_comes_before_what_takes_long_to_import(tmp_path, command):
    """torch to train, which is not imported to score, and Arrow."""
    shown = on_terminal(tmp_path, *COMMANDS[command])
    before, after = shown.split("starting …")
    imported, rest = after.split("\r\x1b[K")
    for module in ("torch._C", "pyarrow.lib"):
        assert module not in before
        assert (module in imported) == (command == "train" or module != "torch._C")
    assert "nowhere.csv" in rest


def test_a_quiet_command_and_a_log_have_no_such_line(tmp_path):
    assert "starting …" not in on_terminal(tmp_path, *COMMANDS["score"], "--quiet")
    command = [sys.executable, "-m", "oddshot", *COMMANDS["score"]]
    assert "starting …" not in subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr


@pytest.mark.parametrize("is_enabled", [True, False])
def test_imports_are_not_searched_for_garbage_and_collecting_goes_on_as_before(is_enabled):
    (gc.enable if is_enabled else gc.disable)()
    try:
        with starting():
            kept = [{}]
            assert gc.isenabled() is False
        assert gc.isenabled() is is_enabled
        assert not any(one is kept for one in gc.get_objects())  # frozen: no collection looks at it
    finally:
        gc.unfreeze()
        gc.enable()
