"""Files whose content no page can show: one sentence, and no mistake of the server."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.app.samples import make_client

N_ROWS = 30
DAYS = np.arange(N_ROWS) * 86_400


def parquet(dates: pa.Array) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"x": np.arange(N_ROWS) % 7 + 0.5, "d": dates}), out)
    return out.getvalue()


@pytest.fixture(scope="module")
def client():
    return make_client()


def refusal(client, name: str, data: bytes) -> str:
    answer = client.put("/api/tables", params={"name": name}, content=data)
    assert answer.status_code == 422
    return answer.json()["error"]


@pytest.mark.parametrize(
    "dates",
    [
        pa.array(np.append(DAYS[1:], 10**12), pa.timestamp("s")),
        pa.array(np.append(DAYS[1:], -(10**18)), pa.timestamp("us")),
        pa.array(np.append(DAYS[1:], 10**12), pa.timestamp("s", "Europe/Berlin")),
        pa.array(np.append(DAYS[1:] // 86_400, 2**30).astype(np.int32), pa.date32()),
        pa.array(np.append(DAYS[1:] * 1000, 86_400_000 * 10**9), pa.date64()),
        pa.array(np.append(DAYS[1:], 10**12), pa.timestamp("s")).dictionary_encode(),
        pa.array([[10**12]] * N_ROWS, pa.list_(pa.timestamp("s"))),
    ],
)
def test_dates_beyond_the_calendar(client, dates):
    expected = "far.parquet: column 'd' holds dates beyond the years 1 to 9999"
    assert refusal(client, "far.parquet", parquet(dates)) == expected


@pytest.mark.parametrize("zone", ["Mars/Phobos", "+99:99", "../../etc/passwd"])
def test_unknown_time_zones(client, zone):
    data = parquet(pa.array(DAYS, pa.timestamp("s", zone)))
    assert refusal(client, "mars.parquet", data) == (
        f"mars.parquet: column 'd' has the time zone {zone!r}, which is not known"
    )


def test_durations_that_are_too_long(client):
    data = parquet(pa.array([2**62] * N_ROWS, pa.duration("s")))
    assert refusal(client, "long.parquet", data) == "long.parquet: column 'd' holds durations too long to show"


@pytest.mark.parametrize(
    "dates",
    [
        pa.array(DAYS, pa.timestamp("s", "Europe/Berlin")),
        pa.array(DAYS * 10**9, pa.timestamp("ns", "+02:00")),
        pa.array([*DAYS[1:].tolist(), None], pa.timestamp("s")),
        pa.array([None] * N_ROWS, pa.timestamp("s")),
        pa.array(DAYS // 10, pa.time64("us")),
    ],
)
def test_usual_dates_are_taken(client, dates):
    assert client.put("/api/tables", params={"name": "d.parquet"}, content=parquet(dates)).status_code == 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@relation r\n@attribute\n@data\n1\n", "Bad @ATTRIBUTE format, at line 2"),
        ("@relation\n@attribute x numeric\n@data\n1\n", "a line of its header is incomplete"),
        (
            "@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n1,2\n3%\n",
            "Bad @DATA instance format in line 6: 3%",
        ),
    ],
)
def test_arff_files_that_end_early(client, text, reason):
    assert refusal(client, "t.arff", text.encode()) == f"t.arff: not a readable ARFF file ({reason})"


@pytest.mark.parametrize("text", ['{"a":' * 20_000, "[" * 200_000, '{"a": 1}\n{"a": "x"}\n' + "[" * 200_000])
def test_values_that_are_nested_too_deep_leave_the_app_running(client, text):
    assert refusal(client, "deep.jsonl", text.encode()).endswith(": values are nested deeper than 100 levels")
    assert client.get("/api/tables").status_code == 200
