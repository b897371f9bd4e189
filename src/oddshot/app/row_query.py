"""What a person asks of the rows: which of them, and in which order."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, Json

MAX_FILTERS = 50
MAX_FILTER_VALUES = 1000
MAX_SEARCH_CHARACTERS = 1000


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ValueFilter(_Frozen):
    """Rows with one of these values in a column of categories or booleans; null for a missing value, in any column."""

    kind: Literal["values"]
    column: str
    values: tuple[str | None, ...] = Field(min_length=1, max_length=MAX_FILTER_VALUES)


class RangeFilter(_Frozen):
    """Rows with a number from `low` to `high` in a column; null where there is no such bound."""

    kind: Literal["range"]
    column: str
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None


class DateFilter(_Frozen):
    """Rows with a date from `first` to `last` in a column; a `last` without a time of day means all of that day."""

    kind: Literal["dates"]
    column: str
    first: date | datetime | None = None
    last: date | datetime | None = None


class TextFilter(_Frozen):
    """Rows with this text somewhere in a column, in any case."""

    kind: Literal["text"]
    column: str
    text: str = Field(min_length=1, max_length=MAX_SEARCH_CHARACTERS)


class LabelFilter(_Frozen):
    """Rows with one of these labels; null for rows without a label."""

    kind: Literal["label"]
    labels: tuple[Literal["normal", "anomaly"] | None, ...] = Field(min_length=1, max_length=3)


class FlaggedFilter(_Frozen):
    """Rows with a score above the threshold, or with flagged = false those without."""

    kind: Literal["flagged"]
    flagged: bool


class NoteFilter(_Frozen):
    """Rows with a note, or with noted = false those without."""

    kind: Literal["noted"]
    noted: bool


class GroupFilter(_Frozen):
    """Rows of a group, as the groups of a column are shown."""

    kind: Literal["group"]
    column: str
    name: str


ColumnFilter = ValueFilter | RangeFilter | DateFilter | TextFilter
RowFilter = Annotated[
    ColumnFilter | GroupFilter | LabelFilter | FlaggedFilter | NoteFilter, Field(discriminator="kind")
]


class RowQuery(_Frozen):
    """The rows that pass all filters, in an order.

    by: the order: by score, by row number, the labelled rows alone, or by a column. descending: whether large values
    come first; by default only high scores do. search: text that a row must have in some column. filters: as JSON.
    """

    by: Literal["score", "row", "labelled", "column"] = "score"
    column: str = ""
    descending: bool | None = None
    search: str = Field("", max_length=MAX_SEARCH_CHARACTERS)
    filters: Json[Annotated[tuple[RowFilter, ...], Field(max_length=MAX_FILTERS)]] = ()
