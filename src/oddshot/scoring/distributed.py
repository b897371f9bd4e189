"""Scoring of many files by the workers of a Ray cluster; each file is scored by one worker."""

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oddshot.adapted.task import AdaptedTask
from oddshot.errors import CapacityError, OddshotError
from oddshot.scoring.cluster import connect, import_ray
from oddshot.scoring.streaming import FileChunk, ScoredChunk, ScoringOptions, file_chunks, score_chunks

MAX_RETRIES = 3  # of a file whose worker was lost
MAX_FILES_PER_CPU = 2  # submitted at a time, so that no CPU is idle; the cluster keeps their scores in memory


@dataclass
class FileScores:
    """The result of a worker for one file: its chunks, texts of warnings, and the error if there was one."""

    chunks: list[ScoredChunk] = field(default_factory=list)
    warning_texts: list[str] = field(default_factory=list)
    error: OddshotError | None = None


class RayScoring:
    """Scores files with the workers of a cluster; yields the same chunks as `streaming.score_in_process`.

    All workers must be able to read the files. If a worker is lost, another one scores its file again from the start.
    The scores of a file are returned all at once, so that no row is missing or scored twice.
    """

    def __init__(self, address: str | None = None, n_workers: int | None = None) -> None:
        self._ray, self._address, self._n_workers = import_ray(), address, n_workers

    def __call__(self, task: AdaptedTask, files: Sequence[Path], options: ScoringOptions) -> Iterator[FileChunk]:
        """Yield each file's name with each chunk of its scores, in the order of the files."""
        ray = self._ray
        connected_here = connect(ray, self._address, self._n_workers)
        try:
            shared_task, remote_score = ray.put(task), ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(score_file)
            waiting = deque(str(file) for file in files)
            submitted: deque[tuple[str, Any]] = deque()
            max_submitted = MAX_FILES_PER_CPU * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting or submitted:
                while waiting and len(submitted) < max_submitted:
                    file = waiting.popleft()
                    submitted.append((file, remote_score.remote(shared_task, file, options)))
                yield from self._chunks_of(task, *submitted.popleft())
        finally:
            if connected_here:
                ray.shutdown()

    def _chunks_of(self, task: AdaptedTask, file: str, reference: Any) -> Iterator[FileChunk]:
        """Wait for a file's result, repeat its warnings or error here, and yield its chunks."""
        try:
            result: FileScores = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise CapacityError(
                f"{file}: not scored, its workers were lost ({type(error).__name__}; out of memory?)"
            ) from error
        for text in result.warning_texts:
            warnings.warn(text, stacklevel=2)
        if result.error is not None:
            raise result.error
        yield from file_chunks(task, result.chunks, file)


def score_file(task: AdaptedTask, file: str, options: ScoringOptions) -> FileScores:
    """Score a file on a worker. A wrong file is a result and no failure: scoring it again would not help."""
    result = FileScores()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            result.chunks = list(score_chunks(task, file, options))
        except OddshotError as error:
            result.error = error
    texts = (str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    result.warning_texts = list(dict.fromkeys(texts))
    return result
