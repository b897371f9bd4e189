"""Tables of the field trial, divided by source into those for choosing and those for reporting."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from oddshot.errors import InputError, file_error

Split = Literal["choosing", "reporting"]
FloatArray = NDArray[np.float64]

MAX_TABLES_PER_SOURCE = 3
# 21 of the paper's 22 outlier tables: InternetAds, of 1,555 columns, takes longer than all others together.
PAPER_TABLES = (
    *("aloi", "annthyroid", "arrhythmia", "cardiotocography", "glass", "heartdisease", "hepatitis", "ionosphere"),
    *("kddcup99", "lymphography", "pageblocks", "parkinson", "pendigits", "pima", "shuttle", "spambase", "stamps"),
    *("wbc", "wdbc", "waveform", "wilt"),
)
SHARED_SOURCES = {"wbc": "wisconsin", "wdbc": "wisconsin"}


@dataclass(frozen=True)
class FieldTable:
    """A real table, X [n, M] in the units of its file and y [n] with 1 for anomalies, or the name of a synthetic one.

    Tables of one source share its weight in every mean. A synthetic table has no rows: each draw makes its own.
    """

    name: str
    source: str
    split: Split
    X: FloatArray = field(repr=False)
    y: NDArray[np.int8] = field(repr=False)

    @property
    def is_synthetic(self) -> bool:
        """Whether each draw makes its own rows."""
        return len(self.X) == 0

    def fingerprint(self) -> str:
        """Hash of the rows and labels."""
        digest = hashlib.sha256(str(self.X.shape).encode())
        digest.update(np.ascontiguousarray(self.X).tobytes())
        digest.update(self.y.tobytes())
        return digest.hexdigest()[:16]


def split_of_source(source: str) -> Split:
    """For reporting where the SHA-256 hash of the source's name is even, otherwise for choosing."""
    return "choosing" if int(hashlib.sha256(source.encode()).hexdigest(), 16) % 2 else "reporting"


def load_paper_tables(data_dir: str | None, cache_dir: str | None = None) -> list[FieldTable]:
    """The paper's tables that are here. All are for reporting, though past choices were made with them in view."""
    from oddshot.data.sources.catalogue import find_card, load_dataset, locate_dataset

    tables = []
    for name in PAPER_TABLES:
        if locate_dataset(find_card(name), data_dir, cache_dir) is not None:
            dataset = load_dataset(name, data_dir, cache_dir)
            source = SHARED_SOURCES.get(name, name)
            tables.append(FieldTable(name, source, "reporting", dataset.X, dataset.y))
    return tables


def load_keel_tables(path: Path) -> list[FieldTable]:
    """At most three tables of every source, those with the lowest numbers, of a file of keel_tables.py."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except OSError as error:
        raise file_error("read", path, error) from error
    except ValueError as error:
        raise InputError(f"{path}: not a file of results/universal/keel_tables.py ({error})") from error
    numbers: dict[str, list[int]] = {}
    for name in arrays:
        source, _, rest = name.partition("/")
        number, _, kind = rest.partition("/")
        if kind == "X" and number.isdecimal():
            numbers.setdefault(source, []).append(int(number))
    if not numbers:
        raise InputError(f"{path}: no tables in it; results/universal/keel_tables.py makes it")
    return [
        FieldTable(
            f"{source}/{number}",
            source,
            split_of_source(source),
            arrays[f"{source}/{number}/X"].astype(np.float64),
            arrays[f"{source}/{number}/y"].astype(np.int8),
        )
        for source in sorted(numbers)
        for number in sorted(numbers[source])[:MAX_TABLES_PER_SOURCE]
    ]


def synthetic_tables() -> list[FieldTable]:
    """Two names of synthetic tables, whose rows are drawn from different seeds: one for choosing, one for reporting."""
    empty, none = np.empty((0, 0)), np.empty(0, np.int8)
    splits: tuple[Split, ...] = ("choosing", "reporting")
    return [FieldTable(f"synthetic ({split})", f"synthetic ({split})", split, empty, none) for split in splits]


def select_split(tables: Iterable[FieldTable], split: str) -> list[FieldTable]:
    """The tables for `choosing`, for `reporting`, or `all`."""
    if split not in ("choosing", "reporting", "all"):
        raise InputError(f"--split {split}; there are choosing, reporting and all")
    return [table for table in tables if split in ("all", table.split)]
