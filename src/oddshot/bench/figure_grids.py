"""What `bench figures --run` runs: the grids behind the curves, and the trained model behind Figure 2."""

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oddshot.bench import paper
from oddshot.bench.curves import SWEEPS, Sweep
from oddshot.bench.figures import SPACES_DATASET
from oddshot.bench.grid import Grid
from oddshot.bench.jobs import TARGET_STREAM
from oddshot.bench.protocol import build_split, split_seed
from oddshot.bench.settings import dataset_fingerprint, describe_run, hash_config
from oddshot.bench.spaces import TaskSpaces, compute_task_spaces, draw_task_spaces
from oddshot.data.files import write_bytes
from oddshot.errors import InputError
from oddshot.methods.eigen import Eigen
from oddshot.model.device import resolve_device
from oddshot.training import train, validation_episodes

FIELDS = tuple(field.name for field in dataclasses.fields(TaskSpaces))


def sweep_grids(sweep: Sweep, grid: Grid, methods: Sequence[str]) -> list[Grid]:
    """A grid a value of the sweep: the given one with that setting changed."""
    grids = []
    for value in sweep.values:
        names = tuple(dict.fromkeys(sweep.methods_at(value, methods).values()))
        overrides = tuple(change for change in grid.settings.overrides if change[0] in names)
        settings = dataclasses.replace(grid.settings, overrides=overrides)
        ((name, changed),) = sweep.where(value).items()
        if name.startswith("sizes."):
            sizes = dataclasses.replace(settings.sizes, **{name.removeprefix("sizes."): changed})
            settings = dataclasses.replace(settings, sizes=sizes)
        else:
            settings = dataclasses.replace(settings, **{name: changed})
        grids.append(dataclasses.replace(grid, methods=names, settings=settings))
    return grids


def grids_for_figure(name: str, grid: Grid, methods: Sequence[str] | None) -> list[Grid]:
    """The grids whose runs a figure is made from. methods: None for those that it usually has."""
    if name in SWEEPS:
        return sweep_grids(SWEEPS[name], grid, methods or paper.FIGURE3_METHODS)
    if name == "ranks":
        return [dataclasses.replace(grid, methods=tuple(methods or paper.TABLE1_METHODS))]
    return []


def draw_figure2(path: Path, grid: Grid, device: str | None) -> dict[str, Any]:
    """Figure 2, from what is kept beside it or from a model trained now. device: where; None to train none."""
    kept = path.with_suffix(".npz")
    spaces = load_saved_spaces(kept, grid, SPACES_DATASET)
    if spaces is None:
        if device is None:
            raise InputError("it needs a trained model; add --run")
        spaces = train_spaces(kept, grid, SPACES_DATASET, str(resolve_device(device)))
    title = f"A target task of WDBC in three spaces ({grid.settings.protocol})"
    draw_task_spaces(spaces, path, title)
    return {"n_rows": len(spaces.y)}


def load_saved_spaces(path: Path, grid: Grid, dataset: str) -> TaskSpaces | None:
    """What an earlier `train_spaces` left at this path under the same settings."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if str(file["key"]) == _key(grid, dataset):
                return TaskSpaces(*(file[name] for name in FIELDS))
    except (OSError, ValueError, KeyError, EOFError):
        pass
    return None


def train_spaces(path: Path, grid: Grid, dataset: str, device: str) -> TaskSpaces:
    """Train the proposed method on the first split, see its first target task in three spaces, and keep that."""
    settings, data = grid.settings, grid.source.load(dataset)
    parts, seed = build_split(data, 0, settings), split_seed(data.name, 0, settings.seed)
    method, where = Eigen(data.X.shape[1], settings.method_config("eigen")), torch.device(device)
    train(
        method, [parts.training], [parts.validation], [seed],
        config=settings.training, sizes=settings.sizes, rule=settings.protocol, device=where,
    )  # fmt: skip
    streams = [np.random.SeedSequence([seed, TARGET_STREAM])]
    support, query = validation_episodes([parts.target], settings.sizes, settings.protocol, where, streams, 1)
    spaces = compute_task_spaces(method, support, query)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, key=np.array(_key(grid, dataset)), **{name: getattr(spaces, name) for name in FIELDS})
    write_bytes(path, buffer.getvalue())
    return spaces


def _key(grid: Grid, dataset: str) -> str:
    rows = dataset_fingerprint(grid.source.load(dataset))
    return hash_config(grid.settings.protocol + describe_run(grid.settings, "eigen", rows))
