"""The field trial from beginning to end: run what the store lacks, then write tables and the picture."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oddshot.bench.field.criteria import criteria_lines
from oddshot.bench.field.fleets import FLEET_NAMES, fleet_situations, load_fleets
from oddshot.bench.field.keys import TrialSettings, keys_of, trial_keys
from oddshot.bench.field.picture import draw_picture
from oddshot.bench.field.product import load_candidate
from oddshot.bench.field.progress import show_progress
from oddshot.bench.field.report import (
    Keys,
    compare,
    group_means,
    select_records,
    to_csv,
    to_markdown,
)
from oddshot.bench.field.situations import Situation, select_situations
from oddshot.bench.field.store import CellRecord, open_field_store
from oddshot.bench.field.tables import FieldTable
from oddshot.bench.field.trial import missing_jobs, run_trial
from oddshot.data.files import make_folder, write_bytes
from oddshot.errors import InputError


@dataclass(frozen=True)
class TrialFiles:
    """Where results are kept and written, and where data are read from."""

    store: Path
    out: Path
    data_dir: str | None = None
    cache_dir: str | None = None


@dataclass(frozen=True)
class TrialOutcome:
    """What the command prints: means of groups, names of the files, and a line for each failed cell."""

    summary: str
    written: list[str]
    failures: list[str]


def run_and_report(
    only: Sequence[str],
    tables: Sequence[FieldTable],
    settings: TrialSettings,
    files: TrialFiles,
    workers: int,
    split: str,
    quiet: bool = False,
) -> TrialOutcome:
    """Run the situations on the tables and write the report.

    only: names of groups or situations; where there is none, all but `fleets`.
    """
    load_candidate(settings.model_file)  # a file that cannot be read is reported before anything is run
    fleet_names = [name for name in only if name.partition("/")[0] == "fleets"]
    names = [name for name in only if name not in fleet_names]
    keys = trial_keys(select_situations(names), tables, settings) if names or not only else {}
    if fleet_names:
        chosen = _chosen_fleets(fleet_names, files)
        if not chosen:
            raise InputError(f"--only {','.join(fleet_names)}: no such fleet; there are {', '.join(FLEET_NAMES)}")
        keys |= keys_of(chosen, settings)
    if not keys:
        raise InputError("no table has the rows that these situations need; give --data-dir or --tables")
    make_folder(files.out)
    with open_field_store(files.store) as store:
        jobs = missing_jobs(keys, store.records(), settings)
        with show_progress(len(jobs), quiet) as on_finish:
            run_trial(store, jobs, workers, lambda records: on_finish(_describe(records)))
        stored = store.records()
    records = select_records(stored, keys)
    failures = [f"{r.situation} on {r.table}, {r.method}: {r.error}" for r in stored if r.key in keys and r.error]
    summary, written = write_report(records, keys, files.out, split)
    return TrialOutcome(summary, written, failures)


def _chosen_fleets(names: Sequence[str], files: TrialFiles) -> list[tuple[Situation, FieldTable]]:
    """The fleets of these names, at the sizes that are named; fleets that no name can mean are not made."""
    rows = [name.split("/")[1] if name.count("/") else "*" for name in names]
    fleets = [fleet for fleet in FLEET_NAMES if any(fnmatch.fnmatchcase(fleet, row) for row in rows)]
    pairs = fleet_situations(load_fleets(files.data_dir, files.cache_dir, fleets))
    return [pair for pair in pairs if any(map(pair[0].is_named, names))]


def write_report(records: Sequence[CellRecord], keys: Keys, out: Path, split: str) -> tuple[str, list[str]]:
    """Write the files that the results are enough for. Returns the means of the groups, and the names of the files."""
    comparisons = compare(records, keys)
    means = group_means(comparisons)
    title = {"all": "All tables", "choosing": "Tables for choosing", "reporting": "Tables for reporting"}[split]
    criteria = "\n".join(criteria_lines(comparisons)) + "\n"
    parts = [f"# Field trial: {title.lower()}\n", means, criteria, to_markdown(comparisons)]
    texts = {"field.csv": to_csv(records), "table.md": "\n".join(parts)}
    for name, text in texts.items():
        write_bytes(out / name, text.encode())
    written = list(texts)
    if any(c.difference is not None for c in comparisons):
        draw_picture(out / "field.png", comparisons, title)
        written.append("field.png")
    return "\n".join(part for part in (means, criteria) if part.strip()), written


def _describe(records: Sequence[CellRecord]) -> str:
    """`apart/5+1 on glass: oddshot 0.812` for a finished cell."""
    first = records[0]
    value = first.error or f"{first.method} {first.value:.3f}"
    return f"{first.situation} on {first.table}: {value}"
