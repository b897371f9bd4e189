"""The interface of column encoders, which encode one column of a table as one or more attributes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding.scaling import MAX_SCALED_VALUE
from oddshot.data.tables.columns import CellLocation

AttributeArray = NDArray[np.float32]
FillRows = Callable[[slice, AttributeArray], None]
"""fill(rows, out) writes the attributes of a slice of rows to out: [len(rows), n_attributes]."""

ALL_MISSING = "all values missing"


@dataclass(frozen=True)
class ColumnEncoder(ABC):
    """A fitted encoder of the column `name`; `kind` is a key of oddshot.data.encoding.kinds.KINDS.

    A missing value is 0 in each attribute and 1 in the attribute "<column> missing", which an encoder has if the column
    had missing values in training. Subclasses are frozen dataclasses whose fields are stored in model files; they check
    them with check_fields, because a model file may come from an untrusted source.
    """

    name: str
    kind: str

    @property
    @abstractmethod
    def attribute_names(self) -> tuple[str, ...]:
        """The names of the attributes that the column is encoded as."""

    @property
    def stored_kind(self) -> str:
        """The kind as which files store the cells: kind itself, or "text" where only the encoder can read them."""
        return self.kind

    @property
    def first_limit(self) -> float:
        """The size of the first attribute from which on rows that are learned from are clipped; others have none."""
        return MAX_SCALED_VALUE

    @abstractmethod
    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Read all cells of a pyarrow.ChunkedArray, and return a function that writes their attributes.

        Reading and writing are separate so that the caller can write a table of many columns in blocks of rows that
        fit in the processor's cache.
        """

    def describe(self) -> str:
        """Return a short description for people."""
        return self.name
