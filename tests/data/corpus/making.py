"""Make the tables of the corpus: a base of four informative columns, and one way in which people spoil it."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
N_ROWS, N_COLUMNS, N_LABELLED = 240, 4, 6
NOT_USED = "not used"


@dataclass
class HostileTable:
    """A table as people have it.

    columns: cells as text, or of any type where the format stores types; None for an empty cell. kinds: what a person
    takes each column for, NOT_USED for those to be left out. prepared: the same table prepared by hand, [n, K], NaN
    where missing. truth: [n], 1 for anomalies. labels: [n], those that are known, -1 for the others. apart: whether
    only the labelled rows are given first, as a file of their own. suffix, delimiter, encoding: of the file.
    """

    name: str
    columns: dict[str, list[Any]]
    kinds: dict[str, str]
    prepared: FloatArray
    truth: NDArray[np.int8]
    labels: NDArray[np.int8]
    apart: bool = False
    suffix: str = ".csv"
    delimiter: str = ","
    encoding: str = "utf-8"


class Base:
    """Four correlated columns in which anomalies are shifted, a generator, and what a case makes of them."""

    def __init__(self, name: str) -> None:
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.truth = (self.rng.random(N_ROWS) < 0.12).astype(np.int8)
        self.truth[:8] = [0, 0, 0, 0, 0, 1, 0, 1]
        mixing = self.rng.normal(size=(N_COLUMNS, N_COLUMNS)) + 2 * np.eye(N_COLUMNS)
        self.X: FloatArray = self.rng.normal(size=(N_ROWS, N_COLUMNS)) @ mixing
        direction = np.array([1.0, -1.0, 1.0, 0.5]) * self.X.std(axis=0)
        self.X += np.outer(self.truth, 1.6 * direction) * self.rng.uniform(0.7, 1.5, (N_ROWS, 1))
        self.X = np.round(self.X / self.X.std(axis=0), 3)
        self.columns: dict[str, list[Any]] = {
            f"c{j}": [repr(x) for x in self.X[:, j].tolist()] for j in range(N_COLUMNS)
        }
        self.kinds = dict.fromkeys(self.columns, "number")
        self.prepared: list[FloatArray] = [self.X[:, j] for j in range(N_COLUMNS)]
        self.options: dict[str, Any] = {}

    def finish(self, name: str) -> HostileTable:
        labels = np.full(N_ROWS, -1, np.int8)
        labels[:N_LABELLED] = self.truth[:N_LABELLED]
        prepared = np.column_stack(self.prepared)
        return HostileTable(name, self.columns, self.kinds, prepared, self.truth, labels, **self.options)

    def write(self, how: Callable[[float], str | None], scale: float = 1.0, shift: float = 0.0) -> None:
        """Write the four columns in some notation; the twin has the numbers that are to be read."""
        for j, name in enumerate(self.columns):
            values = np.round(self.X[:, j] * scale + shift, 2)
            self.columns[name] = [how(x) for x in values.tolist()]
            self.prepared[j] = values

    def add(self, name: str, cells: list[Any], kind: str, *prepared: FloatArray, first: bool = False) -> None:
        """Add a column, with what a person would make of it: nothing, or columns of numbers."""
        self.columns = {name: cells, **self.columns} if first else {**self.columns, name: cells}
        self.kinds[name] = kind
        self.prepared += prepared

    def lose(self, share: float, *tokens: str) -> None:
        """Replace cells by words for missing values; a person adds a column that says where, as for any gaps."""
        for j, name in enumerate(list(self.columns)[:N_COLUMNS]):
            gone = self.rng.random(N_ROWS) < share
            self.columns[name] = [
                tokens[int(self.rng.integers(len(tokens)))] if one else cell
                for cell, one in zip(self.columns[name], gone, strict=True)
            ]
            self.prepared[j] = np.where(gone, np.nan, self.prepared[j])


Case = Callable[[Base], None]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    """Register a case under a name."""

    def register(spoil: Case) -> Case:
        assert name not in CASES
        CASES[name] = spoil
        return spoil

    return register


def make_case(name: str) -> HostileTable:
    """Make the table of a case, always the same one."""
    base = Base(name)
    CASES[name](base)
    return base.finish(name)


from tests.data.corpus import formats, keys_and_dates, numbers, words  # noqa: E402, F401  (they register their cases)
