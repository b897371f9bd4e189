"""Bodies of requests, JSON or Arrow, as supports and rows; everything else is one sentence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json
from starlette.exceptions import HTTPException

from oddshot.data.tables.ipc import from_ipc
from oddshot.errors import InputError
from oddshot.service.limits import Limits
from oddshot.service.rows import Rows, rows_from_arrow, rows_from_json
from oddshot.service.support import Support, labels_from_json, make_support, split_labels

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
_SUPPORT = ("rows", "columns", "labels", "false_positive_rate")


@dataclass(frozen=True)
class Wanted:
    """What should be scored: by the detector of this name, or by one for this support."""

    rows: Rows
    name: str | None = None
    support: Support | None = None


def media_type(header: str | None) -> str:
    """JSON or ARROW by the Content-Type."""
    found = (header or "").split(";")[0].strip().lower()
    if found not in (JSON, ARROW):
        raise HTTPException(415, f"the Content-Type is {found[:60]!r}; expected {JSON} or {ARROW}")
    return found


def read_adapt(body: bytes, kind: str, query: Mapping[str, str], limits: Limits) -> Support:
    """The support of POST /v1/adapt. Arrow: its labels are in the column that the query's `label` names."""
    if kind == JSON:
        _known(query, (), "query parameter")
        return _support(_object(body), limits)
    _known(query, ("label", "false_positive_rate"), "query parameter")
    rows, labels = split_labels(rows_from_arrow(_arrow(body), limits, "rows"), query.get("label", "label"))
    return make_support(rows, labels, _rate(query), limits)


def read_score(body: bytes, kind: str, query: Mapping[str, str], limits: Limits) -> Wanted:
    """What POST /v1/score asks for. Arrow: by the query's `id`, or with the labels of some rows in column `label`."""
    if kind == JSON:
        _known(query, (), "query parameter")
        return _wanted(_object(body), limits)
    table = rows_from_arrow(_arrow(body), limits, "rows")
    if "id" in query:
        _known(query, ("id",), "query parameter")
        return Wanted(table, query["id"])
    if "label" not in query:
        raise InputError("query: expected id, or label, the column with the labels of some rows")
    _known(query, ("label", "false_positive_rate"), "query parameter")
    rows, labels = split_labels(table, query["label"])
    return Wanted(rows, support=make_support(rows, labels, _rate(query), limits))


def _wanted(content: dict[str, Any], limits: Limits) -> Wanted:
    _known(content, ("id", "support", "rows", "columns"), "field")
    if ("id" in content) == ("support" in content):
        raise InputError("expected id, of a detector that was adapted, or support: one of the two")
    _required(content, ("rows",))
    rows = rows_from_json(content["rows"], _columns(content), limits, "rows")
    if "id" in content:
        if not isinstance(content["id"], str):
            raise InputError("id is not text")
        return Wanted(rows, content["id"])
    if not isinstance(content["support"], dict):
        raise InputError("support is not an object with rows and labels")
    return Wanted(rows, support=_support(content["support"], limits))


def _support(content: dict[str, Any], limits: Limits) -> Support:
    _known(content, _SUPPORT, "field")
    _required(content, ("rows", "labels"))
    rows = rows_from_json(content["rows"], _columns(content), limits, "support")
    labels = labels_from_json(content["labels"], len(rows))
    return make_support(rows, labels, content.get("false_positive_rate"), limits)


def _columns(content: dict[str, Any]) -> Any:
    if "columns" in content and content["columns"] is None:
        raise InputError("columns is null; expected a list of names, or no columns and rows that are objects")
    return content.get("columns")


def _object(body: bytes) -> dict[str, Any]:
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


def _arrow(body: bytes) -> Any:
    if not body:
        raise InputError("the body is empty; expected an Arrow IPC stream")
    return from_ipc(body)


def _rate(query: Mapping[str, str]) -> float | None:
    if "false_positive_rate" not in query:
        return None
    try:
        return float(query["false_positive_rate"])
    except ValueError:
        raise InputError("query: false_positive_rate is not a number") from None


def _known(given: Iterable[str], expected: tuple[str, ...], kind: str) -> None:
    for name in given:
        if name not in expected:
            raise InputError(f"unknown {kind} {name[:60]!r}; expected {', '.join(expected) or 'none with a JSON body'}")


def _required(content: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in content:
            raise InputError(f"{name} is missing")
