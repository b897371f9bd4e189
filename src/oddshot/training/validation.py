"""The AUC of a method on held-out episodes, and early stopping at its best weights."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.methods.contract import Method
from oddshot.score.auc import exact_auc
from oddshot.score.rows import LabelledRows
from oddshot.training.cuda_graphs import CudaGraphFunction
from oddshot.training.trainable import Trainable

FloatArray = NDArray[np.float64]


def evaluate(method: Method, support: LabelledRows, query: LabelledRows) -> tuple[FloatArray, FloatArray]:
    """AUC of the queries of every task, [T] each, in NumPy: ties counted as errors (Eq. 8), and as one half."""
    scores = method.adapt(support)(query.joined())
    normal, anomaly = scores[..., : query.n_normal], scores[..., query.n_normal :]
    return exact_auc(normal, anomaly, ties=0.0), exact_auc(normal, anomaly)


def evaluate_replicas(
    methods: Sequence[Method], support: LabelledRows, query: LabelledRows
) -> tuple[FloatArray, FloatArray]:
    """The same of several methods, each on its own episodes, tensors [R, T, n, M]: [R, T] each."""
    both = [evaluate(method, *of_replica((support, query), r)) for r, method in enumerate(methods)]
    errors, halves = (np.stack(parts) for parts in zip(*both, strict=True))
    return errors, halves


def of_replica(episodes: tuple[LabelledRows, LabelledRows], replica: int) -> tuple[LabelledRows, LabelledRows]:
    """Support and query of one replica in NumPy, [T, n, M], of tensors [R, T, n, M]."""
    support, query = (LabelledRows(*(part[replica].cpu().numpy() for part in rows)) for rows in episodes)
    return support, query


class Validator:
    """The mean validation AUC of every replica, [R], on fixed episodes; on CUDA it is a CUDA graph.

    n_folds: if it is not 0, every replica gets the mean AUC of the first n_folds replicas, so that all of them have the
    same best epoch; only these are validated.
    """

    def __init__(self, trainable: Trainable, support: LabelledRows, query: LabelledRows, n_folds: int = 0) -> None:
        self.trainable, self.n_folds = trainable, n_folds
        self.n_validated = n_folds if 0 < n_folds < trainable.replicas else trainable.replicas
        self.support, self.query = (
            LabelledRows(*(part[: self.n_validated] for part in rows)) for rows in (support, query)
        )
        on_cuda = support.normal.device.type == "cuda"
        self.mean_auc = CudaGraphFunction(self._mean_auc) if on_cuda else self._mean_auc

    def __call__(self) -> Tensor:
        """Validate the current weights. Returns [R]."""
        return self.mean_auc()

    @torch.no_grad()
    def _mean_auc(self) -> Tensor:
        trainable, n = self.trainable, self.query.n_normal
        first = {name: tensor[: self.n_validated] for name, tensor in trainable.tensors.items()}
        method = trainable.kind(trainable.n_attributes, trainable.config, first)
        scores = method.learned(self.support)(self.query.joined())
        auc = torch.as_tensor(exact_auc(scores[..., :n], scores[..., n:])).mean(-1)  # some methods score in NumPy
        return auc.mean().repeat(trainable.replicas) if self.n_folds else auc


class EarlyStopping:
    """The best weights of every replica so far.

    A replica stops if its validation AUC has not improved for `patience` epochs; its best weights are then final.
    """

    def __init__(self, trainable: Trainable, patience: int) -> None:
        self.trainable, self.patience = trainable, patience
        self.best_auc = torch.full((trainable.replicas,), -1.0, dtype=torch.float64)
        self.best_epoch = torch.zeros(trainable.replicas, dtype=torch.int64)
        self.stopped_at = torch.zeros(trainable.replicas, dtype=torch.int64)
        self.stopped = torch.zeros(trainable.replicas, dtype=torch.bool)
        self.trained = torch.arange(trainable.replicas)  # the replicas whose AUCs are given
        self.weights = trainable.state()
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

    def update(self, epoch: int, auc: Tensor, trainable: Trainable) -> None:
        """Compare current weights with the best ones.

        auc: of the trained replicas, after this epoch. trainable: their weights.
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
            for name, value in trainable.tensors.items():
                self.weights[name].index_copy_(0, target, value.detach().index_select(0, source))

    def restore_best(self) -> None:
        """Set the weights of every replica to its best ones."""
        self.trainable.load(self.weights)
