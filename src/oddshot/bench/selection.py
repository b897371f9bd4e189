"""The runs that belong into one table: of one protocol and one group of settings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oddshot.bench.record import RunRecord
from oddshot.errors import InputError

AucKind = Literal["strict", "half"]
PAPER_SETTINGS = {
    "n_training": None,
    "sizes.support_normal": 5,
    "sizes.support_anomaly": 1,
    "sizes.query_normal": 25,
    "sizes.query_anomaly": 5,
}
"""The paper's; runs for figures with other numbers are left out unless asked for."""


@dataclass(frozen=True)
class Selection:
    """Finished runs under the same settings, none twice.

    n_failed: failed ones under these settings. asked_datasets, asked_methods: those asked for by name, run or not.
    """

    records: tuple[RunRecord, ...]
    n_failed: int
    asked_datasets: frozenset[str] = frozenset()
    asked_methods: frozenset[str] = frozenset()

    def by_split(self, column: str) -> dict[tuple[str, str], dict[int, float]]:
        """(dataset, method) -> split -> the value of this column, where there is one."""
        values: dict[tuple[str, str], dict[int, float]] = {}
        for record in self.records:
            value = getattr(record, column)
            if value is not None:
                values.setdefault((record.dataset, record.method), {})[record.split] = value
        return values

    def aucs(self, auc: AucKind) -> dict[tuple[str, str], dict[int, float]]:
        """(dataset, method) -> split -> AUC."""
        return self.by_split(f"auc_{auc}")

    @property
    def datasets(self) -> set[str]:
        """Names."""
        return {record.dataset for record in self.records}

    @property
    def methods(self) -> set[str]:
        """Names."""
        return {record.method for record in self.records}


def default_auc(protocol: str) -> AucKind:
    """The paper's own figures count a tie as a loss; those for users count it as a half, as everybody does."""
    return "strict" if protocol == "published" else "half"


def choose_protocol(records: Sequence[RunRecord], protocol: str | None, auc: str | None) -> tuple[str, AucKind]:
    """As given; else the one protocol that the runs have, and the AUC that goes with it."""
    here = sorted({record.protocol for record in records})
    if protocol is None:
        if len(here) != 1:
            found = f"has {' and '.join(here)}" if here else "is empty"
            raise InputError(f"the store {found}: choose with --protocol published or resampled")
        protocol = here[0]
    if auc not in (None, "strict", "half"):
        raise InputError(f"--auc {auc}; there are strict (ties lose) and half (ties count a half)")
    kind: AucKind = default_auc(protocol) if auc is None else "strict" if auc == "strict" else "half"
    return protocol, kind


def select(
    records: Sequence[RunRecord],
    protocol: str,
    where: Mapping[str, Any] | None = None,
    datasets: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
) -> Selection:
    """Runs of this protocol with these settings, the paper's where none is given; refuses to mix several groups.

    where: names as in settings_of -> value.
    """
    kept = [record for record in records if record.protocol == protocol]
    asked_datasets, asked_methods = frozenset(datasets or ()), frozenset(methods or ())
    if datasets is not None:
        kept = [record for record in kept if record.dataset in asked_datasets]
    if methods is not None:
        kept = [record for record in kept if record.method in asked_methods]
    settings = {record.key: settings_of(record) for record in kept}
    for name in where or {}:
        if kept and not any(name in known for known in settings.values()):
            raise InputError(f"--where {name}: no run has such a setting; known are {', '.join(_names(settings))}")
    newest = max((known["protocol_version"] for known in settings.values()), default=0)
    asked = {"protocol_version": newest, **PAPER_SETTINGS, **(where or {})}
    kept = [record for record in kept if _agrees(settings[record.key], asked)]
    done = [record for record in kept if record.status == "done"]
    _refuse_mixture([settings[record.key] for record in done])
    return Selection(tuple(done), len(kept) - len(done), asked_datasets, asked_methods)


def settings_of(record: RunRecord) -> dict[str, Any]:
    """`training.epochs`, `sizes.support_normal`, `n_training`, `seed`, `eigen.units`, `data.glass`, ... -> value."""
    config = record.settings
    flat = {name: config[name] for name in ("n_training", "seed", "protocol_version")}
    flat[f"data.{record.dataset}"] = config["data"]
    for group, prefix in (("training", "training"), ("sizes", "sizes"), ("method", record.method)):
        flat |= {f"{prefix}.{name}": value for name, value in (config[group] or {}).items()}
    return flat


def parse_where(text: str) -> tuple[str, Any]:
    """`name=value` in two parts; numbers and null as in JSON."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--where {text}: expected SETTING=VALUE, as in training.epochs=1000")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _agrees(settings: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """A setting that a run does not have (epochs without training) does not matter to it."""
    return all(settings[name] == value for name, value in asked.items() if name in settings)


def _refuse_mixture(known: Sequence[Mapping[str, Any]]) -> None:
    for name in _names(dict(enumerate(known))):
        values = list(dict.fromkeys(json.dumps(settings[name]) for settings in known if name in settings))
        if len(values) > 1:
            raise InputError(
                f"the store holds runs with {name} = {' and '.join(values)}, which do not go into one table: "
                f"choose with --where {name}={values[0]}"
            )


def _names(settings: Mapping[Any, Mapping[str, Any]]) -> list[str]:
    return sorted({name for known in settings.values() for name in known})
