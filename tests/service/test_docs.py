"""The examples of docs/service.md work, with the fields that it shows."""

import re
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from tests.service.samples import post_json, service
from tests.web.servers import running

TEXT = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
BODIES = re.findall(r"-d '(\{.*?\})'", TEXT, re.DOTALL)
ANSWERS = re.findall(r"```json\n(\{\"id.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def url():
    with running(service()) as address:
        yield address


def fields(text):
    return re.findall(r'"(\w+)": ', re.sub(r'"columns": \{.*?\}', '"columns": ', text))


def test_curl(url):
    with httpx.Client(base_url=url, timeout=30) as client:
        summary = post_json(client, "/v1/adapt", BODIES[0].encode()).json()
        assert list(summary) == fields(ANSWERS[0])
        answer = post_json(client, "/v1/score", BODIES[1].replace("…", summary["id"]).encode()).json()
        assert list(answer) == fields(ANSWERS[1])
        low, high = answer["scores"]
        assert low < high
        assert answer["anomalies"] == [0, 1]


def run_python(heading, url):
    """The names that the first Python block below a heading defines."""
    code = re.search(rf"## {heading}\n.*?```python\n(.*?)```", TEXT, re.DOTALL).group(1)
    names = {}
    exec(code.replace("http://127.0.0.1:8000", url), names)
    return names


def test_data_frame_with_gaps(url):
    names = run_python("Score", url)
    answer = names["service"].post("/v1/score", json={"id": names["found"]["id"], "rows": names["rows"]}).json()
    low, high = answer["scores"]
    assert low < high
    names["service"].close()


def test_arrow(url):
    names = run_python("Arrow", url)
    table = pa.ipc.open_stream(names["answer"].content).read_all()
    assert table.column_names == ["score", "probability", "anomaly"]
    assert table.num_rows == 2
    names["service"].close()
