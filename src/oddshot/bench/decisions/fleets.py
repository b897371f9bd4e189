"""Fleets on the grid: models trained with the defaults on the tasks of a fleet, measured on tasks kept apart."""

import sys
from pathlib import Path

from oddshot.bench.decisions.runner import GridTables
from oddshot.bench.field.fleets import FLEET_NAMES, load_fleets, train_model
from oddshot.data.files import write_bytes
from oddshot.errors import InputError
from oddshot.storage.model_file import to_bytes

MAX_TRAINING_TASKS = 10


def train_fleets(
    text: str, data_dir: str | None, cache_dir: str | None, folder: Path, quiet: bool = False
) -> list[GridTables]:
    """The targets of the first repetition of every fleet that is named, and its model, a file in the folder.

    text: names of fleets, separated by commas.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FLEET_NAMES:
            raise InputError(f"--fleet {name}: no such fleet; there are {', '.join(FLEET_NAMES)}")
    groups: list[GridTables] = []
    for fleet in load_fleets(data_dir, cache_dir, names):
        if not fleet.name.endswith(" (0)"):
            continue
        if not quiet:
            n = min(MAX_TRAINING_TASKS, len(fleet.training))
            print(f"training on {n} tasks of {fleet.source}", file=sys.stderr, flush=True)
        path = folder / f"{len(groups)}.safetensors"
        write_bytes(path, to_bytes(train_model(fleet.training[:MAX_TRAINING_TASKS])))
        groups.append(GridTables(fleet.targets, str(path)))
    if not groups:
        raise InputError(f"--fleet {text}: its data are not here; give --data-dir")
    return groups
