"""CUDA graphs of functions of tensors: captured after a few calls, then replayed."""

import gc
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

N_WARM_UP_CALLS = 3  # before the capture, as CUDA graphs need


class CudaGraphFunction:
    """A function of tensors of fixed shapes on CUDA: called as it is at first, then captured and replayed as a graph.

    Small kernels cost more to launch than to run; a replay launches all of them at once. generator: the random
    generator that the function draws from. before_capture: called right before the capture. on_capture_failure: called
    if the function cannot be captured; it is then called as it is for good. pool: memory that it shares with other
    graphs, none of which runs at the same time.
    """

    def __init__(
        self,
        function: Callable[..., Tensor],
        generator: torch.Generator | None = None,
        before_capture: Callable[[], None] = lambda: None,
        on_capture_failure: Callable[[], None] = lambda: None,
        pool: Any = None,
    ) -> None:
        self.function, self.generator, self.pool = function, generator, pool
        self.before_capture, self.on_capture_failure = before_capture, on_capture_failure
        self.n_calls, self.capture_failed = 0, False
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.output = torch.empty(0)

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The function's value; the next call overwrites it."""
        self.n_calls += 1
        if self.n_calls <= N_WARM_UP_CALLS or self.capture_failed:
            return self._on_side_stream(inputs)
        if self.graph is None and not self._capture(inputs):
            return self._on_side_stream(inputs)
        for captured, new in zip(self.inputs, inputs, strict=True):
            if captured is not new:
                captured.copy_(new)
        if self.graph is not None:
            self.graph.replay()
        return self.output

    def _on_side_stream(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Call the function as it is, on another stream than the main one, as warm-up calls must be."""
        stream, main = side_stream(torch.cuda.current_device()), torch.cuda.current_stream()
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            output = self.function(*inputs)
        main.wait_stream(stream)
        return output

    def _capture(self, inputs: tuple[Tensor, ...]) -> bool:
        """Capture the function; False if it calls one of the few CUDA functions that cannot be captured."""
        self.inputs = tuple(tensor.clone() for tensor in inputs)
        graph = torch.cuda.CUDAGraph()
        if self.generator is not None:
            graph.register_generator_state(self.generator)
        self.before_capture()
        gc.collect()
        gc.disable()  # memory that is freed during a capture breaks it
        try:
            # Only calls of this thread can break the capture, not those that other threads make meanwhile.
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                self.output = self.function(*self.inputs)
        except RuntimeError as error:
            self.capture_failed = True
            self.on_capture_failure()
            warnings.warn(f"a step runs without a CUDA graph: {str(error).splitlines()[0]}", stacklevel=2)
            return False
        finally:
            gc.enable()
        self.graph = graph
        return True


class CudaGraphsByShape:
    """A function of tensors on CUDA, with one CUDA graph for each combination of their shapes.

    The arguments are those of `CudaGraphFunction`. Once a capture has failed, no other one is attempted. The graphs
    share their memory: a call may overwrite the value of any earlier one.
    """

    def __init__(
        self,
        function: Callable[..., Tensor],
        generator: torch.Generator | None = None,
        before_capture: Callable[[], None] = lambda: None,
        on_capture_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self.arguments = (function, generator, before_capture, on_capture_failure)
        self.by_shape: dict[tuple[torch.Size, ...], CudaGraphFunction] = {}
        self.pool: Any = None  # a handle of torch.cuda

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The function's value; the next call overwrites it."""
        key = tuple(tensor.shape for tensor in inputs)
        if key not in self.by_shape:
            self.pool = self.pool or torch.cuda.graph_pool_handle()
            self.by_shape[key] = CudaGraphFunction(*self.arguments, self.pool)
        function = self.by_shape[key]
        function.capture_failed = any(other.capture_failed for other in self.by_shape.values())
        return function(*inputs)


@cache
def side_stream(device_index: int) -> torch.cuda.Stream:
    """A stream for calls that are not captured, always the same one: torch keeps freed memory for each stream."""
    return torch.cuda.Stream(device_index)


def replacement_generator(generator: torch.Generator) -> torch.Generator:
    """A new generator with another seed: one that took part in a failed capture cannot be drawn from any more."""
    return torch.Generator(generator.device).manual_seed(generator.initial_seed() + 1)
