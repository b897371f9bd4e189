"""Routes of the files that a table can be exported as."""

import itertools

from fastapi import Response
from fastapi.responses import StreamingResponse

from oddshot.app.exports import scores_csv, scores_parquet
from oddshot.app.labels_file import labels_to_csv, labels_to_json
from oddshot.app.rankers import DetectorRanker
from oddshot.app.report import write_report
from oddshot.app.routes.opened import Table, table_router
from oddshot.errors import InputError
from oddshot.web.responses import JsonResponse

router = table_router()


@router.get("/export/labels.json")
def labels_json(open_table: Table) -> Response:
    """The labels as JSON."""
    return JsonResponse(labels_to_json(open_table), headers=_download_headers("labels.json"))


@router.get("/export/labels.csv")
def labels_csv(open_table: Table) -> Response:
    """The labels as CSV."""
    return Response(labels_to_csv(open_table), media_type="text/csv", headers=_download_headers("labels.csv"))


@router.get("/export/scores.csv")
def csv(open_table: Table) -> Response:
    """All rows with their scores as CSV."""
    blocks = scores_csv(open_table)
    first = next(blocks)  # an error must be raised before the response begins
    return StreamingResponse(
        itertools.chain([first], blocks), media_type="text/csv", headers=_download_headers("scores.csv")
    )


@router.get("/export/scores.parquet")
def parquet(open_table: Table) -> Response:
    """All rows with their scores as Parquet."""
    data = scores_parquet(open_table)
    return Response(data, media_type="application/vnd.apache.parquet", headers=_download_headers("scores.parquet"))


@router.get("/export/detector.safetensors")
def detector(open_table: Table) -> Response:
    """The detector that the labels give."""
    ranker = open_table.ranking.ranker
    if not isinstance(ranker, DetectorRanker):
        raise InputError("there is no detector yet; label at least one normal row")
    threshold = open_table.user_threshold
    data = ranker.export(None if threshold is None else open_table.ranking.clear_of_scores(threshold))
    return Response(data, media_type="application/octet-stream", headers=_download_headers("detector.safetensors"))


@router.get("/export/report.html")
def report(open_table: Table) -> Response:
    """The report."""
    return Response(write_report(open_table), media_type="text/html", headers=_download_headers("report.html"))


def _download_headers(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
