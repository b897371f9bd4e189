"""Engines run jobs in processes on this machine or on a Ray cluster. They do not write to the store."""

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import Any

import torch
from joblib.externals.loky import ProcessPoolExecutor

from oddshot.bench.grid import Engine
from oddshot.bench.jobs import Job, failed_records, run_job
from oddshot.bench.record import RunRecord
from oddshot.data.sources.catalogue import Dataset
from oddshot.errors import InputError
from oddshot.scoring.cluster import connect, import_ray
from oddshot.training.device import resolve_device

# One thread for each worker: results do not depend on the number of workers, and the workers do not compete for cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
WORKER_DIED = "the process that ran it died; out of memory?"
MAX_RETRIES = 3  # of a job whose Ray node is lost


def make_engine(name: str, address: str | None = None, workers: int | None = None, device: str = "auto") -> Engine:
    """The engine `local` or `ray`. workers: None for one per core, or one where a GPU trains all splits in a batch."""
    if name == "local":
        if address is not None:
            raise InputError("--address is for --engine ray")
        default = 1 if resolve_device(device).type == "cuda" else os.cpu_count() or 1
        return LocalEngine(workers or default)
    if name == "ray":
        return RayEngine(address, workers)
    raise InputError(f"engine {name!r}; there are local and ray")


class LocalEngine:
    """Runs jobs in worker processes with one torch thread each, or in this process where there is one worker."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InputError(f"{workers} workers; expected at least 1")
        self.workers = workers

    def device(self, requested: str) -> str:
        """The requested device; `auto` is CUDA where this machine has a GPU."""
        return str(resolve_device(requested))

    def run(self, jobs: Sequence[Job], load_dataset: Callable[[str], Dataset]) -> Iterator[list[RunRecord]]:
        """Yield the records of every job as it finishes. The workers load datasets themselves."""
        if self.workers == 1:
            torch.set_num_threads(1)
            yield from map(run_job, jobs)
            return
        queue = deque(jobs)
        while queue:
            suspects = yield from self._run_pool(queue)
            for job in suspects:
                yield _run_alone(job)

    def _run_pool(self, queue: deque[Job]) -> Generator[list[RunRecord], None, list[Job]]:
        """Run jobs until the queue is empty or a worker dies; then return the jobs that may have killed it."""
        pool = _make_pool(self.workers)
        running: dict[Future[list[RunRecord]], Job] = {}
        try:
            while queue or running:
                while queue and len(running) < self.workers:
                    job = queue.popleft()
                    running[pool.submit(run_job, job)] = job
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    try:
                        records = future.result()
                    except BrokenProcessPool:
                        return [job, *running.values()]
                    yield records
            return []
        finally:
            pool.shutdown(kill_workers=True)


class RayEngine:
    """Runs jobs on a Ray cluster, which is started on this machine where no address is given.

    Plugins and the rows of the datasets are sent with the jobs.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray, self._address, self._workers = import_ray(), address, workers
        self._connected_here = False

    def device(self, requested: str) -> str:
        """The requested device; `auto` is CUDA where the cluster has GPUs, whatever this machine has."""
        self._connect()
        if requested == "auto":
            return "cuda" if self._ray.cluster_resources().get("GPU", 0) else "cpu"
        return requested

    def run(self, jobs: Sequence[Job], load_dataset: Callable[[str], Dataset]) -> Iterator[list[RunRecord]]:
        """Yield the records of every job as it finishes. Jobs of a lost node are run again on another."""
        self._connect()
        ray = self._ray
        datasets = {name: ray.put(load_dataset(name)) for name in {job.dataset for job in jobs}}
        remote = ray.remote(_run_remotely)
        running: dict[Any, Job] = {}
        for job in jobs:
            needs = {"num_cpus": 1, "num_gpus": int(job.device.startswith("cuda")), "max_retries": MAX_RETRIES}
            running[remote.options(**needs).remote(job, datasets[job.dataset])] = job
        try:
            while running:
                (reference,), _ = ray.wait(list(running), num_returns=1)
                job = running.pop(reference)
                try:
                    records = ray.get(reference)
                except ray.exceptions.RayError as error:
                    reason = (str(error).splitlines() or [type(error).__name__])[0]
                    records = failed_records(job, f"{type(error).__name__}: {reason}")
                yield records
        finally:
            if self._connected_here:
                ray.shutdown()

    def _connect(self) -> None:
        self._connected_here |= connect(self._ray, self._address, self._workers)


def _run_remotely(job: Job, dataset: Dataset) -> list[RunRecord]:
    torch.set_num_threads(1)
    return run_job(job, dataset)


def _run_alone(job: Job) -> list[RunRecord]:
    """Run one job in a process of its own, which shows whether it is the job that kills its process."""
    pool = _make_pool(1)
    try:
        records: list[RunRecord] = pool.submit(run_job, job).result()
        return records
    except BrokenProcessPool:
        return failed_records(job, WORKER_DIED)
    finally:
        pool.shutdown(kill_workers=True)


def _make_pool(workers: int) -> Any:
    return ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(os.getpid(),), env=ONE_THREAD)


def _start_worker(parent: int) -> None:
    torch.set_num_threads(1)
    Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """End this worker when its parent has ended: loky's workers would outlive a parent that was ended by SIGKILL."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
