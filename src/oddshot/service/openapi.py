"""The OpenAPI document of the service, with examples that can be sent as they are.

Every route of routes.py has an entry under "paths" in `openapi_document`; a test compares the two.
"""

from typing import Any

import oddshot
from oddshot.data.encoding.choice import CHOSEN_KINDS, INTERVAL
from oddshot.decisions.calibration import RATES
from oddshot.service.limits import ServiceLimits
from oddshot.service.requests import ARROW, JSON

Schema = dict[str, Any]

_CELL: Schema = {"type": ["number", "string", "boolean", "null"], "description": "null is a missing value"}
_ROW_AS_OBJECT: Schema = {"type": "object", "additionalProperties": _CELL, "minProperties": 1}
_ROW_AS_LIST: Schema = {"type": "array", "items": _CELL, "minItems": 1}
_LABELS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {"enum": [1, 0, -1, None]},
    "description": "For each row: 1 anomaly, 0 normal, -1 or null unlabelled. At least one is 0.",
}
_OTHER_LABELS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {**_CELL, "description": "null is unlabelled"},
    "description": "For each row: a label of any kind, of which anomaly_value or normal_value says what it means.",
}
_LABEL: Schema = {"type": ["number", "string", "boolean"]}
_ANOMALY_VALUE: Schema = {
    "anyOf": [_LABEL, {"type": "array", "minItems": 1, "items": _LABEL}],
    "description": "The label, or the labels, that mean anomaly; every other one means normal.",
}
_NORMAL_VALUE: Schema = {
    **_ANOMALY_VALUE,
    "description": "The label, or the labels, that mean normal; every other one means anomaly.",
}
_VALUES_PARAMETER: Schema = {"type": "array", "items": {"type": "string"}}
_RATE: Schema = {
    "type": "number",
    "minimum": RATES[0],
    "maximum": RATES[-1],
    "description": "Share of normal rows that may be called anomalies; needs a model with a calibration.",
}
_KINDS: Schema = {
    "type": "object",
    "additionalProperties": {"enum": [kind for kind in CHOSEN_KINDS if kind != INTERVAL]},
    "description": "As what columns are used, by name; those not named are recognised. For a model of any width.",
}
_NOTES: Schema = {"type": "array", "items": {"type": "string"}}
_ID: Schema = {"type": "string", "description": "Of a detector, as /v1/adapt gave it."}

_OPTIONAL_IN_SUPPORT: dict[str, Schema] = {
    "false_positive_rate": {**_RATE, "type": ["number", "null"]},
    "kinds": {**_KINDS, "type": ["object", "null"]},
}

EXAMPLE_SUPPORT = {
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
EXAMPLE_SUPPORT_OF_LISTS = {
    "columns": ["temperature", "speed"],
    "rows": [[20.1, 1.0], [20.4, 1.1], [19.8, None], [35.0, 1.0]],
    "labels": [0, 0, -1, 1],
}
EXAMPLE_ROWS = [{"temperature": 20.0, "speed": 1.0, "mode": "run"}, {"temperature": 41.0, "speed": 1.0, "mode": "run"}]


def openapi_document(description: str, limits: ServiceLimits, needs_token: bool) -> Schema:
    """The whole document. needs_token: whether clients must send a bearer token."""
    document: Schema = {
        "openapi": "3.1.0",
        "info": {"title": "oddshot", "version": oddshot.__version__, "description": description},
        "paths": {
            "/v1/adapt": {"post": _adapt_operation(limits)},
            "/v1/score": {"post": _score_operation(limits)},
            "/v1/model": {"get": _get_operation("What the model is, and the limits", {"type": "object"}, "model")},
            "/healthz": {
                "get": _get_operation("Whether the service answers", _object({"status": {"const": "ok"}}), "health")
            },
            "/metrics": {"get": _get_operation("Counters for Prometheus", {"type": "string"}, "metrics", "text/plain")},
        },
        "components": {"schemas": {"Error": _object({"error": {"type": "string"}})}},
    }
    if needs_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        document["paths"]["/healthz"]["get"]["security"] = []
    return document


def _adapt_operation(limits: ServiceLimits) -> Schema:
    examples = {"by name": {"value": EXAMPLE_SUPPORT}, "in order": {"value": EXAMPLE_SUPPORT_OF_LISTS}}
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
            "notes": _NOTES,
        }
    )
    return {
        "operationId": "adapt",
        "summary": "Adapt to a task: its support becomes a detector with an id",
        "description": "The same support gives the same id, however often it is sent.",
        "parameters": [
            _parameter("label", {"type": "string"}, "Arrow only: the column of labels; without it, `label`."),
            _parameter("anomaly_value", _VALUES_PARAMETER, "Arrow only: the labels that mean anomaly."),
            _parameter("normal_value", _VALUES_PARAMETER, "Arrow only: the labels that mean normal."),
            _parameter("false_positive_rate", _RATE, "Arrow only."),
            _parameter("kinds", {"type": "string"}, "Arrow only: kinds of columns by name, as a JSON object."),
        ],
        "requestBody": _body({"anyOf": _support_schemas(limits)}, examples),
        "responses": _responses({JSON: summary}),
    }


