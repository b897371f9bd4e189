"""One finished run of the evaluation: a row of the run store and of an exported CSV file."""

import dataclasses
import json
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

AucKind = Literal["strict", "half"]  # a tie counts as a loss (Eq. 8) or as a half


class RunKey(NamedTuple):
    """Identity of a run: two runs with the same key would give the same results."""

    dataset: str
    split: int
    method: str
    protocol: str
    config_hash: str


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """A finished run and its results.

    status: `done`, or `failed` with a reason and without results. auc_strict: mean AUC over the target tasks where a
    tie counts as a loss (Eq. 8); auc_half: where a tie counts as a half. task_aucs: both for every target task, as JSON
    {"strict": [...], "half": [...]}. valid_auc: mean AUC over the validation tasks at the best epoch. together: number
    of splits that were trained in one batch of replicas. train_seconds: training time of this split, which is the time
    of the batch divided by `together`. adapt_seconds: time to adapt to one target task.
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
        """Identity of the run; a store holds at most one run for each key."""
        return RunKey(self.dataset, self.split, self.method, self.protocol, self.config_hash)

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration as a dictionary."""
        parsed: dict[str, Any] = json.loads(self.config)
        return parsed

    def auc(self, kind: AucKind) -> float | None:
        """Mean AUC over the target tasks, None for a failed run."""
        return self.auc_strict if kind == "strict" else self.auc_half


COLUMNS = tuple(field.name for field in dataclasses.fields(RunRecord))
COLUMN_TYPES: dict[str, type] = {  # int, float or str; None is allowed beside int and float
    name: (get_args(hint) or (hint,))[0] for name, hint in get_type_hints(RunRecord).items() if name in COLUMNS
}
