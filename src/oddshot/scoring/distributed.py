"""Many files scored by the workers of a Ray cluster, each file by one of them."""

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.detector import FewShotDetector
from oddshot.errors import InputError, OddshotError
from oddshot.scoring.cluster import connect, find_ray
from oddshot.scoring.streaming import Scored, score_chunks, score_table

RETRIES = 3
AHEAD = 2  # files in work for each CPU of the cluster, so that none waits; their scores are kept in its memory


@dataclass
class FileScores:
    """What a worker gives back: the scores of each chunk, and what it has to say."""

    chunks: list[NDArray[np.float64]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    problem: str | None = None


class RayScoring:
    """The chunks of all files in order, as `scoring.score_here` gives them, from the workers of a cluster.

    The files must lie where all workers can read them. A file whose worker is lost is scored again by another one; its
    scores count once, as they come back whole or not at all.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray, self._address, self._workers = find_ray(), address, workers

    def __call__(self, detector: FewShotDetector, files: Sequence[Path]) -> Iterator[Scored]:
        """file, chunk of its scores."""
        ray = self._ray
        connect(ray, self._address, self._workers)
        try:
            shared, work = ray.put(detector), ray.remote(num_cpus=1, max_retries=RETRIES)(score_file)
            waiting = deque(str(file) for file in files)
            flying: deque[tuple[str, Any]] = deque()
            most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting or flying:
                while waiting and len(flying) < most:
                    file = waiting.popleft()
                    flying.append((file, work.remote(shared, file)))
                yield from self._tables(detector, *flying.popleft())
        finally:
            ray.shutdown()

    def _tables(self, detector: FewShotDetector, file: str, reference: Any) -> Iterator[Scored]:
        try:
            result: FileScores = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise InputError(
                f"{file}: not scored, its workers were lost ({type(error).__name__}; out of memory?)"
            ) from error
        for notice in result.notices:
            warnings.warn(notice, stacklevel=2)
        if result.problem is not None:
            raise InputError(result.problem)
        first = 1
        for scores in result.chunks:
            yield file, score_table(detector, scores, file, first)
            first += len(scores)


def score_file(detector: FewShotDetector, file: str) -> FileScores:
    """Runs on a worker. A mistake in the file is a result too: scoring it again would not help."""
    result = FileScores()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            result.chunks = list(score_chunks(detector, file))
        except OddshotError as error:
            result.problem = str(error)
    result.notices = list(dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)))
    return result
