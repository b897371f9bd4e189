"""One optimisation step over a batch of episodes; on CUDA it is recorded once and replayed."""

import gc
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows, Method
from oddshot.training.ranks import Ranks

WARM_UP = 3  # steps before a recording, as CUDA graphs need


class Stepper:
    """Loss, gradients and Adam for all replicas at once (Alg. 1, lines 7-9).

    noise: where dropout draws from. ranks: processes that share the tasks of each batch.
    """

    def __init__(self, method: Method, learning_rate: float, noise: torch.Generator, ranks: Ranks) -> None:
        self.method, self.noise, self.ranks = method, noise, ranks
        on_cuda = noise.device.type == "cuda"
        parameters = list(method.parameters())
        self.optimizer = torch.optim.Adam(parameters or [torch.empty(0)], lr=learning_rate, capturable=on_cuda)
        self.steps = 0
        self.run: Callable[..., Tensor] = self._step
        if ranks.size > 1:
            self.run = self._shared_step
        elif on_cuda:
            self.run = Recordings(self._step, noise, self._forget_gradients, self._renew_noise)

    def __call__(self, support: LabelledRows, query: LabelledRows) -> Tensor:
        """One step. Returns the loss before it, [R]."""
        support, query, unlabelled = self.method.augment_episode(support, query, self.steps)
        self.steps += 1
        return self.run(*support, *query, *([] if unlabelled is None else [unlabelled]))

    def _step(self, *inputs: Tensor) -> Tensor:
        loss = self._loss(inputs)
        self._forget_gradients()
        loss.sum().backward()  # a sum: each replica's gradient is the one it would have alone
        self.optimizer.step()
        return loss.detach()

    def _shared_step(self, *inputs: Tensor) -> Tensor:
        """The same step, up to rounding, with this process's part of the tasks; the gradients are added up."""
        n_tasks = inputs[0].shape[1]
        if n_tasks < self.ranks.size:
            return self._step(*inputs)  # nothing to share: all do the same
        first, end = self.ranks.part(n_tasks)
        own = [rows[:, first:end] for rows in inputs]
        self._draw_noise_around(first, n_tasks - end)
        loss = self._loss(own) * ((end - first) / n_tasks)  # it is a mean over tasks
        self._draw_noise_around(0, 0)
        self._forget_gradients()
        loss.sum().backward()
        # What a step does not use has no gradient in any process, and Adam leaves it alone.
        gradients = [parameter.grad for parameter in self.method.parameters() if parameter.grad is not None]
        self.ranks.add_up([loss, *gradients])
        self.optimizer.step()
        return loss.detach()

    def _loss(self, inputs: Sequence[Tensor]) -> Tensor:
        unlabelled = inputs[4] if len(inputs) > 4 else None
        return self.method.loss(LabelledRows(*inputs[:2]), LabelledRows(*inputs[2:4]), unlabelled)

    def _draw_noise_around(self, before: int, after: int) -> None:
        for network in self.method.networks:
            network.around = (before, after)

    def _forget_gradients(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)

    def _renew_noise(self) -> None:
        self.noise = renewed(self.noise)
        self.method.set_dropout_noise(self.noise)


def renewed(noise: torch.Generator) -> torch.Generator:
    """Another one: a generator that was part of a broken recording cannot be drawn from any more."""
    return torch.Generator(noise.device).manual_seed(noise.initial_seed() + 1)


class Recordings:
    """A function of tensors, recorded once for each combination of their shapes."""

    def __init__(
        self,
        function: Callable[..., Tensor],
        noise: torch.Generator | None = None,
        before: Callable[[], None] = lambda: None,
        on_refusal: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = (function, noise, before, on_refusal)
        self.by_shape: dict[tuple[torch.Size, ...], Recording] = {}

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The function's value; a later call with the same shapes overwrites it."""
        key = tuple(tensor.shape for tensor in inputs)
        if key not in self.by_shape:
            recording = Recording(*self.settings)
            recording.refused = any(other.refused for other in self.by_shape.values())
            self.by_shape[key] = recording
        return self.by_shape[key](*inputs)


class Recording:
    """A function of tensors on CUDA: run as it is at first, then recorded as a graph and replayed.

    Small kernels cost more to launch than to run; a replay launches all of them at once.
    """

    def __init__(
        self,
        function: Callable[..., Tensor],
        noise: torch.Generator | None = None,
        before: Callable[[], None] = lambda: None,
        on_refusal: Callable[[], None] = lambda: None,
    ) -> None:
        self.function, self.before, self.noise, self.on_refusal = function, before, noise, on_refusal
        self.calls, self.refused = 0, False
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.output = torch.empty(0)

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The function's value; a later call overwrites it."""
        self.calls += 1
        if self.calls <= WARM_UP or self.refused:
            return self._on_side_stream(inputs)
        if self.graph is None and not self._record(inputs):
            return self._on_side_stream(inputs)
        for kept, new in zip(self.inputs, inputs, strict=True):
            if kept is not new:
                kept.copy_(new)
        if self.graph is not None:
            self.graph.replay()
        return self.output

    def _on_side_stream(self, inputs: tuple[Tensor, ...]) -> Tensor:
        stream, main = torch.cuda.Stream(), torch.cuda.current_stream()
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            output = self.function(*inputs)
        main.wait_stream(stream)
        return output

    def _record(self, inputs: tuple[Tensor, ...]) -> bool:
        """Whether it worked: a few CUDA functions refuse to be recorded, and all still run as they are."""
        self.inputs = tuple(tensor.clone() for tensor in inputs)
        graph = torch.cuda.CUDAGraph()
        if self.noise is not None:
            graph.register_generator_state(self.noise)
        self.before()  # gradients that stand outside the graph must not be added to
        gc.collect()
        gc.disable()  # memory that is freed while recording breaks the recording
        try:
            # Only this thread's calls count: what other threads ask of CUDA meanwhile does not break the recording.
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self.output = self.function(*self.inputs)
        except RuntimeError as error:
            self.refused = True
            self.on_refusal()
            warnings.warn(f"a step runs without a CUDA graph: {str(error).splitlines()[0]}", stacklevel=2)
            return False
        finally:
            gc.enable()
        self.graph = graph
        return True
