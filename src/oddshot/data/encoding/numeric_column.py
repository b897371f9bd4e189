"""The encoder of columns of numbers and booleans."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from oddshot.data.encoding.column_encoder import ALL_MISSING, AttributeArray, ColumnEncoder, FillRows
from oddshot.data.encoding.scaling import (
    MAX_SCALED_VALUE,
    ColumnMoments,
    FloatArray,
    compute_moments,
    compute_robust_moments,
    deviation_from_constant,
    standardise,
)
from oddshot.data.encoding.validation import check_fields, is_bool, is_mean, is_scale, is_size
from oddshot.data.tables.columns import (
    CellLocation,
    arrow_kind,
    distinct_texts,
    distinct_values,
    first_distinct_texts,
    read_any_numbers,
    read_booleans,
    read_numbers,
    within_magnitude,
)
from oddshot.data.tables.written_numbers import (
    PLAIN,
    Notation,
    detect_main_notation,
    detect_notation,
    find_bounds,
    find_numbers,
    is_ambiguous,
    is_notation,
)

_MIN_ROWS = 20
_MIN_NUMBER_SHARE = 0.95  # of the cells; the others are typing errors, or words such as "error"
_N_PROBED_TEXTS, _MIN_PROBED_SHARE = 1000, 0.5
_MAX_TEXTS_OF_NOTATION = 100_000  # by which the notation is found where not every text is a number
_CHECKS = {
    **dict.fromkeys(("missing", "constant", "tolerant"), is_bool),
    **dict.fromkeys(("scale", "limit"), is_scale),
    "mean": is_mean,
    "rounding": is_size,
    "notation": is_notation,
}
_MIN_DIFFERENT_NUMBERS = 10  # fewer may be codes


@dataclass(frozen=True)
class NumericColumn(ColumnEncoder):
    """Numbers, or booleans as 0 and 1, minus the mean and divided by the standard deviation of the training rows.

    constant: whether all training rows had the same number; others are then from -1 to 1, whatever the unit.
    notation: how numbers are written where they are text. tolerant: whether a few cells of text were among them, which
    are missing values. limit: of scaled numbers in rows that are learned from. rounding: by how much numbers that equal
    the constant may differ from it. Files of earlier versions have none of these fields.
    """

    kind: Literal["number", "boolean"]
    mean: float
    scale: float
    missing: bool
    constant: bool = False
    notation: Notation = PLAIN
    tolerant: bool = False
    limit: float = MAX_SCALED_VALUE
    rounding: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, **_CHECKS)
        if not isinstance(self.notation, Notation):
            object.__setattr__(self, "notation", Notation(*self.notation))

    @classmethod
    def from_moments(
        cls,
        name: str,
        kind: Literal["number", "boolean"],
        moments: ColumnMoments,
        j: int = 0,
        notation: Notation = PLAIN,
    ) -> "NumericColumn":
        """Make the encoder of a column from the j-th of the moments."""
        return cls(
            name,
            kind,
            mean=float(moments.mean[j]),
            scale=float(moments.scale[j]),
            missing=bool(moments.n_missing[j] > 0),
            constant=bool(moments.is_constant[j]),
            notation=notation,
            limit=float(moments.limit[j]),
        )

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The scaled value, and whether it is missing."""
        return (self.name, f"{self.name} missing") if self.missing else (self.name,)

    @property
    def stored_kind(self) -> str:
        """Numbers that only people write so are read as text."""
        return self.kind if self.notation == PLAIN and not self.tolerant else "text"

    @property
    def first_limit(self) -> float:
        """Numbers beyond it are far outside of the others."""
        return self.limit

    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Return a function that writes the 1 or 2 attributes."""
        if self.kind == "number":
            values = read_numbers(column, location, self.notation, self.tolerant)
        else:
            values = read_booleans(column, location)

        def fill(rows: slice, out: AttributeArray) -> None:
            if self.constant:
                missing = deviation_from_constant(values[rows], self.mean, out[:, 0], self.rounding)
            else:
                missing = standardise(values[rows], self.mean, self.scale, out[:, 0])
            if self.missing:
                out[:, 1] = missing
            else:
                location.note_missing(missing)

        return fill

    def describe(self) -> str:
        """Return the name, and the unit that is written beside the numbers."""
        unit = self.notation.before or self.notation.after
        return f"{self.name} (in {unit})" if unit else self.name


def fit_numbers(columns: Sequence[Any], locations: Sequence[CellLocation]) -> NumericColumn | str:
    """Fit the encoder of a column of numbers, given as the same column of each training table."""
    return fit_number_values(*read_written_numbers(columns, locations), locations)


def read_written_numbers(
    columns: Sequence[Any], locations: Sequence[CellLocation]
) -> tuple[list[FloatArray], Notation]:
    """Return the numbers of each table, of any magnitude, [n] each, and how those that are text are written."""
    texts = distinct_texts(columns)
    notation = detect_notation(texts) or PLAIN
    if len(texts) and is_ambiguous(texts, notation):
        locations[0].warn(f"a {notation.thousands!r} before three digits is taken to separate thousands")
    if len(bounds := texts.filter(find_bounds(texts))):
        locations[0].warn(f"cells such as {bounds[0].as_py()!r} are taken as the number alone")
    pairs = zip(columns, locations, strict=True)
    return [read_any_numbers(column, location, notation) for column, location in pairs], notation


def fit_number_values(
    values: Sequence[FloatArray], notation: Notation, locations: Sequence[CellLocation]
) -> NumericColumn | str:
    """Fit the encoder to the numbers of each table, [n] each; where all are missing or infinite, return that."""
    finite = [within_magnitude(one, location) for one, location in zip(values, locations, strict=True)]
    moments = compute_robust_moments([one[:, None] for one in finite])
    if moments.n_present[0] == 0:
        return ALL_MISSING
    encoder = NumericColumn.from_moments(locations[0].column, "number", moments, notation=notation)
    warn_of_distant_numbers(encoder, finite, locations[0])
    return encoder


def fit_mostly_numbers(columns: Sequence[Any], locations: Sequence[CellLocation]) -> NumericColumn | None:
    """Fit the encoder of a column of text that nearly always holds numbers, else None; other cells are missing."""
    if any(arrow_kind(column) != "text" for column in columns):
        return None
    texts = first_distinct_texts(columns, _N_PROBED_TEXTS)
    probed = detect_main_notation(texts)  # mostly settles that it is other text
    if probed is None or find_numbers(texts, probed).mean() < _MIN_PROBED_SHARE:
        return None
    notation = detect_main_notation(distinct_texts(columns)[:_MAX_TEXTS_OF_NOTATION])
    if notation is None:
        return None
    n_rows = n_numbers = n_different = 0
    for codes, values in map(distinct_values, columns):
        is_number = find_numbers(values.cast(pa.string()), notation)
        counts = np.bincount(codes + 1, minlength=len(values) + 1)[1:]
        n_rows, n_numbers = n_rows + int(counts.sum()), n_numbers + int(counts[is_number].sum())
        n_different = max(n_different, int(is_number.sum()))
    if n_rows < _MIN_ROWS or n_numbers < _MIN_NUMBER_SHARE * n_rows or n_different < _MIN_DIFFERENT_NUMBERS:
        return None
    values_of = [
        read_numbers(column, location, notation, True) for column, location in zip(columns, locations, strict=True)
    ]
    moments = compute_robust_moments([one[:, None] for one in values_of])
    encoder = NumericColumn.from_moments(locations[0].column, "number", moments, notation=notation)
    warn_of_distant_numbers(encoder, values_of, locations[0])
    return replace(encoder, tolerant=True)


def warn_of_distant_numbers(encoder: NumericColumn, values: Sequence[Any], location: CellLocation) -> None:
    """Say which numbers are too far outside of the others to be learned from as they are. values: [n] each."""
    farthest = encoder.limit * encoder.scale
    distant = np.concatenate([one[np.abs(one - encoder.mean) > farthest] for one in values])
    if len(distant):
        n_rows = sum(map(len, values))
        example = max(distant.tolist(), key=lambda value: abs(value - encoder.mean))
        taken = encoder.mean + np.copysign(farthest, example - encoder.mean)
        verb = "is" if len(distant) == 1 else "are"
        location.warn(
            f"{len(distant):,} of {n_rows:,} numbers {verb} far outside of the others, such as {example:g}, "
            f"which is learned from as {taken:.4g}"
        )


def fit_booleans(columns: Sequence[Any], locations: Sequence[CellLocation]) -> NumericColumn:
    """Fit the encoder of a column of booleans, given as the same column of each training table."""
    values = [read_booleans(column, location) for column, location in zip(columns, locations, strict=True)]
    return NumericColumn.from_moments(locations[0].column, "boolean", compute_moments([one[:, None] for one in values]))
