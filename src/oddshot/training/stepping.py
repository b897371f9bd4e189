"""One optimisation step over a batch of episodes."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from oddshot.score.rows import LabelledRows
from oddshot.training.cuda_graphs import CudaGraphsByShape, replacement_generator
from oddshot.training.ranks import Ranks
from oddshot.training.trainable import Trainable


class Stepper:
    """Loss, gradients and Adam for all replicas at once (Alg. 1, lines 7-9); on CUDA, steps are CUDA graphs.

    dropout_generator: the random generator of dropout. ranks: the processes that share the tasks of each batch.
    """

    def __init__(
        self, trainable: Trainable, learning_rate: float, dropout_generator: torch.Generator, ranks: Ranks
    ) -> None:
        self.trainable, self.learning_rate, self.ranks = trainable, learning_rate, ranks
        self.dropout_generator = dropout_generator
        on_cuda = dropout_generator.device.type == "cuda"
        parameters = trainable.parameters
        self.optimizer = torch.optim.Adam(parameters or [torch.empty(0)], lr=learning_rate, capturable=on_cuda)
        self.n_steps = 0
        self.run: Callable[..., Tensor] = self._step
        if ranks.size > 1:
            self.run = self._sharded_step
        elif on_cuda:
            # Gradients from before the capture are cleared: the graph would add to them in every replay.
            self.run = CudaGraphsByShape(
                self._step, dropout_generator, self._clear_gradients, self._replace_dropout_generator
            )

    def __call__(self, support: LabelledRows, query: LabelledRows) -> Tensor:
        """Take one step. Returns the loss before it, [R]."""
        support, query, unlabelled = self.trainable.method.vary_episode(support, query, self.n_steps)
        self.n_steps += 1
        return self.run(*support, *query, *([] if unlabelled is None else [unlabelled]))

    def subset(self, trainable: Trainable, which: Tensor) -> "Stepper":
        """The steps of some replicas, which go on where these are. trainable: their weights. which: [n], places."""
        trainable.noise = self.dropout_generator
        chosen = Stepper(trainable, self.learning_rate, self.dropout_generator, self.ranks)
        chosen.n_steps = self.n_steps
        for old, new in zip(self.trainable.parameters, trainable.parameters, strict=True):
            moments = self.optimizer.state.get(old, {})  # none of a parameter that no step has used yet
            chosen.optimizer.state[new].update(
                {name: value.clone() if name == "step" else value[which] for name, value in moments.items()}
            )
        return chosen

    def _step(self, *inputs: Tensor) -> Tensor:
        loss = self._loss(inputs)
        self._clear_gradients()
        loss.sum().backward()  # a sum: the gradient of each replica is that of training it alone
        self.optimizer.step()
        return loss.detach()

    def _sharded_step(self, *inputs: Tensor) -> Tensor:
        """The same step, up to rounding, on this process's shard of the tasks; gradients are summed over processes."""
        n_tasks = inputs[0].shape[1]
        if n_tasks < self.ranks.size:
            return self._step(*inputs)  # too few tasks to share: every process does the whole step
        first, end = self.ranks.shard(n_tasks)
        own = [rows[:, first:end] for rows in inputs]
        self.trainable.shard_margins = (first, n_tasks - end)
        loss = self._loss(own) * ((end - first) / n_tasks)  # the loss is a mean over tasks
        self.trainable.shard_margins = (0, 0)
        self._clear_gradients()
        loss.sum().backward()
        # A parameter that the step does not use has no gradient in any process, and Adam does not change it.
        gradients = [parameter.grad for parameter in self.trainable.parameters if parameter.grad is not None]
        self.ranks.all_reduce_sum([loss, *gradients])
        self.optimizer.step()
        return loss.detach()

    def _loss(self, inputs: Sequence[Tensor]) -> Tensor:
        unlabelled = inputs[4] if len(inputs) > 4 else None
        return self.trainable.loss(LabelledRows(*inputs[:2]), LabelledRows(*inputs[2:4]), unlabelled)

    def _clear_gradients(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)

    def _replace_dropout_generator(self) -> None:
        self.dropout_generator = replacement_generator(self.dropout_generator)
        self.trainable.noise = self.dropout_generator
