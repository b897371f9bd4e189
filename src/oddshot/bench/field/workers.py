"""Worker processes of the trials: one torch thread each, and none outlives the process that started it."""

import functools
import os
import time
from threading import Thread


@functools.cache
def prepare_worker(parent: int) -> None:
    """One torch thread; where there is a parent process, end with it."""
    import torch

    torch.set_num_threads(1)
    if parent:
        Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
