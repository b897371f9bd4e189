"""The service as one process, or as several on the same address that share the store."""

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

import torch
import uvicorn
from fastapi import FastAPI

from oddshot.service.limits import Limits
from oddshot.service.metrics import Exchange
from oddshot.service.routes import build_service
from oddshot.service.store import Store
from oddshot.storage.model_file import load_model
from oddshot.universal.shipped import load_universal
from oddshot.web.address import listen, url_of
from oddshot.web.logs import LOGGER, log_to_stderr
from oddshot.web.serving import MAX_SHUTDOWN_SECONDS, make_server, serve

_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold


@dataclass(frozen=True)
class Settings:
    """What a worker is made of. model: None for the one that ships."""

    model: Path | None
    host: str
    token: str | None
    limits: Limits
    store: Path | None

    def build(self, exchange: Exchange | None = None) -> FastAPI:
        """The application, in a process that is prepared for it."""
        torch.set_num_threads(1)  # requests are the work that is shared out
        warnings.simplefilter("ignore")  # they would tell of data; a client gets them as notes
        loaded = load_universal() if self.model is None else load_model(self.model)
        kept = None if self.store is None else Store(self.store, self.limits)
        log_to_stderr()
        return build_service(loaded, self.host, self.token, self.limits, kept, exchange)


def run_service(settings: Settings, port: int, workers: int, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. on_ready: told the address."""
    if workers == 1:
        serve(settings.build(), settings.host, port, on_ready)
        return
    with TemporaryDirectory(prefix="oddshot-") as name:
        folder = Path(name)
        shared = replace(settings, store=settings.store or folder / "detectors.sqlite")
        shared.build()  # what is wrong with the model or the store shows here, as one line
        with listen(settings.host, port) as listening:
            exchanges = [Exchange(folder, number) for number in range(workers)]
            _supervise(
                lambda number: _start(shared, listening, number, folder),
                workers,
                lambda: all(exchange.is_there() for exchange in exchanges),
                lambda: on_ready(url_of(listening)),
            )


def _start(settings: Settings, listening: socket.socket, number: int, folder: Path) -> BaseProcess:
    process = _SPAWN.Process(target=_work, args=(settings, listening, number, folder), name=f"worker-{number}")
    process.start()
    return process


def _supervise(
    start: Callable[[int], BaseProcess], workers: int, is_ready: Callable[[], bool], on_ready: Callable[[], None]
) -> None:
    """Keep so many workers running until a signal comes; then let them finish."""
    stopping, told = threading.Event(), False
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: stopping.set())
    running = [start(number) for number in range(workers)]
    while not stopping.is_set():
        if not told and is_ready():
            on_ready()
            told = True
        multiprocessing.connection.wait([process.sentinel for process in running], timeout=0.2)
        for number, process in enumerate(running):
            if not process.is_alive() and not stopping.wait(1.0):
                LOGGER.error("a worker ended and is started anew")
                running[number] = start(number)
    for process in running:
        process.terminate()
    deadline = time.monotonic() + MAX_SHUTDOWN_SECONDS + 5
    for process in running:
        process.join(max(deadline - time.monotonic(), 0.1))
        process.kill()


def _work(settings: Settings, listening: socket.socket, number: int, folder: Path) -> None:
    """A worker's life: until it is told to stop, or nobody is there to tell it."""
    server = make_server(settings.build(Exchange(folder, number)), fair=True)
    threading.Thread(target=_stop_when_orphaned, args=(server,), daemon=True).start()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, signal.SIG_IGN)  # uvicorn raises it once more after it has stopped
    server.run(sockets=[listening])


def _stop_when_orphaned(server: uvicorn.Server) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    server.should_exit = True
