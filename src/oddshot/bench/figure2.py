"""The paper's Figure 2 for `oddshot bench figures`: a target task of WDBC, from a model that is trained for it.

The drawn points are saved beside the figure, so that drawing it again does not train again.
"""

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oddshot.bench.evaluation import TARGET_STREAM
from oddshot.bench.grid import Grid
from oddshot.bench.protocol import build_split, split_seed
from oddshot.bench.settings import dataset_fingerprint, describe_run, hash_config
from oddshot.bench.spaces import TaskSpaces, compute_task_spaces, draw_task_spaces
from oddshot.data.files import write_bytes
from oddshot.data.sources.catalogue import Dataset
from oddshot.errors import InputError
from oddshot.methods.eigen import Eigen
from oddshot.training import TrainingData, train, validation_episodes
from oddshot.training.device import resolve_device
from oddshot.training.trainable import Trainable
from oddshot.training.validation import of_replica

FIGURE2_DATASET = "wdbc"
FIELDS = tuple(field.name for field in dataclasses.fields(TaskSpaces))


def draw_figure2(path: Path, grid: Grid, device: str | None) -> dict[str, Any]:
    """Draw Figure 2 from saved points, or else train a model first.

    grid: its settings and its source of datasets are used. device: of the training; None to train nothing.
    """
    saved = path.with_suffix(".npz")
    spaces = load_saved_spaces(saved, grid, FIGURE2_DATASET)
    if spaces is None:
        if device is None:
            raise InputError("it needs a trained model; add --run")
        spaces = train_spaces(saved, grid, FIGURE2_DATASET, str(resolve_device(device)))
    draw_task_spaces(spaces, path, f"A target task of WDBC in three spaces ({grid.settings.protocol})")
    return {"n_rows": len(spaces.y)}


def load_saved_spaces(path: Path, grid: Grid, dataset: str) -> TaskSpaces | None:
    """The points that `train_spaces` saved with the same settings and rows; None where there are none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if str(file["key"]) == _settings_hash(grid, grid.source.load(dataset)):
                return TaskSpaces(*(file[name] for name in FIELDS))
    except (OSError, ValueError, KeyError, EOFError):
        pass
    return None


def train_spaces(path: Path, grid: Grid, dataset: str, device: str) -> TaskSpaces:
    """Train the proposed method on split 0, and compute and save the three spaces of its first target task."""
    settings, rows = grid.settings, grid.source.load(dataset)
    split, seed = build_split(rows, 0, settings), split_seed(rows.name, 0, settings.seed)
    trainable = Trainable(Eigen, rows.X.shape[1], settings.method_config("eigen"))
    data = TrainingData([split.training], [split.validation], settings.sizes, settings.protocol)
    train(trainable, data, [seed], config=settings.training, device=device)
    streams = [np.random.SeedSequence([seed, TARGET_STREAM])]
    drawn = validation_episodes([split.target], settings.sizes, settings.protocol, torch.device("cpu"), streams, 1)
    spaces = compute_task_spaces(trainable.trained(), *of_replica(drawn, 0))
    buffer = io.BytesIO()
    arrays = {name: getattr(spaces, name) for name in FIELDS}
    np.savez_compressed(buffer, key=np.array(_settings_hash(grid, rows)), **arrays)
    write_bytes(path, buffer.getvalue())
    return spaces


def _settings_hash(grid: Grid, dataset: Dataset) -> str:
    config = describe_run(grid.settings, "eigen", dataset_fingerprint(dataset))
    return hash_config(grid.settings.protocol + config)
