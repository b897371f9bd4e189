"""The universal model's file: read once, and written by its training."""

import dataclasses
from functools import cache
from pathlib import Path

from oddshot.data.files import write_bytes
from oddshot.methods.relative import Relative
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model, load_model, to_bytes
from oddshot.universal.decisions import learn_universal_decisions
from oddshot.universal.training import UniversalConfig

NAME = "universal"
PLACE = Path(__file__).with_name("universal.safetensors")


@cache
def load_universal() -> Model:
    """The model that ships, on the CPU; the same object every time."""
    return load_model(PLACE)


def write_shipped(method: Relative, config: UniversalConfig, path: Path) -> None:
    """Write a model without an encoding: it takes the one of each table that it meets."""
    facts = {"tasks": "synthetic", **dataclasses.asdict(config)}
    decisions = learn_universal_decisions(method.cpu().eval(), config.seed)
    write_bytes(path, to_bytes(Model(method, None, DEFAULT_THRESHOLD, facts, *decisions)))
