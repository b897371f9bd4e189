"""Encode the columns of tables as numbers: scaled numbers, one-hot categories, parts of dates.

encoding.py encodes tables, kinds.py is the registry of column kinds, and each *_column.py holds one encoder.
"""

from oddshot.data.encoding.encoding import Encoding

__all__ = ["Encoding"]
