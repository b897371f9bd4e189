"""Encode the columns of tables as numbers: scaled numbers, one-hot categories, parts of dates, words of texts.

encoding.py encodes tables, kinds.py is the registry of column kinds, and each *_column.py holds one encoder. choice.py
is what a person wants of the columns, running.py recognises those that only number the rows.
"""

from oddshot.data.encoding.choice import ColumnChoice
from oddshot.data.encoding.encoding import Encoding

__all__ = ["ColumnChoice", "Encoding"]
