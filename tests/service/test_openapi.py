"""The OpenAPI document is true: its examples work, and requests that schemathesis makes from it do too."""

import json

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from oddshot.data.tables.ipc import to_ipc
from oddshot.service.openapi import EXAMPLE_ROWS, EXAMPLE_SUPPORT, EXAMPLE_SUPPORT_OF_LISTS
from oddshot.service.requests import ARROW, JSON
from oddshot.service.routes import build_service
from oddshot.storage.model_file import to_bytes
from oddshot.universal.shipped import load_universal
from tests.fleets import numbers
from tests.service.samples import adapted, post_json, service, table
from tests.web.servers import running

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def url():
    with running(service()) as address:
        yield address


def test_examples_work(url):
    with httpx.Client(base_url=url, timeout=30) as client:
        document = client.get("/openapi.json").json()
        for path in ("/v1/adapt", "/v1/score"):
            examples = document["paths"][path]["post"]["requestBody"]["content"][JSON]["examples"]
            assert examples
            for example in examples.values():
                answer = post_json(client, path, example["value"])
                assert answer.status_code == 200, answer.text
        name = adapted(client, EXAMPLE_SUPPORT)
        low, high = post_json(client, "/v1/score", {"id": name, "rows": EXAMPLE_ROWS}).json()["scores"]
        assert low < high
        assert adapted(client, EXAMPLE_SUPPORT_OF_LISTS) != name


def test_every_route_is_described(url):
    routes = [route for route in build_service(load_universal()).routes if route.path != "/openapi.json"]
    served = {(route.path, verb.lower()) for route in routes for verb in route.methods - {"HEAD"}}
    described = httpx.get(f"{url}/openapi.json").json()["paths"]
    assert served == {(path, verb) for path, verbs in described.items() for verb in verbs}


def test_model_and_health(url):
    answer = httpx.get(f"{url}/v1/model").json()
    assert (answer["method"], answer["columns"]) == ("relative", None)
    data = to_bytes(load_universal())
    length = int.from_bytes(data[:8], "little")  # of the safetensors header
    assert answer["sha256"] == json.loads(data[8 : 8 + length])["__metadata__"]["sha256"]
    assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}


def test_metrics_are_those_of_prometheus(url):
    from prometheus_client.parser import text_string_to_metric_families

    with httpx.Client(base_url=url, timeout=30) as client:
        adapted(client, EXAMPLE_SUPPORT)
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["oddshot_request_seconds"].type == "histogram"
    assert any(s.labels == {"route": "/v1/adapt", "status": "200"} for s in families["oddshot_requests"].samples)
    assert families["oddshot_detectors"].samples[0].value >= 1
    buckets = [s for s in families["oddshot_request_seconds"].samples if s.labels.get("route") == "/v1/adapt"]
    counts = [s.value for s in buckets if s.name.endswith("_bucket")]
    assert counts == sorted(counts)
    assert counts[-1] == next(s.value for s in buckets if s.name.endswith("_count"))


def test_with_a_token_everything_but_health_needs_it():
    with running(service(token=TOKEN)) as address, httpx.Client(base_url=address) as client:
        for path in ("/v1/model", "/metrics", "/openapi.json", "/nowhere"):
            assert client.get(path).status_code == 401
        assert post_json(client, "/v1/adapt", EXAMPLE_SUPPORT).status_code == 401
        assert client.get("/healthz").status_code == 200
        client.headers["authorization"] = f"Bearer {TOKEN}"
        document = client.get("/openapi.json").json()
        assert document["security"] == [{"token": []}]
        assert post_json(client, "/v1/adapt", EXAMPLE_SUPPORT).status_code == 200


schemathesis.openapi.media_type(ARROW, st.binary() | st.sampled_from([to_ipc(table(numbers(1))), b"\xff" * 8]))
DOCUMENT = build_service(load_universal()).openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
# What the schema allows may still not fit together (labels of another number, a text among numbers): 422.
SCHEMA.config.checks.positive_data_acceptance.expected_statuses = ["2xx", "404", "422"]


@SCHEMA.parametrize()
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=HealthCheck)
def test_schemathesis_finds_nothing(case, url):
    case.call_and_validate(base_url=url, timeout=20)
