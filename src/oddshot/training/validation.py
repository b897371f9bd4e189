"""The AUC of a method on held-out episodes, and early stopping at its best weights."""

import copy

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows, Method
from oddshot.model.auc import exact_auc
from oddshot.training.cuda_graphs import CudaGraphFunction


@torch.no_grad()
def evaluate(method: Method, support: LabelledRows, query: LabelledRows) -> tuple[Tensor, Tensor]:
    """AUC of the queries of every task, [R, T] each: ties counted as errors (Eq. 8), and as one half."""
    method.eval()
    n_normal, scores = query.normal.shape[2], method.adapt(support)(query.joined())
    normal, anomaly = scores[..., :n_normal], scores[..., n_normal:]
    return exact_auc(normal, anomaly, ties=0.0), exact_auc(normal, anomaly)


class Validator:
    """The mean validation AUC of every replica, [R], on fixed episodes; on CUDA it is a CUDA graph.

    n_folds: if it is not 0, every replica gets the mean AUC of the first n_folds replicas, so that all of them have the
    same best epoch; only these are validated.
    """

    def __init__(self, method: Method, support: LabelledRows, query: LabelledRows, n_folds: int = 0) -> None:
        self.method, self.n_folds = method, n_folds
        self.validated = first_replicas(method, n_folds) if 0 < n_folds < method.replicas else method
        self.support, self.query = (
            LabelledRows(*(part[: self.validated.replicas] for part in rows)) for rows in (support, query)
        )
        on_cuda = support.normal.device.type == "cuda"
        self.mean_auc = CudaGraphFunction(self._mean_auc) if on_cuda else self._mean_auc

    def __call__(self) -> Tensor:
        """Validate the current weights. Returns [R]."""
        self.method.eval()
        if self.validated is not self.method:
            copy_replicas(self.method, self.validated)
        return self.mean_auc()

    def _mean_auc(self) -> Tensor:
        auc = evaluate(self.validated, self.support, self.query)[1].mean(-1)
        return auc.mean().repeat(self.method.replicas) if self.n_folds else auc


def first_replicas(method: Method, n: int) -> Method:
    """The first n replicas of a method as one of their own, with copies of their weights."""
    return select_replicas(method, torch.arange(n, device=method.device))


def select_replicas(method: Method, which: Tensor) -> Method:
    """Some replicas of a method as one of their own, with copies of their weights. which: [n], on its device."""
    selected = type(method)(method.n_attributes, method.config, len(which)).to(method.device)
    selected.is_being_trained = method.is_being_trained
    selected.load_state_dict({name: value[which] for name, value in method.state_dict().items()})
    return selected


def copy_replicas(method: Method, first: Method) -> None:
    """Copy the weights of the first replicas of a method to one that has only these."""
    first.load_state_dict({name: value[: first.replicas] for name, value in method.state_dict().items()})


class EarlyStopping:
    """The best weights of every replica so far.

    A replica stops if its validation AUC has not improved for `patience` epochs; its best weights are then final.
    """

    def __init__(self, method: Method, patience: int) -> None:
        self.method, self.patience = method, patience
        self.best_auc = torch.full((method.replicas,), -1.0, dtype=torch.float64)
        self.best_epoch = torch.zeros(method.replicas, dtype=torch.int64)
        self.stopped_at = torch.zeros(method.replicas, dtype=torch.int64)
        self.stopped = torch.zeros(method.replicas, dtype=torch.bool)
        self.trained = torch.arange(method.replicas)  # the replicas whose AUCs are given
        self.weights = copy.deepcopy(method.state_dict())
        self.epochs_since_best = 0

    @property
    def all_stopped(self) -> bool:
        """Whether every replica has stopped."""
        return bool(self.stopped.all())

    @property
    def running(self) -> Tensor:
        """Which of those that are trained have not stopped: indices among them."""
        return (~self.stopped[self.trained]).nonzero().squeeze(-1)

    def keep(self, which: Tensor) -> None:
        """From now on, only these of the replicas that are trained are given."""
        self.trained = self.trained[which]

    def update(self, epoch: int, auc: Tensor, method: Method) -> None:
        """Compare current weights with the best ones.

        auc: of the trained replicas, after this epoch. method: their weights.
        """
        auc_device, auc = auc.device, auc.cpu()
        is_better = (auc > self.best_auc[self.trained]) & ~self.stopped[self.trained]
        better = self.trained[is_better]
        self.best_auc[better], self.best_epoch[better] = auc[is_better], epoch
        self.stopped_at[~self.stopped] = epoch
        self.stopped |= epoch - self.best_epoch >= self.patience
        self.epochs_since_best = (
            self.patience if self.all_stopped else int((epoch - self.best_epoch[~self.stopped]).min())
        )
        if len(better) > 0:
            source, target = (places.to(auc_device) for places in (is_better.nonzero().squeeze(-1), better))
            for name, value in method.state_dict().items():
                self.weights[name].index_copy_(0, target, value.index_select(0, source))

    def restore_best(self) -> None:
        """Set the weights of every replica to its best ones."""
        self.method.load_state_dict(self.weights)
