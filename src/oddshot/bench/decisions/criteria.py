"""What decisions are to hold over the grid, and which cells miss it."""

import math
from dataclasses import dataclass

import pandas as pd

from oddshot.bench.decisions.results import cells_of

MAX_NAMED = 10


@dataclass(frozen=True)
class DecisionCriterion:
    """A column of the summary at a rate, and the range in which it is to be.

    It is asked of cells with least_normal to most_normal labelled normal rows, and with at least least_background
    normal and unlabelled rows.
    """

    title: str
    rate: float
    column: str
    low: float
    high: float
    least_normal: int = 0
    most_normal: float = math.inf
    least_background: int = 0

    def asked_of(self, summary: pd.DataFrame) -> pd.DataFrame:
        """The rows of the summary that the criterion is about."""
        background = summary["normal"] + summary["unlabelled"]
        chosen = (summary["rate"] - self.rate).abs() < 1e-9
        chosen &= summary["normal"].between(self.least_normal, self.most_normal)
        return summary[chosen & (background >= self.least_background)]

    def missed_by(self, summary: pd.DataFrame) -> pd.DataFrame:
        """Those of them that miss it, the worst first."""
        asked = self.asked_of(summary)
        beyond = (self.low - asked[self.column]).clip(lower=asked[self.column] - self.high)
        missed = asked[beyond > 0]
        return missed.loc[beyond[beyond > 0].sort_values(ascending=False, kind="stable").index]

    def line(self, summary: pd.DataFrame) -> str:
        """How many cells miss it, and the names and values of the worst."""
        missed = self.missed_by(summary)
        worst = missed.head(MAX_NAMED)
        form = ".3f" if self.column == "calibration_error" else ".1%"
        values = zip(cells_of(worst), worst[self.column], strict=True)
        shown = [f"{cell.name}: {value:{form}}" for cell, value in values]
        named = f" (worst: {'; '.join(shown)})" if shown else ""
        return f"- {self.title}: {len(missed)} of {len(self.asked_of(summary))} cells{named}"


CRITERIA = (
    DecisionCriterion(
        "at 5 %, 5 and more normal rows: mean share outside of 2.5 to 7.5 %", 0.05, "flagged", 0.025, 0.075, 5
    ),
    DecisionCriterion("at 5 %, 2 or 3 normal rows: mean share above 10 %", 0.05, "flagged", 0.0, 0.1, 2, 3),
    DecisionCriterion(
        "at 5 %, 50 and more normal and unlabelled rows: a table above 20 %",
        *(0.05, "worst", 0.0, 0.2),
        least_background=50,
    ),
    DecisionCriterion(
        "at 10 %, 5 and more normal rows: mean share outside of 5 to 15 %", 0.1, "flagged", 0.05, 0.15, 5
    ),
    DecisionCriterion("at 20 %, 5 and more normal rows: mean share outside of 10 to 30 %", 0.2, "flagged", 0.1, 0.3, 5),
    DecisionCriterion(
        "at 1 %, 100 and more normal and unlabelled rows: mean share outside of 0.5 to 2 %",
        *(0.01, "flagged", 0.005, 0.02),
        least_background=100,
    ),
    DecisionCriterion(
        "20 and more normal and unlabelled rows: calibration error above 0.08",
        *(0.05, "calibration_error", 0.0, 0.08),
        least_background=20,
    ),
)


def criteria_lines(summary: pd.DataFrame) -> list[str]:
    """A line for every criterion."""
    return [criterion.line(summary) for criterion in CRITERIA]
