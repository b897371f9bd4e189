"""The settings of a run, and a hash of them that keeps runs with different settings apart."""

import dataclasses
import functools
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import oddshot
from oddshot.data.episodes.sampling import EpisodeSizes, SamplingRule
from oddshot.data.sources.catalogue import Dataset
from oddshot.errors import InputError
from oddshot.methods import find_method
from oddshot.training import TrainingConfig

PROTOCOL_VERSION = 1
"""To be increased whenever the same seed gives other tasks, splits or episodes: older runs are then run again."""


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """Settings that all runs of a grid share.

    n_training: number of training tasks in each split, None for the paper's number. overrides: (method, setting, value)
    for every setting that differs from the method's default.
    """

    protocol: SamplingRule = "published"
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    sizes: EpisodeSizes = dataclasses.field(default_factory=EpisodeSizes)
    n_training: int | None = None
    seed: int = 0
    overrides: tuple[tuple[str, str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.protocol not in ("published", "resampled"):
            raise InputError(f"protocol {self.protocol!r}; there are published and resampled")
        if self.n_training is not None and self.n_training < 1:
            raise InputError(f"{self.n_training} training tasks; expected at least 1")
        if self.seed < 0:
            raise InputError(f"seed {self.seed}; expected 0 or more")

    def method_config(self, method: str) -> Any:
        """Configuration of a method: its defaults with the overrides applied."""
        method_type = find_method(method)
        changes = {name: value for owner, name, value in self.overrides if owner == method_type.name}
        known = [field.name for field in dataclasses.fields(method_type.config_type)]
        for name in changes:
            if name not in known:
                raise InputError(f"method {method!r} has no setting {name!r}; it has {', '.join(known) or 'none'}")
        return method_type.config_type(**changes)


def describe_run(settings: RunSettings, method: str, fingerprint: str) -> str:
    """Everything that a run's results depend on besides dataset, split, method and protocol, as canonical JSON.

    fingerprint: of the dataset (`dataset_fingerprint`).
    """
    config = settings.method_config(method)
    described = {
        "method": dataclasses.asdict(config),
        # A method without parameters is not trained, so its results do not depend on the training settings.
        "training": dataclasses.asdict(settings.training) if is_learned(method, config) else None,
        "sizes": dataclasses.asdict(settings.sizes),
        "n_training": settings.n_training,
        "seed": settings.seed,
        "data": fingerprint,
        "protocol_version": PROTOCOL_VERSION,
    }
    return json.dumps(described, sort_keys=True, separators=(",", ":"))


def hash_config(config: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 hash of a configuration."""
    return hashlib.sha256(config.encode()).hexdigest()[:16]


def is_learned(method: str, config: Any) -> bool:
    """Whether the method has parameters to train."""
    return find_method(method)(2, config).is_learned


def dataset_fingerprint(dataset: Dataset) -> str:
    """Hash of the rows, labels and tasks, which tells apart datasets that share a name."""
    digest = hashlib.sha256(str(dataset.X.shape).encode())
    for array in (dataset.X, dataset.y, dataset.task):
        digest.update(b"-" if array is None else array.tobytes())
    return digest.hexdigest()[:16]


@functools.cache
def code_version() -> str:
    """Version of the package, followed by the commit when it runs from a checkout of its own repository."""
    package = Path(oddshot.__file__).parent
    try:
        # Fails where the package is installed inside the checkout of another project, whose commit is irrelevant.
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "describe", "--always", "--dirty", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return oddshot.__version__
    return f"{oddshot.__version__}+{commit}"


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
