"""Scores as files: every row of the table with its label, score, probability and decision."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from oddshot.app.labels import NAMES
from oddshot.app.workspace import Open
from oddshot.data.tables.columns import arrow_kind
from oddshot.errors import InputError

BLOCK_ROWS = 1 << 16
_FORMULA = "^[=+\\-@\t\r\n]"  # a spreadsheet would compute such a cell


def scores_csv(now: Open) -> Iterator[bytes]:
    """CSV in blocks; text that a spreadsheet would take for a formula begins with an apostrophe."""
    table = scores_table(now)
    table = table.rename_columns(_safe_names(table.column_names))
    for start in range(0, table.num_rows, BLOCK_ROWS):
        block = table.slice(start, BLOCK_ROWS)
        safe = pa.table([_safe_text(column) for column in block.columns], names=block.column_names)
        out = io.BytesIO()
        pyarrow.csv.write_csv(safe, out, pyarrow.csv.WriteOptions(include_header=start == 0))
        yield out.getvalue()


def scores_parquet(now: Open) -> bytes:
    """Parquet, every column in its own type."""
    out = io.BytesIO()
    pyarrow.parquet.write_table(scores_table(now), out)
    return out.getvalue()


def scores_table(now: Open) -> Any:
    """row (1 = the first), label, score, probability, anomaly (1 above the threshold), then the table's own columns."""
    ranking = now.ranking
    if not ranking.is_complete:
        scored, n = len(ranking.order), len(now.sheet)
        raise InputError(f"{scored:,} of {n:,} rows have their new score so far; try again in a moment")
    labels: list[str | None] = [None] * len(now.sheet)
    for row, label in zip(now.labels.rows.tolist(), now.labels.values.tolist(), strict=True):
        labels[row] = NAMES[label]
    p, threshold = ranking.scorer.probability(ranking.by_row), now.decided
    nothing = pa.nulls(len(now.sheet))
    ours = {
        "row": pa.array(np.arange(1, len(now.sheet) + 1)),
        "label": pa.array(labels, pa.string()),
        "score": pa.array(ranking.by_row),
        "probability": nothing.cast(pa.float64()) if p is None else pa.array(p),
        "anomaly": nothing.cast(pa.int8())
        if threshold is None
        else pa.array((ranking.by_row > threshold).astype("i1")),
    }
    names = list(ours)
    for name in now.sheet.table.column_names:
        names.append(_free(name, {*names, *now.sheet.table.column_names} if name in ours else set()))
    return pa.table([*ours.values(), *now.sheet.table.columns], names=names)


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that is not taken."""
    while name in taken:
        name += " (table)"
    return name


def _safe_text(column: Any) -> Any:
    """A column that CSV can hold, with formulas escaped."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow_kind(column) == "other":
        column = pa.chunked_array([pa.array([None if one is None else str(one) for one in column.to_pylist()])])
    if arrow_kind(column) != "text":
        return column
    formula = pc.match_substring_regex(column, _FORMULA)
    escaped = pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type))
    return pc.if_else(formula, escaped, column)


def _safe_names(names: Sequence[str]) -> list[str]:
    return _safe_text(pa.chunked_array([pa.array(names, pa.string())])).to_pylist()  # type: ignore[no-any-return]
