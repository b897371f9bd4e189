"""The short form of the trial: a new seed can be given to the whole one, `make hostile`."""

from tests.hostile.__main__ import run
from tests.hostile.log import TrialLog


def test_nothing_fails_in_the_short_trial():
    log = TrialLog(quiet=True)
    run(log, seed=1, short=True)
    assert log.tried.total() > 500
    assert log.failures == []


def test_a_failure_is_counted_and_told(capsys):
    log = TrialLog(quiet=True)
    with log.door("a door") as attempt:
        attempt("a good try", lambda: None)
        attempt("a bad one", lambda: [][0])
    report = log.report(seed=0)
    assert report["doors"]["a door"]["tried"] == 2
    assert report["failed"] == 1
    assert "a bad one: IndexError" in report["failures"][0]
    assert "a bad one" in capsys.readouterr().err
