"""What a run depends on, and one hash of it: runs with other settings never mix."""

import dataclasses
import functools
import hashlib
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oddshot
from oddshot.data.episodes.sampling import EpisodeSizes, Rule
from oddshot.errors import InputError
from oddshot.methods import find_method
from oddshot.training import TrainingConfig

if TYPE_CHECKING:
    from oddshot.data.sources.catalogue import Dataset

PROTOCOL_VERSION = 1
"""Counts up whenever tasks, splits or episodes come out otherwise for the same seed: old runs are then run again."""


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """What all runs of one grid have in common.

    n_training: training tasks a split, None for as many as the paper has. overrides: (method, setting, value) that
    differ from a method's own defaults.
    """

    protocol: Rule = "published"
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
        """The method's configuration, with the overrides that are its own."""
        kind = find_method(method)
        changes = {name: value for owner, name, value in self.overrides if owner == kind.name}
        known = [field.name for field in dataclasses.fields(kind.config_type)]
        for name in changes:
            if name not in known:
                raise InputError(f"method {method!r} has no setting {name!r}; it has {', '.join(known) or 'none'}")
        return kind.config_type(**changes)


def describe_run(settings: RunSettings, method: str, fingerprint: str) -> str:
    """All that a run's figures depend on besides dataset, split, method and protocol, as canonical JSON."""
    config = settings.method_config(method)
    described = {
        "method": dataclasses.asdict(config),
        # The same run whatever the epochs, where nothing is trained.
        "training": dataclasses.asdict(settings.training) if is_learned(method, config) else None,
        "sizes": dataclasses.asdict(settings.sizes),
        "n_training": settings.n_training,
        "seed": settings.seed,
        "data": fingerprint,
        "protocol_version": PROTOCOL_VERSION,
    }
    return json.dumps(described, sort_keys=True, separators=(",", ":"))


def hash_config(config: str) -> str:
    """16 hexadecimal digits."""
    return hashlib.sha256(config.encode()).hexdigest()[:16]


def is_learned(method: str, config: Any) -> bool:
    """Whether there is anything to train."""
    return next(find_method(method)(2, config).parameters(), None) is not None


def dataset_fingerprint(dataset: "Dataset") -> str:
    """Hash of the rows, labels and tasks: the same name with other rows is another dataset."""
    digest = hashlib.sha256(str(dataset.X.shape).encode())
    for array in (dataset.X, dataset.y, dataset.task):
        digest.update(b"-" if array is None else array.tobytes())
    return digest.hexdigest()[:16]


@functools.cache
def code_version() -> str:
    """The package's version, and the commit where it runs from a checkout of its own repository."""
    package = Path(oddshot.__file__).parent
    try:
        # Installed into somebody else's checkout, that one's commit would say nothing.
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "describe", "--always", "--dirty", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return oddshot.__version__
    return f"{oddshot.__version__}+{commit}"


def parse_override(text: str) -> tuple[str, str, Any]:
    """`method.setting=value` in three parts."""
    name, equals, value = text.partition("=")
    method, dot, setting = name.partition(".")
    if not (equals and dot and method and setting):
        raise InputError(f"--set {text}: expected METHOD.SETTING=VALUE, as in eigen.units=128")
    try:
        return method.lower(), setting, json.loads(value)
    except json.JSONDecodeError:
        return method.lower(), setting, value


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
