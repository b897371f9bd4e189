"""The encoder of columns of numbers and booleans."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oddshot.data.encoding.column_encoder import AttributeArray, ColumnEncoder, FillRows
from oddshot.data.encoding.scaling import ColumnMoments, compute_moments, standardise
from oddshot.data.encoding.validation import check_fields, is_bool, is_mean, is_scale
from oddshot.data.tables.columns import CellLocation, read_booleans, read_numbers


@dataclass(frozen=True)
class NumericColumn(ColumnEncoder):
    """Numbers, or booleans as 0 and 1, minus the mean and divided by the standard deviation of the training rows."""

    kind: Literal["number", "boolean"]
    mean: float
    scale: float
    missing: bool

    def __post_init__(self) -> None:
        check_fields(self, mean=is_mean, scale=is_scale, missing=is_bool)

    @classmethod
    def from_moments(
        cls, name: str, kind: Literal["number", "boolean"], moments: ColumnMoments, j: int = 0
    ) -> "NumericColumn":
        """Make the encoder of a column from the j-th of the moments."""
        return cls(name, kind, float(moments.mean[j]), float(moments.scale[j]), bool(moments.n_missing[j] > 0))

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The scaled value, and whether it is missing."""
        return (self.name, f"{self.name} missing") if self.missing else (self.name,)

    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Return a function that writes the 1 or 2 attributes."""
        values = (read_numbers if self.kind == "number" else read_booleans)(column, location)

        def fill(rows: slice, out: AttributeArray) -> None:
            missing = standardise(values[rows], self.mean, self.scale, out[:, 0])
            if self.missing:
                out[:, 1] = missing

        return fill


def fit_numbers(columns: Sequence[Any], locations: Sequence[CellLocation]) -> NumericColumn:
    """Fit the encoder of a column of numbers, given as the same column of each training table."""
    values = [read_numbers(column, location) for column, location in zip(columns, locations, strict=True)]
    return NumericColumn.from_moments(locations[0].column, "number", compute_moments([one[:, None] for one in values]))


def fit_booleans(columns: Sequence[Any], locations: Sequence[CellLocation]) -> NumericColumn:
    """Fit the encoder of a column of booleans, given as the same column of each training table."""
    values = [read_booleans(column, location) for column, location in zip(columns, locations, strict=True)]
    return NumericColumn.from_moments(locations[0].column, "boolean", compute_moments([one[:, None] for one in values]))
