"""A service with a model and requests to it, for tests."""

import json

import pyarrow as pa

from oddshot.data.tables.ipc import to_ipc
from oddshot.service.requests import ARROW, JSON
from oddshot.service.routes import build_service
from oddshot.universal.shipped import load_universal
from tests.fleets import labels, mixed, numbers

NAMES = ["a", "b", "c"]


def service(model=None, **settings):
    return build_service(model or load_universal(), **settings)


def number_support(n=12):
    """Rows in order, as JSON has them."""
    return {"columns": NAMES, "rows": numbers(1, n).tolist(), "labels": labels(n).tolist()}


def mixed_support(n=20):
    """Rows by name, cells of every kind."""
    return {"rows": records(mixed(2, n)), "labels": labels(n).tolist()}


def records(frame):
    """The rows of a frame as JSON has them."""
    return json.loads(frame.to_json(orient="records", date_format="iso"))


def table(X, **more):
    """Columns a, b, c as an Arrow table."""
    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | more)


def post_json(client, path, content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return client.post(path, content=data, headers={"content-type": JSON})


def post_arrow(client, path, content, accept=JSON, **query):
    data = content if isinstance(content, bytes) else to_ipc(content)
    return client.post(path, params=query, content=data, headers={"content-type": ARROW, "accept": accept})


def adapted(client, support=None):
    """The id of a detector."""
    answer = post_json(client, "/v1/adapt", support or number_support())
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]
