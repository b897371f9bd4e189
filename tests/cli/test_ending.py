"""The end of a process: quick, but with all that was to run at its end."""

import subprocess
import sys

import pytest

from oddshot import cli
from oddshot.cli.ending import INTERRUPTED

FREED = """
class Freed:
    def __del__(self): print("freed", flush=True)
"""
AS_PROGRAM = f"""
import atexit, sys, threading, time
from oddshot.cli.ending import run_program
{FREED}
def main():
    global kept
    kept = Freed()
    atexit.register(print, "registered")
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
    print("not flushed", end=" ")
    CODE
run_program(main)
"""
IN_ANOTHER_PROGRAM = """
import runpy, sys
sys.argv = ["oddshot", "--version"]
try:
    runpy.run_module("oddshot", run_name="__main__", alter_sys=True)
except SystemExit as ended:
    print(ended.code)
sys.exit(7)
"""


def ended(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.split(), done.stderr


@pytest.mark.parametrize("code", [0, 2, 130])
def test_registered_functions_and_threads_end_but_objects_are_not_freed(code):
    assert ended(AS_PROGRAM.replace("CODE", f"sys.exit({code})")) == (
        code,
        ["not", "flushed", "thread", "registered"],
        "",
    )


@pytest.mark.parametrize(
    ("statement", "code", "message"),
    [("sys.exit('wrong')", 1, "wrong"), ("sys.exit()", 0, ""), ("1 / 0", 1, "ZeroDivisionError: division by zero")],
)
def test_other_ways_to_end_are_those_of_python(statement, code, message):
    found, printed, errors = ended(AS_PROGRAM.replace("CODE", statement))
    assert (found, printed) == (code, ["not", "flushed", "thread", "registered", "freed"])
    assert errors.rstrip().endswith(message)


def test_another_program_that_runs_the_command_ends_in_its_own_way():
    code, printed, errors = ended(IN_ANOTHER_PROGRAM)
    assert (code, printed[0], printed[-1], errors) == (7, "oddshot", "0", "")


def test_output_that_cannot_be_written_is_an_error_as_before(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    code = "import sys\nfrom oddshot.cli.ending import run_program\nrun_program(lambda: (print('line'), sys.exit(0)))"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 120
    assert "No space left on device" in done.stderr


def test_ctrl_c_while_a_module_written_in_c_is_imported_ends_as_ctrl_c(monkeypatch, capsys):
    def ask_to_end():
        raise SystemError("<built-in> returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("oddshot.cli.app", ask_to_end)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == INTERRUPTED
    assert capsys.readouterr().err == ""
