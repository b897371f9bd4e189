"""Columns of any kind -> numbers."""

from oddshot.data.encoding.encoding import Encoding

__all__ = ["Encoding"]
