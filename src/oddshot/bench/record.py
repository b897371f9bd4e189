"""One run and what came out of it: a row of the store."""

import dataclasses
import json
from typing import Any, NamedTuple


class RunKey(NamedTuple):
    """What makes a run the same run."""

    dataset: str
    split: int
    method: str
    protocol: str
    config_hash: str


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """A finished run.

    status: `done`, or `failed` with its reason and no figures. auc_strict: mean over the target tasks with ties as a
    loss (Eq. 8), auc_half: with ties as a half; task_aucs: the same for each target task, as JSON {"strict": [...],
    "half": [...]}. valid_auc: on validation tasks, at the best epoch. train_seconds: of this split; where `together`
    splits trained as replicas, the time they took divided by their number. adapt_seconds: for one target task.
    """

    dataset: str
    split: int
    method: str
    protocol: str
    config_hash: str
    config: str
    code_version: str
    seed: int
    status: str
    reason: str = ""
    auc_strict: float | None = None
    auc_half: float | None = None
    task_aucs: str = ""
    valid_auc: float | None = None
    train_seconds: float | None = None
    adapt_seconds: float | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    together: int | None = None
    device: str = ""
    finished_at: str = ""

    @property
    def key(self) -> RunKey:
        """The store holds at most one run of a key."""
        return RunKey(self.dataset, self.split, self.method, self.protocol, self.config_hash)

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration as a dictionary."""
        parsed: dict[str, Any] = json.loads(self.config)
        return parsed


COLUMNS = tuple(field.name for field in dataclasses.fields(RunRecord))
COLUMN_TYPES: dict[str, type] = {
    field.name: int if "int" in str(field.type) else float if "float" in str(field.type) else str
    for field in dataclasses.fields(RunRecord)
}
