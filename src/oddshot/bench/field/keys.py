"""Which results a field trial has, and what each of them depends on."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import oddshot
from oddshot.bench.field.opponents import OPPONENTS, OPPONENTS_VERSION, Opponent, installed_opponents
from oddshot.bench.field.product import PRODUCT, SHIPPED, product_fingerprint
from oddshot.bench.field.situations import Situation
from oddshot.bench.field.store import CellKey
from oddshot.bench.field.tables import FieldTable
from oddshot.errors import InputError

TRIAL_VERSION = 1
"""To be increased whenever the same situation, table and draw give other rows: stored results are then left out."""


@dataclass(frozen=True)
class TrialSettings:
    """What is run: draws of every situation, methods beside the detector, and the detector's model file, if any."""

    draws: int = 5
    methods: tuple[str, ...] = ()
    model_file: str | None = None

    def __post_init__(self) -> None:
        for name in self.methods:
            if name != PRODUCT and name not in OPPONENTS:
                raise InputError(f"--methods {name}: no such method; there are {', '.join([PRODUCT, *OPPONENTS])}")


def methods_of(situation: Situation, settings: TrialSettings) -> list[str]:
    """The detector and the simple methods that can do without what the situation lacks."""
    names = settings.methods or (PRODUCT, *installed_opponents())
    if situation.n_training_tasks:
        names = (*names, SHIPPED)
    return [name for name in names if name in (PRODUCT, SHIPPED) or _can_take_part(OPPONENTS[name], situation)]


def _can_take_part(opponent: Opponent, situation: Situation) -> bool:
    if opponent.needs_anomaly and situation.n_anomaly == 0:
        return False
    return not opponent.needs_unlabelled or situation.n_unlabelled > 0


def cell_key(situation: Situation, table: FieldTable, method: str, settings: TrialSettings) -> CellKey:
    """Identity of a result. That of a simple method does not depend on the detector's code."""
    described = {
        "trial": TRIAL_VERSION,
        "situation": situation.description(),
        "table": _fingerprint(table),
        "draws": situation.n_draws(settings.draws),
        "method": _method_version(situation, method, settings),
        "version": oddshot.__version__,
    }
    text = json.dumps(described, sort_keys=True)
    return CellKey(situation.name, table.name, method, hashlib.sha256(text.encode()).hexdigest()[:16])


def _method_version(situation: Situation, method: str, settings: TrialSettings) -> str | int:
    if method not in (PRODUCT, SHIPPED):
        return OPPONENTS_VERSION
    return product_fingerprint(settings.model_file, training=situation.n_training_tasks > 0 and method == PRODUCT)


def trial_keys(
    situations: Sequence[Situation], tables: Sequence[FieldTable], settings: TrialSettings
) -> dict[CellKey, tuple[Situation, FieldTable]]:
    """All results of a trial, with the situation and the table of each."""
    pairs = [(situation, table) for situation in situations for table in tables if situation.suits(table)]
    return keys_of(pairs, settings)


def keys_of(
    pairs: Iterable[tuple[Situation, FieldTable]], settings: TrialSettings
) -> dict[CellKey, tuple[Situation, FieldTable]]:
    """The results of all methods for situations on tables or fleets."""
    return {
        cell_key(situation, table, method, settings): (situation, table)
        for situation, table in pairs
        for method in methods_of(situation, settings)
    }


_FINGERPRINTS: dict[int, str] = {}


def _fingerprint(table: FieldTable) -> str:
    """The table's fingerprint, computed once."""
    if id(table) not in _FINGERPRINTS:
        _FINGERPRINTS[id(table)] = table.fingerprint()
    return _FINGERPRINTS[id(table)]
