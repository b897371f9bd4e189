"""The same methods and rows as torch tensors of several replicas, as they are trained."""

import torch

from oddshot.methods import find_method
from oddshot.score.rows import LabelledRows
from oddshot.training.trainable import Trainable
from tests.methods.samples import small_config


def random_tensors(seed, replicas=2, tasks=3, n_normal=5, n_anomaly=2, M=4):
    """[replicas, tasks, n, M]."""
    generator = torch.Generator().manual_seed(seed)

    def draw(n):
        return torch.randn(replicas, tasks, n, M, generator=generator, dtype=torch.float64)

    return LabelledRows(draw(n_normal), draw(n_anomaly) + 2)


def build_trainable(name, replicas=2, seed=0, M=4, **settings):
    """Replicas of a method in float64 with random weights and their centres fixed."""
    made = Trainable(find_method(name), M, small_config(name, **settings), replicas)
    made.initialise([torch.Generator().manual_seed(seed + r) for r in range(replicas)])
    convert(made, torch.float64)
    support = random_tensors(seed + 100, replicas, M=M)
    made.fix_center(support, support.normal)
    return made


def convert(trainable, dtype):
    """All its tensors to a type, in place."""
    for name, tensor in trainable.tensors.items():
        trainable.tensors[name] = tensor.detach().to(dtype).requires_grad_(tensor.requires_grad)


def to_type(rows, dtype):
    return LabelledRows(*(part.to(dtype) for part in rows))


def replica_of(rows, r):
    """One replica's rows in NumPy: [T, n, M]."""
    return LabelledRows(*(part[r].numpy() for part in rows))


def learned_names_of(trainable):
    return [name for name, weight in trainable.weights.items() if weight.is_learned]


def loss_of_weights(trainable, support, query, unlabelled=None):
    """The loss as a function of all learned weights, for finite differences."""
    names = learned_names_of(trainable)

    def loss(*values):
        tensors = {**trainable.tensors, **dict(zip(names, values, strict=True))}
        method = trainable.kind(trainable.n_attributes, trainable.config, tensors)
        return method.loss(support, query, unlabelled).mean(-1).sum()

    return loss
