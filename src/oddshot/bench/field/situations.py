"""Situations of the field trial: what users give to `fit`, and which rows they want ranked."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, fields

from oddshot.bench.field.tables import FieldTable
from oddshot.errors import InputError

N_UNLABELLED = 200
MAX_SCORED_NORMAL, MAX_SCORED_ANOMALY = 300, 100
MIN_SCORED_NORMAL, MIN_SCORED_ANOMALY = 10, 2
MIN_UNLABELLED = 50  # a table with fewer rows to spare takes no part in a situation with unlabelled rows

COLUMN_KINDS = ("gaussian", "t2", "lognormal", "binary", "mostly-zero")
CONTAMINATIONS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3)
N_SYNTHETIC_COLUMNS = 20
# A synthetic table is a new one in every draw; there are more draws of it than of each of many real tables.
N_SYNTHETIC_DRAWS_PER_DRAW, MAX_COLUMNS_OF_MANY_DRAWS = 4, 100
WIDTHS = (1, 2, 5, 20, 100, 500, 1500)


@dataclass(frozen=True)
class Situation:
    """One square of the picture.

    group, row, column: where it stands. n_normal, n_anomaly: labelled rows. n_unlabelled: unlabelled rows given to fit,
    apart from the rows to score. table_rows: where it is not 0, every row of a table cut to this size is given to fit,
    and the unlabelled ones are ranked. contamination: share of the unlabelled rows that are anomalies, None for the
    table's own share. column_kind, anomaly_kind, n_columns: of a synthetic table; column_kind is empty for real tables.
    draw_divisor: a slow situation has this many times fewer draws. n_training_tasks: tasks of the fleet that the
    model is trained on first; 0 for the shipped model.
    """

    group: str
    row: str
    column: str
    n_normal: int
    n_anomaly: int
    n_unlabelled: int = 0
    table_rows: int = 0
    contamination: float | None = None
    column_kind: str = ""
    anomaly_kind: str = "scattered"
    n_columns: int = 0
    draw_divisor: int = 1
    n_training_tasks: int = 0

    @property
    def name(self) -> str:
        """Group and cell, such as `apart/5+1` or `apart/200 unlabelled/5+1`."""
        return "/".join(part for part in (self.group, self.row, self.column) if part)

    def is_named(self, name: str) -> bool:
        """Whether this is the situation's name, the beginning of it, or a pattern that it matches."""
        return f"{self.name}/".startswith(f"{name}/") or fnmatch.fnmatchcase(self.name, name)

    def description(self) -> dict[str, object]:
        """The fields that differ from their defaults, so that a new field does not change older situations."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}

    def n_draws(self, requested: int) -> int:
        """Number of draws where `requested` are asked for."""
        if self.column_kind and self.n_columns <= MAX_COLUMNS_OF_MANY_DRAWS:
            return N_SYNTHETIC_DRAWS_PER_DRAW * requested
        return max(2, requested // self.draw_divisor) if self.draw_divisor > 1 else requested

    def suits(self, table: FieldTable) -> bool:
        """Whether the table has the rows that the situation needs."""
        if table.is_synthetic or self.column_kind:
            return table.is_synthetic and bool(self.column_kind)
        n_anomaly = int(table.y.sum())
        n_normal = len(table.y) - n_anomaly
        spare_normal, spare_anomaly = n_normal - self.n_normal, n_anomaly - self.n_anomaly
        if spare_normal < MIN_SCORED_NORMAL or spare_anomaly < MIN_SCORED_ANOMALY:
            return False
        if self.table_rows:
            return len(table.y) >= self.table_rows > self.n_normal + self.n_anomaly + MIN_SCORED_NORMAL
        if self.contamination is not None:
            return self._has_contamination(spare_normal, spare_anomaly)
        if self.n_unlabelled:
            enough = spare_normal + spare_anomaly >= 2 * MIN_UNLABELLED
            return enough and spare_anomaly - unlabelled_anomalies(self, spare_normal, spare_anomaly) >= 2
        return True

    def _has_contamination(self, spare_normal: int, spare_anomaly: int) -> bool:
        """Whether enough rows remain to score beside the unlabelled ones."""
        assert self.contamination is not None
        n_bad = round(self.n_unlabelled * self.contamination)
        n_good = self.n_unlabelled - n_bad
        return spare_normal - n_good >= MIN_SCORED_NORMAL and spare_anomaly - n_bad >= MIN_SCORED_ANOMALY


def unlabelled_rows(situation: Situation, spare: int) -> int:
    """Unlabelled rows of a real table: as many as the situation has, or half of those that are left."""
    return min(situation.n_unlabelled, spare // 2)


def unlabelled_anomalies(situation: Situation, spare_normal: int, spare_anomaly: int) -> int:
    """How many unlabelled rows are anomalies: the given contamination, or the table's own share."""
    if situation.contamination is not None:
        return round(situation.n_unlabelled * situation.contamination)
    spare = spare_normal + spare_anomaly
    return round(unlabelled_rows(situation, spare) * spare_anomaly / spare)


