"""The columns of a table as a person has sorted, filtered and searched them, kept for the next page of rows."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.column_values import ColumnValues, read_column
from oddshot.app.row_filters import find_text, find_values
from oddshot.app.row_query import ColumnFilter, TextFilter
from oddshot.data.encoding.encoding import Encoding
from oddshot.errors import InputError

MAX_COLUMNS_KEPT = 8  # 8 bytes a row each, as are the orders
MAX_ORDERS_KEPT = 4
MAX_FILTERS_KEPT = 32  # one byte a row each

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


class ColumnCache:
    """Columns of a table that does not change; those used last are kept."""

    def __init__(self, table: Any, encoding: Encoding) -> None:
        self._table, self._encoding = table, encoding
        self.values = lru_cache(MAX_COLUMNS_KEPT)(self._values)
        self.order = lru_cache(MAX_ORDERS_KEPT)(self._order)
        self.find = lru_cache(MAX_FILTERS_KEPT)(self._find)
        self.search = lru_cache(MAX_FILTERS_KEPT)(self._search)

    def _values(self, column: str) -> ColumnValues:
        """The values of a column."""
        return read_column(self._table, self.check(column), self._encoding)

    def _order(self, column: str, descending: bool) -> IntArray:
        """All rows sorted by a column: [n]."""
        return self.values(column).order(descending)

    def _find(self, wanted: ColumnFilter) -> BoolArray:
        """Whether each row passes a filter: [n]."""
        if isinstance(wanted, TextFilter):
            return find_text(self._table[self.check(wanted.column)], wanted.text)
        return find_values(self.values(wanted.column), wanted)

    def _search(self, text: str) -> BoolArray:
        """Whether each row has a text in any column: [n]."""
        found = np.zeros(self._table.num_rows, bool)
        for column in self._table.columns:
            found |= find_text(column, text)
        return found

    def check(self, column: str) -> str:
        """The name of a column; an InputError if the table has none of that name."""
        if column not in self._table.column_names:
            raise InputError(f"the table has no column {column[:100]!r}")
        return column
