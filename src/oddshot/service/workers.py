"""The service as one process, or as several worker processes that share an address and a store."""

import multiprocessing
import multiprocessing.connection
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from fastapi import FastAPI
from threadpoolctl import threadpool_limits

from oddshot.data.signals import ending_signals
from oddshot.errors import InputError
from oddshot.service.limits import ServiceLimits
from oddshot.service.metrics import MetricsFolder
from oddshot.service.routes import build_service
from oddshot.service.store import DetectorStore
from oddshot.universal.shipped import find_model
from oddshot.web.address import listen, url_of
from oddshot.web.logs import LOGGER, log_to_stderr
from oddshot.web.serving import MAX_SHUTDOWN_SECONDS, make_server, serve

_SPAWN = multiprocessing.get_context("spawn")  # fork would copy locks held by other threads


@dataclass(frozen=True)
class WorkerConfig:
    """What a worker needs to build the application in its own process."""

    model: Path | None  # None for the model that ships
    host: str
    token: str | None
    limits: ServiceLimits
    store: Path | None

    def build(self, metrics_folder: MetricsFolder | None = None) -> FastAPI:
        """Prepare this process and build the application. metrics_folder: shared with other workers."""
        threadpool_limits(1)  # requests run in parallel, not the operations of one request
        warnings.simplefilter("ignore")  # warnings quote data, which must not reach the log; clients get them as notes
        model = find_model(self.model)
        if model.encoding is not None and model.encoding.intervals:
            raise InputError(
                f"column {model.encoding.intervals[0]!r} of the model is the time since the row before; requests have "
                "no such row, so that the model is not served"
            )
        store = None if self.store is None else DetectorStore(self.store, self.limits)
        log_to_stderr()
        return build_service(model, self.host, self.token, self.limits, store, metrics_folder)


def run_service(config: WorkerConfig, port: int, n_workers: int, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. on_ready is called with the URL."""
    if n_workers == 1:
        serve(config.build(), config.host, port, on_ready)
        return
    with TemporaryDirectory(prefix="oddshot-") as name:
        folder = Path(name)
        shared = replace(config, store=config.store or folder / "detectors.sqlite")
        shared.build()  # raises here, as one line, what is wrong with the model or the store
        with listen(config.host, port) as listening:
            metrics_folders = [MetricsFolder(folder, worker) for worker in range(n_workers)]
            _supervise(
                lambda worker: _start_worker(shared, listening, worker, folder),
                n_workers,
                lambda: all(metrics_folder.has_written() for metrics_folder in metrics_folders),
                lambda: on_ready(url_of(listening)),
            )


def _start_worker(config: WorkerConfig, listening: socket.socket, worker: int, folder: Path) -> BaseProcess:
    process = _SPAWN.Process(target=_run_worker, args=(config, listening, worker, folder), name=f"worker-{worker}")
    process.start()
    return process


def _supervise(
    start: Callable[[int], BaseProcess], n_workers: int, is_ready: Callable[[], bool], on_ready: Callable[[], None]
) -> None:
    """Keep n_workers processes running, restarting those that end, until a signal to stop; then let them finish."""
    stopping, is_announced = threading.Event(), False
    for signal_number in ending_signals():
        signal.signal(signal_number, lambda *_: stopping.set())
    running = [start(worker) for worker in range(n_workers)]
    while not stopping.is_set():
        if not is_announced and is_ready():
            on_ready()
            is_announced = True
        multiprocessing.connection.wait([process.sentinel for process in running], timeout=0.2)
        for worker, process in enumerate(running):
            if not process.is_alive() and not stopping.wait(1.0):
                LOGGER.error("a worker ended and is started anew")
                running[worker] = start(worker)
    for process in running:
        process.terminate()
    deadline = time.monotonic() + MAX_SHUTDOWN_SECONDS + 5
    for process in running:
        process.join(max(deadline - time.monotonic(), 0.1))
        process.kill()


def _run_worker(config: WorkerConfig, listening: socket.socket, worker: int, folder: Path) -> None:
    """Serve in a worker process until it is terminated or its parent has ended."""
    server = make_server(config.build(MetricsFolder(folder, worker)))
    threading.Thread(target=_stop_after_parent, args=(server,), daemon=True).start()
    for signal_number in ending_signals():
        signal.signal(signal_number, signal.SIG_IGN)  # uvicorn raises the signal again after it has stopped
    server.run(sockets=[listening])


def _stop_after_parent(server: uvicorn.Server) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    server.should_exit = True
