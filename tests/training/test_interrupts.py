"""Ctrl-C while Python trains: a real signal to a process of its own."""

import signal
import sys

import pytest

from oddshot.training.interrupts import FUNCTION_MESSAGE, WARNING
from tests.processes import started

SCRIPT = """
import os, signal, sys, threading, time
import oddshot
from oddshot.training import meta_training
from tests.fleets import SIZES, fleet

def train(**options):
    settings = oddshot.TrainingConfig(epochs=1_000_000, patience=1_000_000, batch_size=4)
    return oddshot.meta_train(fleet(), method="eigen", units=8, sizes=SIZES, training=settings, device="cpu",
                              progress="epochs", **options)

{code}
"""


CALL = 1 + SCRIPT.splitlines().index(next(line for line in SCRIPT.splitlines() if "meta_train(" in line))


def interrupted(code, n_times=1):
    """Run code and press Ctrl-C after the first epoch, n times. Returns exit code, stdout and stderr without epochs."""
    command = [sys.executable, "-c", SCRIPT.format(code=code)]
    with started(command) as process:
        assert ": epoch 1 of at most" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        if n_times == 2:
            assert any(FUNCTION_MESSAGE in line for line in iter(process.stderr.readline, ""))
            process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=120)
    return process.returncode, out, [line for line in errors.splitlines() if ": epoch " not in line]


def test_ctrl_c_returns_the_best_model_so_far_with_a_warning():
    code = "model = train()\nprint(model.training['interrupted'], model.training['best_epoch'] < 1_000_000)\n"
    code += "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    returned, out, errors = interrupted(code)
    assert (returned, out) == (0, "True True\n"), errors
    assert errors[0] == FUNCTION_MESSAGE
    assert errors[1:] == [f"<string>:{CALL}: UserWarning: {WARNING}"]


def test_a_second_ctrl_c_raises_and_the_handler_is_restored():
    code = "meta_training.learn_decisions = lambda *_: time.sleep(60)\n"  # the model is being finished for a while
    code += "try: train()\nexcept KeyboardInterrupt: print(signal.getsignal(signal.SIGINT).__name__)"
    returned, out, errors = interrupted(code, n_times=2)
    assert (returned, out, errors) == (0, "default_int_handler\n", [])


@pytest.mark.parametrize(
    "code",
    [
        "signal.signal(signal.SIGINT, lambda *a: sys.exit('own handler'))\ntrain()",
        "threading.Thread(target=train).start()\ntry: threading.Event().wait()\n"
        "except KeyboardInterrupt:\n    print('KeyboardInterrupt', file=sys.stderr)\n    os._exit(1)",
        "train(stop=lambda: False)",
    ],
    ids=["own handler", "another thread", "own stop"],
)
def test_ctrl_c_is_left_to_programs_that_handle_it_and_to_the_main_thread(code):
    returned, _, errors = interrupted(code)
    assert returned != 0
    assert FUNCTION_MESSAGE not in errors
    assert errors[-1] in ("own handler", "KeyboardInterrupt")
