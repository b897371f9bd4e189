"""Parsing of request bodies, JSON or Arrow, into supports and rows; anything else is an error of one sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json
from starlette.exceptions import HTTPException

from oddshot.data.tables.ipc import from_ipc
from oddshot.data.tables.label_meaning import LabelMeaning
from oddshot.errors import InputError
from oddshot.service.labels import PARAMETERS, labels_from_json, meaning_from_json, split_labels
from oddshot.service.limits import ServiceLimits
from oddshot.service.rows import ArrowRows, RequestRows, rows_from_arrow, rows_from_json
from oddshot.service.support import Support, make_support

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
_VALUES = ("anomaly_value", "normal_value")
_SUPPORT_FIELDS = ("rows", "columns", "labels", *_VALUES, "false_positive_rate", "kinds")
_SUPPORT_PARAMETERS = ("label", *_VALUES, "false_positive_rate", "kinds")

Query = Mapping[str, Sequence[str]]
"""The values of each query parameter: those of anomaly_value and normal_value may be several."""


@dataclass(frozen=True)
class ScoreRequest:
    """Rows to score, and either the id of a detector or the support to adapt one to."""

    rows: RequestRows
    detector_id: str | None = None
    support: Support | None = None


def parse_media_type(header: str | None) -> str:
    """Return JSON or ARROW according to the Content-Type header; any other type is refused with 415."""
    media_type = (header or "").split(";")[0].strip().lower()
    if media_type not in (JSON, ARROW):
        raise HTTPException(415, f"the Content-Type is {media_type[:60]!r}; expected {JSON} or {ARROW}")
    return media_type


def parse_adapt_request(body: bytes, media_type: str, query: Query, limits: ServiceLimits) -> Support:
    """Parse POST /v1/adapt. In Arrow the labels are in the column that the query parameter `label` names."""
    if media_type == JSON:
        _check_known(query, (), "query parameter")
        return _support_from_json(_parse_json_object(body), limits)
    _check_known(query, _SUPPORT_PARAMETERS, "query parameter")
    rows = rows_from_arrow(_parse_arrow(body), limits, "rows")
    return _support_from_arrow(rows, _one(query, "label") or "label", query, limits)[1]


def parse_score_request(body: bytes, media_type: str, query: Query, limits: ServiceLimits) -> ScoreRequest:
    """Parse POST /v1/score.

    With Arrow the query parameter `id` names a detector, or `label` the column with the labels of some of the rows,
    which are then the support.
    """
    if media_type == JSON:
        _check_known(query, (), "query parameter")
        return _score_request_from_json(_parse_json_object(body), limits)
    all_rows = rows_from_arrow(_parse_arrow(body), limits, "rows")
    if "id" in query:
        _check_known(query, ("id",), "query parameter")
        return ScoreRequest(all_rows, _one(query, "id"))
    label = _one(query, "label")
    if label is None:
        raise InputError("query: expected id, or label, the column with the labels of some rows")
    _check_known(query, _SUPPORT_PARAMETERS, "query parameter")
    rows, support = _support_from_arrow(all_rows, label, query, limits)
    return ScoreRequest(rows, support=support)


def _score_request_from_json(content: dict[str, Any], limits: ServiceLimits) -> ScoreRequest:
    _check_known(content, ("id", "support", "rows", "columns"), "field")
    if ("id" in content) == ("support" in content):
        raise InputError("expected id, of a detector that was adapted, or support: one of the two")
    _check_present(content, ("rows",))
    rows = rows_from_json(content["rows"], _column_names(content), limits, "rows")
    if "id" in content:
        if not isinstance(content["id"], str):
            raise InputError("id is not text")
        return ScoreRequest(rows, content["id"])
    if not isinstance(content["support"], dict):
        raise InputError("support is not an object with rows and labels")
    return ScoreRequest(rows, support=_support_from_json(content["support"], limits))


def _support_from_json(content: dict[str, Any], limits: ServiceLimits) -> Support:
    _check_known(content, _SUPPORT_FIELDS, "field")
    _check_present(content, ("rows", "labels"))
    rows = rows_from_json(content["rows"], _column_names(content), limits, "support")
    meaning = meaning_from_json(content.get("anomaly_value"), content.get("normal_value"))
    labels, notes = labels_from_json(content["labels"], len(rows), meaning)
    support = make_support(rows, labels, content.get("false_positive_rate"), limits, content.get("kinds"))
    return replace(support, notes=notes)


def _support_from_arrow(
    all_rows: ArrowRows, label: str, query: Query, limits: ServiceLimits
) -> tuple[ArrowRows, Support]:
    """Split a table with a column of labels: its other columns, and the support."""
    meaning = LabelMeaning.of(query.get("anomaly_value"), query.get("normal_value"), PARAMETERS)
    rows, (labels, notes) = split_labels(all_rows, label, meaning)
    support = make_support(rows, labels, _parse_rate(query), limits, _parse_kinds(query))
    return rows, replace(support, notes=notes)


def _column_names(content: dict[str, Any]) -> Any:
    if "columns" in content and content["columns"] is None:
        raise InputError("columns is null; expected a list of names, or no columns and rows that are objects")
    return content.get("columns")


def _parse_json_object(body: bytes) -> dict[str, Any]:
    if not body:
        raise InputError("the body is empty; expected JSON")
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InputError(
            f"the body is not JSON: {error} (a missing value is null, NaN and Infinity are not JSON)"
        ) from None
    if not isinstance(content, dict):
        raise InputError("the body is not a JSON object")
    return content


def _parse_arrow(body: bytes) -> Any:
    if not body:
        raise InputError("the body is empty; expected an Arrow IPC stream")
    return from_ipc(body)


def _one(query: Query, name: str) -> str | None:
    """The value of a query parameter that is given once, None where it is not given."""
    values = query.get(name, ())
    if len(values) > 1:
        raise InputError(f"query: {name} is given {len(values)} times; expected one value")
    return values[0] if values else None


def _parse_rate(query: Query) -> float | None:
    rate = _one(query, "false_positive_rate")
    try:
        return None if rate is None else float(rate)
    except ValueError:
        raise InputError("query: false_positive_rate is not a number") from None


def _parse_kinds(query: Query) -> Any:
    kinds = _one(query, "kinds")
    try:
        return None if kinds is None else from_json(kinds)
    except ValueError:
        raise InputError("query: kinds is not a JSON object with kinds by the names of columns") from None


def _check_known(names: Iterable[str], expected: tuple[str, ...], kind: str) -> None:
    for name in names:
        if name not in expected:
            raise InputError(f"unknown {kind} {name[:60]!r}; expected {', '.join(expected) or 'none with a JSON body'}")


def _check_present(content: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in content:
            raise InputError(f"{name} is missing")
