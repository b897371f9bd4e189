"""The two sentences about a threshold: their figures are possible together."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddshot.app.threshold_facts import ThresholdFacts, percent
from oddshot.decisions.calibration import RATES


def facts(**changes):
    """67 of 2,000 rows above the threshold, 12 of them labelled normal, 5 anomalous."""
    numbers = {"n_rows": 2000, "n_scored": 2000, "n_above": 67, "n_normal": 12, "n_anomalies": 5}
    labelled_above = {"n_normal_above": 0, "n_anomalies_above": 0}
    return ThresholdFacts(**{"value": 9.7731, "expected_rate": 0.02, **numbers, **labelled_above, **changes})


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        (
            {"expected_rate": 0.11, "n_normal_above": 2},
            "67 of 2,000 rows lie above 9.773 (3.4 %). At most 3.4 % of the rows can be false alarms. "
            "2 of the 12 rows labelled normal lie above.",
        ),
        ({}, "67 of 2,000 rows lie above 9.773 (3.4 %). Expected false alarms: 2.0 % of normal rows."),
        (
            {"n_normal_above": 1},
            "67 of 2,000 rows lie above 9.773 (3.4 %). Expected false alarms: 2.0 % of normal rows. "
            "1 of the 12 rows labelled normal lies above.",
        ),
        (
            {"n_scored": 800, "expected_rate": 0.11, "n_anomalies_above": 5},
            "About 67 of 2,000 rows lie above 9.773 (3.4 %), estimated from the 800 rows scored so far. "
            "At most about 3.1 % of the rows can be false alarms.",
        ),
        (
            {"n_above": 5, "n_anomalies_above": 5},
            "5 of 2,000 rows lie above 9.773 (0.2 %). "
            "All of them are labelled anomalies, so there are no false alarms.",
        ),
        ({"n_above": 0}, "0 of 2,000 rows lie above 9.773 (0.0 %). So there are no false alarms."),
        (
            {"expected_rate": RATES[0], "n_normal_above": 3, "n_above": 4},
            "4 of 2,000 rows lie above 9.773 (0.2 %). There are more false alarms than expected: "
            "3 of the 12 rows labelled normal lie above.",
        ),
        (
            {"expected_rate": RATES[0], "n_above": 1},
            "1 of 2,000 rows lies above 9.773 (0.05 %). Expected false alarms: at most 0.1 % of normal rows.",
        ),
        (
            {"expected_rate": RATES[-1], "n_above": 1500},
            "1,500 of 2,000 rows lie above 9.773 (75 %). Expected false alarms: 50 % or more of normal rows.",
        ),
        (
            {"expected_rate": RATES[-1], "n_above": 900},
            "900 of 2,000 rows lie above 9.773 (45 %). At most 45 % of the rows can be false alarms.",
        ),
        (
            {"expected_rate": None, "n_normal": 1, "n_normal_above": 1},
            "67 of 2,000 rows lie above 9.773 (3.4 %). The model has no calibration, so the rate of false alarms is "
            "not known. The row labelled normal lies above.",
        ),
    ],
)
def test_sentences(changes, sentences):
    found = facts(**changes)
    assert f"{found.rows_above} {found.false_alarms}" == sentences


@st.composite
def any_facts(draw):
    """Counts as a table can have them."""
    normal_above, anomalies_above, normal_below, anomalies_below = (draw(st.integers(0, 30)) for _ in range(4))
    unlabelled_above, unlabelled_below = draw(st.integers(0, 3000)), draw(st.integers(1, 3000))
    n_above = normal_above + anomalies_above + unlabelled_above
    return ThresholdFacts(
        value=draw(st.floats(-1e9, 1e9)),
        n_rows=(n_rows := n_above + normal_below + anomalies_below + unlabelled_below),
        n_scored=n_rows,
        n_above=n_above,
        n_normal=normal_above + normal_below,
        n_normal_above=normal_above,
        n_anomalies=anomalies_above + anomalies_below,
        n_anomalies_above=anomalies_above,
        expected_rate=draw(st.floats(RATES[0], RATES[-1])),
    )


def figure(sentence, pattern):
    """The share of rows that a pattern finds, and half of its last digit."""
    match = re.search(pattern.replace("%", r"(\d+(?:\.(\d+))?) %"), sentence)
    return None if match is None else (float(match[1]) / 100, 0.5001 * 10 ** -(2 + len(match[2] or "")))


@given(any_facts())
def test_the_figures_are_possible_together(found):
    possibly_normal = found.n_rows - found.n_anomalies
    most = found.n_above - found.n_anomalies_above
    exact = figure(found.false_alarms, "Expected false alarms: % of")
    at_most = figure(found.false_alarms, "Expected false alarms: at most % of")
    at_least = figure(found.false_alarms, "Expected false alarms: % or more")
    if exact is not None:
        rate, rounding = exact
        assert found.n_normal_above <= (rate + rounding) * possibly_normal
        assert (rate - rounding) * possibly_normal <= most
    if at_most is not None:
        assert found.n_normal_above <= (at_most[0] + at_most[1]) * possibly_normal
    if at_least is not None:
        assert (at_least[0] - at_least[1]) * possibly_normal <= most
    bound = figure(found.false_alarms, "At most % of the rows can")
    if bound is not None:
        assert most <= (bound[0] + bound[1]) * found.n_rows
        share, rounding = figure(found.rows_above, r"\(%\)")
        assert bound[0] <= share + rounding
        assert found.expected_rate * possibly_normal > most
    assert ("labelled normal" in found.false_alarms) == (found.n_normal_above > 0)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (0.0004, "0.04 %"), (2e-6, "0.0002 %"), (0.001, "0.1 %"), (0.0994, "9.9 %"), (0.45, "45 %")],
)  # fmt: skip
def test_percent(share, text):
    assert percent(share) == text
