"""Scores as CSV and Parquet: every row of the table with its label, score, probability and decision."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from oddshot.adapted.result import ScoredRows
from oddshot.app.labels import LABEL_NAMES
from oddshot.app.open_table import OpenTable
from oddshot.data.tables.columns import arrow_kind
from oddshot.data.tables.spreadsheet_text import escape_formulas
from oddshot.errors import InputError

N_ROWS_PER_BLOCK = 1 << 16


def scores_csv(open_table: OpenTable) -> Iterator[bytes]:
    """CSV in blocks; text that a spreadsheet would evaluate as a formula gets an apostrophe in front."""
    table = scores_table(open_table)
    table = table.rename_columns(_escaped_names(table.column_names))
    for start in range(0, table.num_rows, N_ROWS_PER_BLOCK):
        block = table.slice(start, N_ROWS_PER_BLOCK)
        escaped = pa.table([_escaped_column(column) for column in block.columns], names=block.column_names)
        out = io.BytesIO()
        pyarrow.csv.write_csv(escaped, out, pyarrow.csv.WriteOptions(include_header=start == 0))
        yield out.getvalue()


def scores_parquet(open_table: OpenTable) -> bytes:
    """Parquet, with the original type of every column."""
    out = io.BytesIO()
    pyarrow.parquet.write_table(scores_table(open_table), out)
    return out.getvalue()


def scores_table(open_table: OpenTable) -> Any:
    """row (1 = the first), label, score, probability, anomaly (1 above the threshold), then the table's own columns."""
    sheet, ranking = open_table.sheet, open_table.ranking
    if not ranking.is_complete:
        raise InputError(
            f"{len(ranking.order):,} of {len(sheet):,} rows have their new score so far; try again in a moment"
        )
    labels: list[str | None] = [None] * len(sheet)
    for row, label in zip(open_table.labels.rows.tolist(), open_table.labels.values.tolist(), strict=True):
        labels[row] = LABEL_NAMES[label]
    probabilities = ranking.ranker.probability(ranking.scores)
    scored = ScoredRows.at_threshold(ranking.scores, probabilities, open_table.threshold).to_table()
    added = {
        "row": pa.array(np.arange(1, len(sheet) + 1)),
        "label": pa.array(labels, pa.string()),
        **dict(zip(scored.column_names, scored.columns, strict=True)),
    }
    names = list(added)
    for name in sheet.table.column_names:
        names.append(_unused_name(name, {*names, *sheet.table.column_names} if name in added else set()))
    return pa.table([*added.values(), *sheet.table.columns], names=names)


def _unused_name(name: str, used: set[str]) -> str:
    """The name, with a suffix if it is used already."""
    while name in used:
        name += " (table)"
    return name


def _escaped_column(column: Any) -> Any:
    """The column in a type that CSV can hold, with formulas escaped."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow_kind(column) == "other":
        column = pa.chunked_array([pa.array([None if cell is None else str(cell) for cell in column.to_pylist()])])
    if arrow_kind(column) != "text":
        return column
    return escape_formulas(column)


def _escaped_names(names: Sequence[str]) -> list[str]:
    return _escaped_column(pa.chunked_array([pa.array(names, pa.string())])).to_pylist()  # type: ignore[no-any-return]
