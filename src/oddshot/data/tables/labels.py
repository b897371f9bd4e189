"""Parse a column of labels as 1 (anomaly), 0 (normal) and -1 (unlabelled)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.columns import CellLocation, distinct_values
from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.label_meaning import CONVENTION, INVALID, LabelMeaning, label_text
from oddshot.data.tables.parsing import MISSING_VALUES
from oddshot.errors import InputError

SWAP_RATIO = 3  # anomalies for a normal row, from which on labels may be the wrong way round
MIN_ANOMALIES_OF_SWAP = 10  # with fewer, labels are not suspected to be the wrong way round


def parse_labels(
    column: Any, meaning: LabelMeaning = CONVENTION, where: str = "table", name: str = "label"
) -> NDArray[np.int8]:
    """Return the labels of n rows: [n]. column: n cells, an Arrow column or anything array-like.

    An empty cell is unlabelled. where, name: the table and the column in messages.
    """
    codes, values = distinct_values(_as_column(column, where))
    expected = f"expected 1, 0, -1 or empty, or {meaning.advice}"
    try:
        cells = values.to_pylist()
    except (ValueError, OverflowError):  # dates and durations that Python does not have, or in no known time zone
        raise InputError(f"{where}: column {name!r} holds {values.type} values; {expected}") from None
    label_of_value = [meaning.label_of(value) for value in cells]
    labels = np.array([*label_of_value, UNLABELLED], np.int8)[codes]
    if INVALID in label_of_value:
        index = int((labels == INVALID).argmax())
        raise CellLocation(where, name).error(index, values[int(codes[index])].as_py(), f"is not a label; {expected}")
    return labels


def check_named_values(
    cells: Iterable[object], meaning: LabelMeaning, where: str, name: str | None = None, *, required: bool = False
) -> list[str]:
    """Refuse named values of which no row has one, and return what is to be said where another one may be meant.

    cells: labels, those of one value at least once. required: refuse normal rows alone as well. where, name: the table
    and the column in messages, if it has a name.
    """
    if not meaning.named:
        return []
    values = distinct_texts(cells)
    others = [value for value in values if value not in meaning.named]
    absent = [value for value in meaning.named if value not in values]
    if not absent or not (values or required):
        return _notices_of_similar(others, meaning, where)
    what = "no label is" if name is None else f"no row has {name!r} ="
    named, seen = " or ".join(map(repr, absent)), format_names(values) or "none"
    message = f"{where}: {what} {named}; values seen: {seen}"
    if len(absent) < len(meaning.named):
        side = "normal" if meaning.opposite == NORMAL else "anomalous"
        doubt = f"{message}; taken as {side}: {format_names(others)}"  # one of them may be misspelt
        return [*_notices_of_similar(others, meaning, where), *([doubt] if len(others) > 1 else [])]
    similar = _similar(others, meaning)
    if similar:
        raise InputError(f"{message} (did you mean {similar[0]!r}?)")
    if required or len(values) > 1 or meaning.label == NORMAL:
        raise InputError(message)
    return [message]


def swapped_labels_notice(labels: NDArray[np.int8]) -> str:
    """What to say where anomalies far outnumber normal rows, or nothing: who searches for anomalies labels many."""
    n_normal, n_anomaly = (int((labels == label).sum()) for label in (NORMAL, ANOMALY))
    if n_anomaly < max(SWAP_RATIO * n_normal, MIN_ANOMALIES_OF_SWAP):
        return ""
    return (
        f"{n_anomaly:,} rows are labelled anomalous and only {n_normal:,} normal: "
        "are the labels the wrong way round? 1 = anomaly, 0 = normal"
    )


def distinct_cells(columns: Iterable[Any]) -> Iterator[object]:
    """Yield the values of columns, those of each column once."""
    for column in columns:
        yield from distinct_values(_as_column(column, "table"))[1].to_pylist()


def distinct_texts(cells: Iterable[object]) -> list[str]:
    """Return the distinct labels among cells as text, without missing values."""
    return [text for text in dict.fromkeys(map(label_text, cells)) if text not in MISSING_VALUES]


def _notices_of_similar(others: Sequence[str], meaning: LabelMeaning, where: str) -> list[str]:
    """What to say of values that are written almost like named ones, and mean the opposite."""
    similar = _similar(others, meaning)
    if not similar:
        return []
    taken, only = ("normal", "anomalous") if meaning.label == ANOMALY else ("anomalous", "normal")
    written = f"{where}: labels {format_names(similar)} are taken as {taken}, and only {format_names(meaning.named)} as"
    return [f"{written} {only}; write them alike if they mean the same"]


def _similar(others: Sequence[str], meaning: LabelMeaning) -> list[str]:
    named = {value.lower() for value in meaning.named}
    return [value for value in others if value.lower() in named]


def _as_column(column: Any, where: str) -> Any:
    if isinstance(column, pa.ChunkedArray):
        return column
    return as_table({"label": column}, where)["label"]
