"""The tests themselves end, wherever they run."""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_BEHIND = """
import subprocess, sys

def test_that_waits():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print("process", process.pid)
    process.wait()

def test_after_it():
    pass
"""
INTERRUPTED = (
    "tests/training/test_interrupts.py::test_a_second_ctrl_c_raises_and_the_handler_is_restored",
    "tests/cli/test_interrupt.py::test_the_second_signal_ends_the_block_and_the_handler_is_restored",
)


def pytest_run(*arguments, **options):
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def test_every_test_has_a_time_limit(pytestconfig):
    assert 0 < float(pytestconfig.getini("timeout")) <= 600


def test_a_test_that_waits_for_ever_fails_and_its_processes_are_killed(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "test_waiting.py").write_text(LEFT_BEHIND)
    done = pytest_run("--timeout=2", "-rA", tmp_path, cwd=tmp_path)
    assert "Timeout (>2.0s)" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    (number,) = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("process ")]
    assert not Path("/proc", number).exists()


def test_tests_of_ctrl_c_pass_where_a_shell_ignores_it():
    def ignore():  # as `nohup ... &` does
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    done = pytest_run(*INTERRUPTED, cwd=ROOT, preexec_fn=ignore)
    assert done.returncode == 0, done.stdout
