"""What is known of the rows above a threshold, in two sentences that the page and the report show.

The calibration expects a share of the normal rows there. It was learned on other tasks; the table itself and its labels
bound that share, and where the expectation lies outside these bounds, they are told instead.
"""

from dataclasses import dataclass

import numpy as np

from oddshot.app.open_table import OpenTable
from oddshot.data.encoding.description import readable_number
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.decisions.calibration import RATES

_ROUNDING = 1e-9  # of a rate at an end of RATES, beyond which the calibration tells no rates apart


@dataclass(frozen=True)
class ThresholdFacts:
    """The rows above a threshold `value`.

    n_above: of the n_rows rows of the table, estimated as long as only n_scored have a score. expected_rate: the share
    of normal rows above it by the calibration; None without one. doubt: why that share cannot be relied on, or "".
    """

    value: float
    n_rows: int
    n_scored: int
    n_above: int
    n_normal: int
    n_normal_above: int
    n_anomalies: int
    n_anomalies_above: int
    expected_rate: float | None
    doubt: str = ""

    @property
    def rows_above(self) -> str:
        """How many rows lie above the threshold."""
        count = f"{self.n_above:,} of {self.n_rows:,} rows {_lie(self.n_above)} above {readable_number(self.value)}"
        share = percent(self.n_above / self.n_rows)
        if self.n_scored == self.n_rows:
            return f"{count} ({share})."
        return f"About {count} ({share}), estimated from the {self.n_scored:,} rows scored so far."

    @property
    def false_alarms(self) -> str:
        """How many normal rows are expected above the threshold, or what labels and table say where that is wrong."""
        known = self._known_false_alarms()
        if self.expected_rate is None:
            return _join("The model has no calibration, so the rate of false alarms is not known.", known)
        if self.doubt:
            return _join(f"{self.doubt[0].upper()}{self.doubt[1:]}.", known)
        lowest, highest = _range_of(self.expected_rate)
        at_least, at_most = self.possible_rates
        if lowest > at_most:
            return _join(self._bound(), known)
        if highest < at_least:
            return f"There are more false alarms than expected: {known}"
        return _join(f"Expected false alarms: {_rate(lowest, highest)} of normal rows.", known)

    @property
    def possible_rates(self) -> tuple[float, float]:
        """The smallest and the largest share of normal rows above, if those below are normal unless labelled."""
        n_possibly_normal = max(self.n_rows - self.n_anomalies, 1)
        return self.n_normal_above / n_possibly_normal, self._n_possible_false_alarms / n_possibly_normal

    @property
    def _n_possible_false_alarms(self) -> int:
        return self.n_above - self.n_anomalies_above

    def _bound(self) -> str:
        if self._n_possible_false_alarms > 0:
            about = "" if self.n_scored == self.n_rows else "about "
            share = percent(self._n_possible_false_alarms / self.n_rows)
            return f"At most {about}{share} of the rows can be false alarms."
        if self.n_above == 0:
            return "So there are no false alarms."
        return "All of them are labelled anomalies, so there are no false alarms."

    def _known_false_alarms(self) -> str:
        if self.n_normal_above == 0:
            return ""
        if self.n_normal == 1:
            return "The row labelled normal lies above."
        return (
            f"{self.n_normal_above:,} of the {self.n_normal:,} rows labelled normal {_lie(self.n_normal_above)} above."
        )


def threshold_facts(open_table: OpenTable) -> ThresholdFacts | None:
    """The facts about the threshold in force; None if there is none."""
    value, ranking, labels = open_table.threshold, open_table.ranking, open_table.labels
    if value is None:
        return None
    is_above = ranking.scores[labels.rows] > value
    return ThresholdFacts(
        value=value,
        n_rows=len(ranking.scores),
        n_scored=len(ranking.order),
        n_above=round(ranking.estimate_above(value)),
        n_normal=labels.count(NORMAL),
        n_normal_above=int(is_above[labels.values == NORMAL].sum()),
        n_anomalies=labels.count(ANOMALY),
        n_anomalies_above=int(is_above[labels.values == ANOMALY].sum()),
        expected_rate=ranking.ranker.false_positive_rate(value),
        doubt=ranking.ranker.threshold_notice(value),
    )


def percent(share: float) -> str:
    """A share as text, with one digit after the point below 10 %, and more below 0.1 %."""
    percentage = 100 * share
    if percentage >= 9.95:
        return f"{percentage:.0f} %"
    if percentage >= 0.095 or percentage == 0:
        return f"{percentage:.1f} %"
    return f"{percentage:.{-int(np.floor(np.log10(percentage)))}f} %"


def _range_of(rate: float) -> tuple[float, float]:
    """The rates that the calibration may mean: those at the ends of RATES stand for all beyond."""
    if rate <= RATES[0] + _ROUNDING:
        return 0.0, RATES[0]
    if rate >= RATES[-1] - _ROUNDING:
        return RATES[-1], 1.0
    return rate, rate


def _rate(lowest: float, highest: float) -> str:
    if lowest == highest:
        return percent(lowest)
    return f"at most {percent(highest)}" if lowest == 0 else f"{percent(lowest)} or more"


def _lie(n: int) -> str:
    return "lies" if n == 1 else "lie"


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
