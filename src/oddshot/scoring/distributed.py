"""Many files scored by the workers of a Ray cluster, each file by one of them."""

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.task import AdaptedTask
from oddshot.errors import CapacityError, OddshotError
from oddshot.scoring.cluster import connect, find_ray
from oddshot.scoring.streaming import FileChunk, score_chunks, score_table

MAX_RETRIES = 3
FILES_PER_CPU = 2  # in flight for each CPU of the cluster, so that none waits; their scores are kept in its memory


@dataclass
class FileScores:
    """What a worker returns: the scores of each chunk, warnings, and what was wrong with the file."""

    chunks: list[NDArray[np.float64]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    error: OddshotError | None = None


class RayScoring:
    """The chunks of all files in order, as `streaming.score_here` yields them, from the workers of a cluster.

    The files must lie where all workers can read them. A file whose worker is lost is scored again by another one; its
    scores count once, as they come back whole or not at all.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray, self._address, self._workers = find_ray(), address, workers

    def __call__(self, task: AdaptedTask, files: Sequence[Path]) -> Iterator[FileChunk]:
        """file, chunk of its scores."""
        ray = self._ray
        connect(ray, self._address, self._workers)
        try:
            shared, work = ray.put(task), ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(score_file)
            waiting = deque(str(file) for file in files)
            in_flight: deque[tuple[str, Any]] = deque()
            most = FILES_PER_CPU * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting or in_flight:
                while waiting and len(in_flight) < most:
                    file = waiting.popleft()
                    in_flight.append((file, work.remote(shared, file)))
                yield from self._tables(task, *in_flight.popleft())
        finally:
            ray.shutdown()

    def _tables(self, task: AdaptedTask, file: str, reference: Any) -> Iterator[FileChunk]:
        try:
            result: FileScores = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise CapacityError(
                f"{file}: not scored, its workers were lost ({type(error).__name__}; out of memory?)"
            ) from error
        for notice in result.notices:
            warnings.warn(notice, stacklevel=2)
        if result.error is not None:
            raise result.error
        first = 1
        for scores in result.chunks:
            yield file, score_table(task, scores, file, first)
            first += len(scores)


def score_file(task: AdaptedTask, file: str) -> FileScores:
    """Runs on a worker. A mistake in the file is a result too: scoring it again would not help."""
    result = FileScores()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            result.chunks = list(score_chunks(task, file))
        except OddshotError as error:
            result.error = error
    result.notices = list(dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)))
    return result
