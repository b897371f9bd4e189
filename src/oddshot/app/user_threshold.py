"""The threshold that a person has set, and where it lies in later rankings."""

from dataclasses import dataclass, replace
from typing import Any

from oddshot.app.ranking import Ranking


@dataclass(frozen=True)
class UserThreshold:
    """A score, the number of rows of the table above it, and the key of the ranking in which the person set it."""

    value: float
    n_above: float
    key: str

    @classmethod
    def of(cls, value: float, ranking: Ranking, key: str) -> "UserThreshold":
        """The threshold that a person sets in a ranking."""
        return cls(value, ranking.estimate_above(value), key)

    @classmethod
    def from_setting(cls, setting: dict[str, Any]) -> "UserThreshold":
        """As it was saved."""
        return cls(setting["value"], setting["rows"], setting["ranking"])

    def to_setting(self) -> dict[str, Any]:
        """As it is saved."""
        return {"value": self.value, "rows": self.n_above, "ranking": self.key}

    def counted_in(self, ranking: Ranking, key: str) -> "UserThreshold":
        """The same with the number of rows that this ranking has above it, if it is the one in which it was set."""
        return replace(self, n_above=ranking.estimate_above(self.value)) if key == self.key else self

    def value_in(self, ranking: Ranking, key: str) -> float:
        """The same score in the ranking in which it was set; in others a score with the same number of rows above."""
        return self.value if key == self.key else ranking.threshold_for_count(self.n_above)
