"""Routes of what labels teach: their effect, the certainty of the ranking, the next rows, and what else would do."""

from typing import Annotated, Any

import numpy as np
from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool

from oddshot.app.learning.certainty import describe_certainty
from oddshot.app.learning.labelling_queue import choose_queue
from oddshot.app.learning.rank_changes import describe_change
from oddshot.app.learning.second_detector import MAX_FILE_BYTES, SecondDetector, compare_detectors, read_second_detector
from oddshot.app.learning.simple_methods import SimpleMethodsJob
from oddshot.app.open_table import OpenTable
from oddshot.app.rankers import DetectorRanker
from oddshot.app.routes.opened import Session, Table, table_router
from oddshot.app.uploads import display_name
from oddshot.errors import InputError

router = table_router()


@router.get("/change")
def change(session: Session) -> dict[str, Any]:
    """What the latest change of labels has changed; null before the first one."""
    turn, open_table = session.ranking_version, session.current
    before, after = open_table.before, (open_table.ranking, open_table.threshold)
    found = None if before is None else describe_change(before, after, open_table.labels.rows)
    return {"turn": turn, "change": found}


@router.get("/certainty")
def certainty(session: Session) -> dict[str, Any]:
    """How well the labelled rows are ranked."""
    turn, open_table = session.ranking_version, session.current
    return {"turn": turn, **describe_certainty(open_table.sheet, open_table.labels, open_table.ranking.ranker)}


@router.get("/queue")
def queue(open_table: Table) -> dict[str, Any]:
    """The rows to label one after the other."""
    rows = open_table.foreground_rows()
    scores = open_table.ranking.scores[rows]
    is_scored = ~np.isnan(scores)
    ranker = open_table.ranking.ranker
    return {"rows": choose_queue(open_table.sheet, open_table.labels, ranker, rows[is_scored], scores[is_scored])}


@router.post("/simple-methods")
def compare_simple_methods(open_table: Table) -> dict[str, Any]:
    """Begin to compare the detector with simple methods."""
    ranker = open_table.ranking.ranker
    if not isinstance(ranker, DetectorRanker):
        raise InputError("there is no detector yet; label at least one normal row")
    open_table.simple_methods = SimpleMethodsJob(
        open_table.sheet,
        open_table.sheet.encoded[open_table.labels.rows],
        open_table.labels.values,
        ranker.unlabelled,
        lambda: open_table.ranking.ranker is not ranker,
    )
    return open_table.simple_methods.to_json()


@router.get("/simple-methods")
def simple_methods(open_table: Table) -> dict[str, Any] | None:
    """How far this comparison is, or its result; null if there is none."""
    job = open_table.simple_methods
    return None if job is None else job.to_json()


@router.put("/second")
async def add_second(
    open_table: Table, request: Request, name: Annotated[str, Query(max_length=1000)] = "detector"
) -> dict[str, Any]:
    """Compare with the detector or model in the body."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"a file of more than {MAX_FILE_BYTES >> 20} MiB; expected a detector or a model")
    return await run_in_threadpool(_add_second, open_table, bytes(data), display_name(name))


@router.get("/second")
def second(open_table: Table) -> dict[str, Any] | None:
    """The comparison with the second detector; null if there is none."""
    found = open_table.second
    if found is None:
        return None
    try:
        return _compare(open_table, found)
    except InputError as error:  # the labels have changed since
        return {"name": found.name, "error": str(error), "rows": []}


@router.delete("/second")
def remove_second(open_table: Table) -> None:
    """Forget the second detector."""
    open_table.second = None


def _add_second(open_table: OpenTable, data: bytes, name: str) -> dict[str, Any]:
    found = read_second_detector(data, name)
    content = _compare(open_table, found)
    open_table.second = found
    return content


def _compare(open_table: OpenTable, found: SecondDetector) -> dict[str, Any]:
    """On all rows of a small table, on the foreground rows of a large one."""
    sheet, ranking = open_table.sheet, open_table.ranking
    rows = open_table.foreground_rows()
    rows = rows[~np.isnan(ranking.scores[rows])]
    task = found.adapted(sheet, open_table.labels, open_table.unlabelled_sample)
    scores = task.score_encoded(task.encode(sheet.table.take(rows), sheet.name))
    first = ranking.scores[rows], open_table.threshold
    return {
        "name": found.name,
        "is_model": found.task is None,
        "method": found.model.method.name,
        "labels": len(task.labels),
        **compare_detectors(first, (scores, task.threshold), rows),
    }
