"""Selection of the runs for a table or figure: runs of one protocol with the same settings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oddshot.bench.record import AucKind, RunRecord
from oddshot.errors import InputError

PAPER_SETTINGS = {
    "n_training": None,
    "sizes.support_normal": 5,
    "sizes.support_anomaly": 1,
    "sizes.query_normal": 25,
    "sizes.query_anomaly": 5,
}
"""Runs with other values, which were made for curves, are selected only where the value is asked for."""

ScoresBySplit = dict[tuple[str, str], dict[int, float]]  # (dataset, method) -> split -> value


@dataclass(frozen=True)
class Selection:
    """Runs that are done and share their settings.

    n_failed: number of failed runs with these settings. requested_datasets, requested_methods: names that were asked
    for, whether or not there are runs of them.
    """

    records: tuple[RunRecord, ...]
    n_failed: int
    requested_datasets: frozenset[str] = frozenset()
    requested_methods: frozenset[str] = frozenset()

    def aucs(self, auc: AucKind) -> ScoresBySplit:
        """The AUC of every dataset, method and split."""
        return _by_split((record, record.auc(auc)) for record in self.records)

    def train_seconds(self) -> ScoresBySplit:
        """The training time of every dataset, trained method and split."""
        return _by_split((record, record.train_seconds) for record in self.records)

    @property
    def datasets(self) -> set[str]:
        """Names of the datasets that have runs."""
        return {record.dataset for record in self.records}

    @property
    def methods(self) -> set[str]:
        """Names of the methods that have runs."""
        return {record.method for record in self.records}


def default_auc(protocol: str) -> AucKind:
    """The paper's results count a tie as a loss; `resampled` counts it as a half, as is usual for the AUC."""
    return "strict" if protocol == "published" else "half"


def choose_protocol(records: Sequence[RunRecord], protocol: str | None, auc: str | None) -> tuple[str, AucKind]:
    """The given protocol and kind of AUC, or else the only protocol of the runs and its default kind of AUC."""
    found = sorted({record.protocol for record in records})
    if protocol is None:
        if len(found) != 1:
            contents = f"has {' and '.join(found)}" if found else "is empty"
            raise InputError(f"the store {contents}: choose with --protocol published or resampled")
        protocol = found[0]
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
    """Select the runs of a protocol with the given settings; an InputError where they differ in any other setting.

    where: values of settings by the names of `flat_settings`; PAPER_SETTINGS for those that are not given. datasets,
    methods: None for all.
    """
    kept = [record for record in records if record.protocol == protocol]
    requested_datasets, requested_methods = frozenset(datasets or ()), frozenset(methods or ())
    if datasets is not None:
        kept = [record for record in kept if record.dataset in requested_datasets]
    if methods is not None:
        kept = [record for record in kept if record.method in requested_methods]
    settings = {record.key: flat_settings(record) for record in kept}
    for name in where or {}:
        if kept and not any(name in known for known in settings.values()):
            known_names = ", ".join(_setting_names(settings.values()))
            raise InputError(f"--where {name}: no run has such a setting; known are {known_names}")
    newest = max((known["protocol_version"] for known in settings.values()), default=0)
    required = {"protocol_version": newest, **PAPER_SETTINGS, **(where or {})}
    kept = [record for record in kept if _agrees(settings[record.key], required)]
    done = [record for record in kept if record.status == "done"]
    _refuse_mixed_settings([settings[record.key] for record in done])
    return Selection(tuple(done), len(kept) - len(done), requested_datasets, requested_methods)


def flat_settings(record: RunRecord) -> dict[str, Any]:
    """The settings of a run by flat names: `training.epochs`, `sizes.support_normal`, `eigen.units`, `data.glass`."""
    config = record.settings
    flat = {name: config[name] for name in ("n_training", "seed", "protocol_version")}
    flat[f"data.{record.dataset}"] = config["data"]
    for group, prefix in (("training", "training"), ("sizes", "sizes"), ("method", record.method)):
        flat |= {f"{prefix}.{name}": value for name, value in (config[group] or {}).items()}
    return flat


def _by_split(values: Iterable[tuple[RunRecord, float | None]]) -> ScoresBySplit:
    """Group values by dataset and method, without runs that have none."""
    grouped: ScoresBySplit = {}
    for record, value in values:
        if value is not None:
            grouped.setdefault((record.dataset, record.method), {})[record.split] = value
    return grouped


def _agrees(settings: Mapping[str, Any], required: Mapping[str, Any]) -> bool:
    """Whether a run has the required values, apart from settings that it lacks, such as epochs without training."""
    return all(settings[name] == value for name, value in required.items() if name in settings)


def _refuse_mixed_settings(settings: Sequence[Mapping[str, Any]]) -> None:
    for name in _setting_names(settings):
        values = list(dict.fromkeys(json.dumps(known[name]) for known in settings if name in known))
        if len(values) > 1:
            raise InputError(
                f"the store holds runs with {name} = {' and '.join(values)}, which do not go into one table: "
                f"choose with --where {name}={values[0]}"
            )


def _setting_names(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({name for known in settings for name in known})