def _score_operation(limits: ServiceLimits) -> Schema:
    detectors: list[Schema] = [{"id": _ID}, {"support": {"anyOf": _support_schemas(limits)}}]
    requests = [_object({**detector, **rows}) for detector in detectors for rows in _row_schemas(limits)]
    scores = _object(
        {
            "id": _ID,
            "threshold": {"type": "number"},
            "scores": {"type": "array", "items": {"type": "number"}},
            "probabilities": {"type": ["array", "null"], "items": {"type": "number"}},
            "anomalies": {"type": "array", "items": {"enum": [0, 1]}},
            "notes": {
                **_NOTES,
                "description": "Columns of which most rows lie beyond those of the support, and cells taken as missing."
                " In Arrow, JSON in the field notes of the schema's metadata.",
            },
        }
    )
    return {
        "operationId": "score",
        "summary": "Score rows, higher is more anomalous",
        "description": "By the id of a detector, or with the support beside the rows.",
        "parameters": [
            _parameter("id", _ID, "Arrow only: the detector."),
            _parameter("label", {"type": "string"}, "Arrow only: the column with the labels of some rows."),
            _parameter("anomaly_value", _VALUES_PARAMETER, "Arrow only, with label: those that mean anomaly."),
            _parameter("normal_value", _VALUES_PARAMETER, "Arrow only, with label: those that mean normal."),
            _parameter("false_positive_rate", _RATE, "Arrow only, with label."),
            _parameter("kinds", {"type": "string"}, "Arrow only, with label: kinds by name, as a JSON object."),
        ],
        "requestBody": _body(
            {"anyOf": requests}, {"support inline": {"value": {"support": EXAMPLE_SUPPORT, "rows": EXAMPLE_ROWS}}}
        ),
        "responses": _responses({JSON: scores, ARROW: None}),
    }


def _support_schemas(limits: ServiceLimits) -> list[Schema]:
    """Supports with rows of both kinds, and with labels 1 and 0 or others whose meaning is given."""
    absent: Schema = {"type": "null"}
    ways: list[tuple[Schema, Schema]] = [
        ({"labels": _LABELS}, {"anomaly_value": absent, "normal_value": absent}),
        ({"labels": _OTHER_LABELS, "anomaly_value": _ANOMALY_VALUE}, {"normal_value": absent}),
        ({"labels": _OTHER_LABELS, "normal_value": _NORMAL_VALUE}, {"anomaly_value": absent}),
    ]
    return [
        _object({**rows, **required}, {**optional, **_OPTIONAL_IN_SUPPORT})
        for required, optional in ways
        for rows in _row_schemas(limits)
    ]


def _row_schemas(limits: ServiceLimits) -> list[Schema]:
    """The two ways to send rows: as objects, or as lists together with a list of column names."""
    rows = {"type": "array", "minItems": 1, "maxItems": limits.max_rows}
    names = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": limits.max_columns,
        "uniqueItems": True,
    }
    return [{"rows": {**rows, "items": _ROW_AS_OBJECT}}, {"columns": names, "rows": {**rows, "items": _ROW_AS_LIST}}]


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _parameter(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _body(schema: Schema, examples: Schema) -> Schema:
    return {"required": True, "content": {JSON: {"schema": schema, "examples": examples}, ARROW: {}}}


def _get_operation(summary: str, schema: Schema, operation_id: str, media_type: str = JSON) -> Schema:
    return {"operationId": operation_id, "summary": summary, "responses": _responses({media_type: schema})}


def _responses(schemas: dict[str, Schema | None]) -> Schema:
    """The responses of an operation. schemas: by media type; None where the content is not JSON."""
    error = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {
            "description": "Done",
            "content": {kind: {} if schema is None else {"schema": schema} for kind, schema in schemas.items()},
        },
        "4XX": {"description": "A mistake in the request, in one sentence", "content": error},
    }
