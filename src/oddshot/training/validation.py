"""How good the weights are on tasks set aside, and keeping the best."""

import copy

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows, Method
from oddshot.model.auc import exact_auc
from oddshot.training.stepping import Recording


@torch.no_grad()
def evaluate(method: Method, support: LabelledRows, query: LabelledRows) -> tuple[Tensor, Tensor]:
    """AUC of every task, [R, T] each: strict (Eq. 8), and with ties as a half."""
    method.eval()
    score = method.adapt(support)
    normal, anomaly = score(query.normal), score(query.anomaly)
    return exact_auc(normal, anomaly, ties=0.0), exact_auc(normal, anomaly)


class Validator:
    """The validation AUC of every replica, [R], on episodes that stay the same."""

    def __init__(self, method: Method, support: LabelledRows, query: LabelledRows) -> None:
        self.method, self.support, self.query = method, support, query
        on_cuda = support.normal.device.type == "cuda"
        self.recording = Recording(self._auc) if on_cuda else None

    def __call__(self) -> Tensor:
        """[R], at the weights as they are now."""
        self.method.eval()
        return self._auc() if self.recording is None else self.recording()

    def _auc(self) -> Tensor:
        return evaluate(self.method, self.support, self.query)[1].mean(-1)


class BestWeights:
    """The best weights of every replica so far; one that has waited too long keeps its own for good."""

    def __init__(self, method: Method, patience: int) -> None:
        self.method, self.patience = method, patience
        self.best_auc = torch.full((method.replicas,), -1.0, dtype=torch.float64)
        self.best_epoch = torch.zeros(method.replicas, dtype=torch.int64)
        self.stopped_at = torch.zeros(method.replicas, dtype=torch.int64)
        self.stopped = torch.zeros(method.replicas, dtype=torch.bool)
        self.weights = copy.deepcopy(method.state_dict())
        self.waited = 0

    @property
    def all_stopped(self) -> bool:
        """Whether every replica's patience is spent."""
        return bool(self.stopped.all())

    def update(self, epoch: int, auc: Tensor) -> None:
        """auc: [R], of the weights as they are now."""
        auc_device, auc = auc.device, auc.cpu()
        better = (auc > self.best_auc) & ~self.stopped
        self.best_auc = torch.where(better, auc, self.best_auc)
        self.best_epoch[better] = epoch
        self.stopped_at[~self.stopped] = epoch
        self.stopped |= epoch - self.best_epoch >= self.patience
        self.waited = int((epoch - self.best_epoch[~self.stopped]).min()) if not self.all_stopped else self.patience
        if better.any():
            chosen = better.nonzero().squeeze(-1).to(auc_device)
            for name, value in self.method.state_dict().items():
                self.weights[name].index_copy_(0, chosen, value.index_select(0, chosen))

    def restore(self) -> None:
        """Give every replica its best weights back."""
        self.method.load_state_dict(self.weights)
