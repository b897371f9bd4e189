"""Worker processes of the trials: one torch thread each, and none outlives the process that started it."""

import functools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import TypeVar

J = TypeVar("J")
R = TypeVar("R")


def run_in_workers(function: Callable[[J], R], jobs: Sequence[J], workers: int) -> Iterator[R]:
    """Yield what the function returns for every job as it finishes. Jobs are started in their order."""
    if workers == 1:
        _prepare_worker(0)
        yield from map(function, jobs)
        return
    from joblib import Parallel, delayed, parallel_config

    # Without memory maps, whose files would be left behind by a process that is killed.
    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1, max_nbytes=None):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs")
        yield from parallel(delayed(_run_in_worker)(function, job, os.getpid()) for job in jobs)


def _run_in_worker(function: Callable[[J], R], job: J, parent: int) -> R:
    _prepare_worker(parent)
    return function(job)


@functools.cache
def _prepare_worker(parent: int) -> None:
    """One torch thread; where there is a parent process, end with it."""
    import torch

    torch.set_num_threads(1)
    if parent:
        Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