def _label_pairs(text: str) -> list[tuple[str, int, int]]:
    """`5+1 10+2` as [("5+1", 5, 1), ("10+2", 10, 2)]."""
    return [(pair, *map(int, pair.split("+"))) for pair in text.split()]  # type: ignore[misc]


def _with_and_without(group: str, pairs: str) -> list[Situation]:
    """Rows to score apart from those given to fit, without and with unlabelled rows."""
    return [
        Situation(group, f"{n} unlabelled" if n else "", pair, normal, anomaly, n)
        for n in (0, N_UNLABELLED)
        for pair, normal, anomaly in _label_pairs(pairs)
    ]


def _whole_table() -> list[Situation]:
    return [
        Situation("whole", f"{n} rows", pair, normal, anomaly, table_rows=n, draw_divisor=5 if n > 1000 else 1)
        for n in (100, 1000, 10_000)
        for pair, normal, anomaly in _label_pairs("5+0 5+1 5+2 10+2")
    ]


def _contamination() -> list[Situation]:
    kinds = [(f"{kind} {shape}", kind, shape) for kind in COLUMN_KINDS for shape in ("scattered", "cluster")]
    return [
        Situation(
            "contamination", f"{title} {pair}", f"{share:.0%}", normal, anomaly, N_UNLABELLED, contamination=share,
            column_kind=kind, anomaly_kind=shape, n_columns=N_SYNTHETIC_COLUMNS if kind else 0,
        )
        for title, kind, shape in [*kinds, ("real tables", "", "scattered")]
        for pair, normal, anomaly in _label_pairs("5+0 5+1")
        for share in CONTAMINATIONS
    ]  # fmt: skip


def _widths() -> list[Situation]:
    return [
        Situation(
            "widths", f"{n} unlabelled" if n else "", f"{width} column{'s' * (width > 1)}", 5, 1, n, contamination=0.05,
            column_kind="mixture", anomaly_kind="tenth", n_columns=width,
        )
        for n in (0, N_UNLABELLED)
        for width in WIDTHS
    ]  # fmt: skip


SITUATIONS = (
    *_with_and_without("apart", "5+0 5+1 5+2"),
    *_whole_table(),
    *_with_and_without("tiny", "1+0 1+1 2+0 2+1 3+0"),
    *_with_and_without("growth", "10+2 20+4 40+8 80+16 200+40"),  # 5+0 and 5+1 are those of `apart`
    *_contamination(),
    *_widths(),
)
GROUPS = tuple(dict.fromkeys(situation.group for situation in SITUATIONS))


def select_situations(names: Sequence[str]) -> list[Situation]:
    """Situations by names, beginnings of names (`whole/1000 rows`) or patterns (`*cluster 5+0*`); all for none."""
    if not names:
        return list(SITUATIONS)
    chosen: dict[Situation, None] = {}
    for name in names:
        found = [situation for situation in SITUATIONS if situation.is_named(name)]
        if not found:
            raise InputError(f"--only {name}: no such situation; there are the groups {', '.join(GROUPS)}, fleets")
        chosen.update(dict.fromkeys(found))
    return [situation for situation in SITUATIONS if situation in chosen]
