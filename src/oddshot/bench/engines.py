"""Where jobs run: in processes of this machine, or on a Ray cluster. Neither writes to the store."""

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import Any

from oddshot.bench.jobs import Job, failed_records, run_job
from oddshot.bench.record import RunRecord
from oddshot.data.sources.catalogue import Dataset
from oddshot.errors import InputError
from oddshot.scoring.cluster import connect, find_ray

# One thread a worker: results do not depend on how many workers there are, and they do not fight for cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
WORKER_DIED = "the process that ran it died; out of memory?"
MAX_RETRIES = 3


class LocalEngine:
    """Processes of this machine, one torch thread each; with one worker, this process itself."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InputError(f"{workers} workers; expected at least 1")
        self.workers = workers

    def device(self, requested: str) -> str:
        """CUDA where there is one."""
        from oddshot.model.device import resolve_device

        return str(resolve_device(requested))

    def run(self, jobs: Sequence[Job], datasets: Callable[[str], Dataset]) -> Iterator[list[RunRecord]]:
        """Every job's records, as they come."""
        if self.workers == 1:
            _one_torch_thread()
            yield from map(run_job, jobs)
            return
        queue = deque(jobs)
        while queue:
            suspects = yield from self._run_pool(queue)
            for job in suspects:
                yield _run_alone(job)

    def _run_pool(self, queue: deque[Job]) -> Generator[list[RunRecord], None, list[Job]]:
        """Until the queue is empty, or a worker has died: then returns the jobs of which one was its end."""
        pool = _pool(self.workers)
        flying: dict[Future[list[RunRecord]], Job] = {}
        try:
            while queue or flying:
                while queue and len(flying) < self.workers:
                    job = queue.popleft()
                    flying[pool.submit(run_job, job)] = job
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    job = flying.pop(future)
                    try:
                        records = future.result()
                    except BrokenProcessPool:
                        return [job, *flying.values()]
                    yield records
            return []
        finally:
            pool.shutdown(kill_workers=True)


class RayEngine:
    """Workers of a Ray cluster, or of one started here. Rows of datasets and plugins are sent along."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray, self._address, self._workers = find_ray(), address, workers

    def device(self, requested: str) -> str:
        """CUDA where the cluster has GPUs: this machine may have none."""
        connect(self._ray, self._address, self._workers)
        if requested == "auto":
            return "cuda" if self._ray.cluster_resources().get("GPU", 0) else "cpu"
        return requested

    def run(self, jobs: Sequence[Job], datasets: Callable[[str], Dataset]) -> Iterator[list[RunRecord]]:
        """Every job's records, as they come; those of a lost node are run again elsewhere."""
        connect(self._ray, self._address, self._workers)
        ray = self._ray
        rows = {name: ray.put(datasets(name)) for name in {job.dataset for job in jobs}}
        remote = ray.remote(_run_remotely)
        flying: dict[Any, Job] = {}
        for job in jobs:
            needs = {"num_cpus": 1, "num_gpus": int(job.device.startswith("cuda")), "max_retries": MAX_RETRIES}
            flying[remote.options(**needs).remote(job, rows[job.dataset])] = job
        try:
            while flying:
                (reference,), _ = ray.wait(list(flying), num_returns=1)
                job = flying.pop(reference)
                try:
                    records = ray.get(reference)
                except ray.exceptions.RayError as error:
                    reason = (str(error).splitlines() or [type(error).__name__])[0]
                    records = failed_records(job, f"{type(error).__name__}: {reason}")
                yield records
        finally:
            ray.shutdown()


def _run_remotely(job: Job, dataset: Dataset) -> list[RunRecord]:
    _one_torch_thread()
    return run_job(job, dataset)


def _run_alone(job: Job) -> list[RunRecord]:
    """In a process of its own: if that one dies too, this job is what kills it."""
    pool = _pool(1)
    try:
        records: list[RunRecord] = pool.submit(run_job, job).result()
        return records
    except BrokenProcessPool:
        return failed_records(job, WORKER_DIED)
    finally:
        pool.shutdown(kill_workers=True)


def _pool(workers: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(os.getpid(),), env=ONE_THREAD)


def _start_worker(parent: int) -> None:
    _one_torch_thread()
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Loky's workers outlive a bench that was killed with kill -9; these do not."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _one_torch_thread() -> None:
    import torch

    torch.set_num_threads(1)
