"""The service's description in OpenAPI, with examples that work as they stand."""

from typing import Any

import oddshot
from oddshot.decisions.calibration import RATES
from oddshot.service.limits import Limits
from oddshot.service.requests import ARROW, JSON

Schema = dict[str, Any]

_CELL: Schema = {"type": ["number", "string", "boolean", "null"], "description": "null is a missing value"}
_BY_NAME: Schema = {"type": "object", "additionalProperties": _CELL, "minProperties": 1}
_IN_ORDER: Schema = {"type": "array", "items": _CELL, "minItems": 1}
_LABELS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {"enum": [1, 0, -1, None]},
    "description": "For each row: 1 anomaly, 0 normal, -1 or null unlabelled. At least one is 0.",
}
_RATE: Schema = {
    "type": "number",
    "minimum": RATES[0],
    "maximum": RATES[-1],
    "description": "Share of normal rows that may be called anomalies; needs a model with a calibration.",
}
_ID: Schema = {"type": "string", "description": "Of a detector, as /v1/adapt gave it."}

SUPPORT = {
    "rows": [
        {"temperature": 20.1, "speed": 1.0, "mode": "run"},
        {"temperature": 20.4, "speed": 1.1, "mode": "run"},
        {"temperature": 19.8, "speed": 0.9, "mode": "run"},
        {"temperature": 20.2, "speed": 0.0, "mode": "idle"},
        {"temperature": 19.9, "speed": 1.0, "mode": "run"},
        {"temperature": 35.0, "speed": 1.0, "mode": "run"},
    ],
    "labels": [0, 0, 0, 0, 0, 1],
}
IN_ORDER = {
    "columns": ["temperature", "speed"],
    "rows": [[20.1, 1.0], [20.4, 1.1], [19.8, None], [35.0, 1.0]],
    "labels": [0, 0, -1, 1],
}
ROWS = [{"temperature": 20.0, "speed": 1.0, "mode": "run"}, {"temperature": 41.0, "speed": 1.0, "mode": "run"}]


def describe(description: str, limits: Limits, needs_token: bool) -> Schema:
    """The whole document."""
    document: Schema = {
        "openapi": "3.1.0",
        "info": {"title": "oddshot", "version": oddshot.__version__, "description": description},
        "paths": {
            "/v1/adapt": {"post": _adapt(limits)},
            "/v1/score": {"post": _score(limits)},
            "/v1/model": {"get": _get("What the model is, and the limits", {"type": "object"}, "model")},
            "/healthz": {"get": _get("Whether the service answers", _object({"status": {"const": "ok"}}), "health")},
            "/metrics": {"get": _get("Counters for Prometheus", {"type": "string"}, "metrics", "text/plain")},
        },
        "components": {"schemas": {"Error": _object({"error": {"type": "string"}})}},
    }
    if needs_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        document["paths"]["/healthz"]["get"]["security"] = []
    return document


def _adapt(limits: Limits) -> Schema:
    examples = {"by name": {"value": SUPPORT}, "in order": {"value": IN_ORDER}}
    summary: Schema = _object(
        {
            "id": _ID,
            "normal": {"type": "integer"},
            "anomalies": {"type": "integer"},
            "unlabelled": {"type": "integer"},
            "columns": {"type": "object", "additionalProperties": {"type": "string"}},
            "dropped": {"type": "object", "additionalProperties": {"type": "string"}},
            "threshold": {"type": "number"},
            "false_positive_rate": {"type": ["number", "null"]},
            "calibrated": {"type": "boolean"},
            "familiarity": {"type": ["number", "null"]},
            "notes": {"type": "array", "items": {"type": "string"}},
        }
    )
    return {
        "operationId": "adapt",
        "summary": "Adapt to a task: its support becomes a detector with an id",
        "description": "The same support gives the same id, however often it is sent.",
        "parameters": [
            _parameter("label", {"type": "string"}, "Arrow only: the column of labels; without it, `label`."),
            _parameter("false_positive_rate", _RATE, "Arrow only."),
        ],
        "requestBody": _body({"anyOf": _supports(limits)}, examples),
        "responses": _responses(summary, {JSON: summary}),
    }


def _score(limits: Limits) -> Schema:
    given: list[Schema] = [{"id": _ID}, {"support": {"anyOf": _supports(limits)}}]
    forms = [_object({**one, **form}) for one in given for form in _forms(limits)]
    scores = _object(
        {
            "id": _ID,
            "threshold": {"type": "number"},
            "scores": {"type": "array", "items": {"type": "number"}},
            "probabilities": {"type": ["array", "null"], "items": {"type": "number"}},
            "anomalies": {"type": "array", "items": {"enum": [0, 1]}},
        }
    )
    return {
        "operationId": "score",
        "summary": "Score rows, higher is more anomalous",
        "description": "By the id of a detector, or with the support beside the rows.",
        "parameters": [
            _parameter("id", _ID, "Arrow only: the detector."),
            _parameter("label", {"type": "string"}, "Arrow only: the column with the labels of some rows."),
            _parameter("false_positive_rate", _RATE, "Arrow only, with label."),
        ],
        "requestBody": _body({"anyOf": forms}, {"support inline": {"value": {"support": SUPPORT, "rows": ROWS}}}),
        "responses": _responses(scores, {JSON: scores, ARROW: None}),
    }


def _supports(limits: Limits) -> list[Schema]:
    return [
        _object({**form, "labels": _LABELS}, {"false_positive_rate": {**_RATE, "type": ["number", "null"]}})
        for form in _forms(limits)
    ]


def _forms(limits: Limits) -> list[Schema]:
    """Rows as objects, or as lists with the names beside them."""
    rows = {"type": "array", "minItems": 1, "maxItems": limits.most_rows}
    names = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": limits.most_columns,
        "uniqueItems": True,
    }
    return [{"rows": {**rows, "items": _BY_NAME}}, {"columns": names, "rows": {**rows, "items": _IN_ORDER}}]


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _parameter(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _body(schema: Schema, examples: Schema) -> Schema:
    return {"required": True, "content": {JSON: {"schema": schema, "examples": examples}, ARROW: {}}}


def _get(summary: str, schema: Schema, name: str, kind: str = JSON) -> Schema:
    return {"operationId": name, "summary": summary, "responses": _responses(schema, {kind: schema})}


def _responses(schema: Schema, content: dict[str, Schema | None]) -> Schema:
    error = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {
            "description": "Done",
            "content": {kind: {} if one is None else {"schema": one} for kind, one in content.items()},
        },
        "4XX": {"description": "A mistake in the request, in one sentence", "content": error},
    }
