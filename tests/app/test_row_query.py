"""Sorting, filtering and searching rows, compared with plain Python."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pydantic import ValidationError

from oddshot.app.row_query import RowQuery
from oddshot.app.row_selection import select_rows
from oddshot.app.sheet import make_sheet
from oddshot.app.workspace import Workspace
from oddshot.errors import InputError
from oddshot.universal.shipped import load_universal
from tests.app.samples import make_client, upload

DIGEST = "0" * 64
N = 60
RNG = np.random.default_rng(0)
WRITTEN = [f"{value:,.2f}" for value in RNG.uniform(0, 5000, N)]
WRITTEN[3] = ""
CITY = RNG.choice(["Oslo", "bergen", "Århus", "NA"], N).tolist()
DAYS = (np.datetime64("2024-01-01T06:00", "s") + RNG.permutation(N) * np.timedelta64(9, "D")).tolist()
SIZE = [None if j % 7 == 0 else float(value) for j, value in enumerate(RNG.normal(12, 3, N).round(2))]
BEGINNING = f"{SIZE[1]:.2f}"[:-1]
COLUMNS = {
    "written": WRITTEN,
    "city": CITY,
    "day": DAYS,
    "size": SIZE,
    "ok": [bool(j % 3) for j in range(N)],
    "id": [f"K-{j:03}" for j in range(N)],
    "code": RNG.integers(1, 12, N).tolist(),
}


def opened(columns, **settings):
    work = Workspace(load_universal(), None)
    return work.open(DIGEST, lambda edits: make_sheet(pa.table(columns), "t", DIGEST, work.model, **settings))


@pytest.fixture(scope="module")
def work():
    return opened(COLUMNS)


def rows(work, *filters, **query):
    return select_rows(work.current, RowQuery(filters=json.dumps(filters), **query)).tolist()


def sorted_with_missing_last(values, descending):
    present = [j for j, value in enumerate(values) if value is not None]
    missing = [j for j, value in enumerate(values) if value is None]
    order = sorted({values[j] for j in present}, reverse=descending)
    return sorted(present, key=lambda j: (order.index(values[j]), j)) + missing


KEYS = {
    "written": [float(text.replace(",", "")) if text else None for text in WRITTEN],
    "city": [None if name == "NA" else name.lower() for name in CITY],
    "day": DAYS,
    "size": SIZE,
    "ok": COLUMNS["ok"],
    "id": COLUMNS["id"],
    "code": COLUMNS["code"],
}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", KEYS)
def test_sort_by_a_column(work, column, descending):
    found = rows(work, by="column", column=column, descending=descending)
    assert found == sorted_with_missing_last(KEYS[column], descending)


def test_a_column_that_is_left_out_is_sorted_as_what_it_holds():
    table = {**COLUMNS, "key": [f"{j:,}" for j in range(2000, 2000 - N, -1)]}
    work = opened(table, left_out=("key", "day"))
    assert rows(work, by="column", column="key") == list(range(N))[::-1]
    assert rows(work, by="column", column="day") == sorted_with_missing_last(DAYS, False)


def test_numbers_as_categories_are_sorted_as_numbers():
    work = opened({"code": pa.array([10, 9, None, 100, 9]).dictionary_encode(), "x": [1.0, 9.0, 3.0, 4.0, 5.0]})
    assert rows(work, by="column", column="code") == [1, 4, 0, 3, 2]


FILTERS = {
    "values": ({"kind": "values", "column": "city", "values": ["Oslo", None]}, lambda j: CITY[j] in ("Oslo", "NA")),
    "booleans": ({"kind": "values", "column": "ok", "values": ["false"]}, lambda j: j % 3 == 0),
    "missing": ({"kind": "values", "column": "size", "values": [None]}, lambda j: SIZE[j] is None),
    "range": ({"kind": "range", "column": "size", "low": 11, "high": 12.5}, lambda j: 11 <= (SIZE[j] or 0) <= 12.5),
    "low": ({"kind": "range", "column": "written", "low": 1000}, lambda j: (KEYS["written"][j] or 0) >= 1000),
    "dates": (
        {"kind": "dates", "column": "day", "first": "2024-03-01", "last": "2024-06-06"},
        lambda j: "2024-03-01" <= DAYS[j].date().isoformat() <= "2024-06-06",
    ),
    "moment": (
        {"kind": "dates", "column": "day", "last": "2024-06-06T05:59:00"},
        lambda j: DAYS[j].isoformat() <= "2024-06-06T05:59:00",
    ),
    "text": ({"kind": "text", "column": "city", "text": "OSL"}, lambda j: CITY[j] == "Oslo"),
    "number text": ({"kind": "text", "column": "size", "text": "12"}, lambda j: str(SIZE[j]).startswith("12.")),
    "decimals": (
        {"kind": "text", "column": "size", "text": BEGINNING},
        lambda j: f"{SIZE[j] or 0:.2f}".startswith(BEGINNING),
    ),
    "month": ({"kind": "text", "column": "day", "text": "2024-03"}, lambda j: "2024-03" in str(DAYS[j])),
    "word": ({"kind": "text", "column": "ok", "text": "ru"}, lambda j: bool(j % 3)),
    "signs": ({"kind": "text", "column": "city", "text": ".*"}, lambda j: False),
}  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
def test_filters(work, name):
    wanted, passes = FILTERS[name]
    expected = [j for j in range(N) if passes(j)]
    assert rows(work, wanted, by="row") == expected
    assert 0 < len(expected) < N or name == "signs"


def test_several_filters_hold_at_once_and_keep_the_order(work):
    one, two = FILTERS["values"], FILTERS["booleans"]
    found = rows(work, one[0], two[0], by="column", column="size", descending=True)
    expected = [j for j in sorted_with_missing_last(SIZE, True) if one[1](j) and two[1](j)]
    assert found == expected
    assert expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ÅRH", [j for j in range(N) if CITY[j] == "Århus"]),
        ("k-007", [7]),
        ("2024-01-01", [DAYS.index(min(DAYS))]),
        ("nowhere", []),
    ],
)
def test_search_over_all_columns(work, text, expected):
    assert rows(work, by="row", search=text) == expected


def test_float32_numbers_are_found_as_they_are_shown():
    work = opened({"x": pa.array([12.7, 12.8, -12.7, 12.6], pa.float32()), "y": [1.5, 2.5, 3.5, 0.5]})
    assert rows(work, by="row", search="12.7") == [0]
    assert rows(work, by="row", search="-12.7") == [2]
    assert rows(work, by="row", search="12") == [0, 1, 3]


def test_labels_and_threshold_filter_and_the_score_orders(work):
    for row, label in ((4, 0), (5, 0), (9, 1), (8, 0)):
        work.change({"labels": {row: label}})
    now = work.current
    scores, threshold = now.ranking.scores, now.threshold
    assert rows(work, {"kind": "label", "labels": ["normal"]}, by="row") == [4, 5, 8]
    assert rows(work, {"kind": "label", "labels": ["anomaly", None]}, by="row") == sorted(set(range(N)) - {4, 5, 8})
    flagged = rows(work, {"kind": "flagged", "flagged": True})
    assert flagged == [int(row) for row in now.ranking.order if scores[row] > threshold]
    rest = rows(work, {"kind": "flagged", "flagged": False}, descending=False)
    assert [*flagged, *rest[::-1]] == now.ranking.order.tolist()
    assert rows(work, by="labelled")[0] == 9
    work.change({"notes": {7: "a leak", 3: "ask again"}})
    assert rows(work, {"kind": "noted", "noted": True}, by="row") == [3, 7]
    assert rows(work, {"kind": "noted", "noted": False}, by="row") == sorted(set(range(N)) - {3, 7})
    wanted = FILTERS["values"]
    before = rows(work, wanted[0])
    work.change({"labels": {30: 1}})
    after = rows(work, wanted[0])
    assert after == [row for row in work.current.ranking.order.tolist() if wanted[1](row)]
    assert sorted(before) == sorted(after)
    assert before != after


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"by": "column", "column": "nothing"}, "no column 'nothing'"),
        ({"filters": '[{"kind": "range", "column": "city", "low": 1}]'}, "holds no numbers"),
        ({"filters": '[{"kind": "dates", "column": "size", "first": "2024-01-01"}]'}, "holds no dates"),
        ({"filters": '[{"kind": "values", "column": "size", "values": ["1"]}]'}, "holds numbers"),
    ],
)
def test_what_does_not_fit_the_column_is_one_line(work, query, message):
    with pytest.raises(InputError, match=message) as caught:
        select_rows(work.current, RowQuery(**query))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "filters",
    [
        "{",
        "[3]",
        '[{"kind": "other"}]',
        '[{"kind": "values", "column": "a", "values": []}]',
        '[{"kind": "range", "column": "a", "low": "x"}]',
        "[" * 100_000,
    ],
)
def test_other_filters_are_refused(filters):
    with pytest.raises(ValidationError):
        RowQuery(filters=filters)


def test_pages_do_not_sort_again(work, monkeypatch):
    query = RowQuery(by="column", column="size", search="1")
    first = select_rows(work.current, query)
    monkeypatch.setattr("oddshot.app.column_cache.read_column", None)
    monkeypatch.setattr("oddshot.app.column_cache.find_text", None)
    monkeypatch.setattr("oddshot.app.column_values.ColumnValues.order", None)
    np.testing.assert_array_equal(select_rows(work.current, query), first)


@pytest.fixture(scope="module")
def client():
    client = make_client()
    upload(client, pd.DataFrame(COLUMNS).to_csv(index=False).encode())
    return client


def test_the_route_answers_a_query_page_by_page(client):
    filters = json.dumps([FILTERS["values"][0]])
    query = {"by": "column", "column": "size", "descending": "true", "filters": filters, "limit": 5}
    pages = [client.get("/api/this/rows", params={**query, "offset": offset}).json() for offset in (0, 5)]
    expected = [j for j in sorted_with_missing_last(SIZE, True) if FILTERS["values"][1](j)]
    assert [page["total"] for page in pages] == [len(expected)] * 2
    assert [row["row"] for page in pages for row in page["rows"]] == expected[:10]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"filters": "[3]"}, "filters"),
        ({"by": "column", "column": "nothing"}, "no column"),
        ({"sort": "size"}, "sort"),
        ({"limit": 0}, "limit"),
    ],
)
def test_a_wrong_query_is_one_line(client, query, message):
    answer = client.get("/api/this/rows", params=query)
    assert answer.status_code == 422
    assert message in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_the_route_of_histograms(client):
    client.post("/api/this/label", json={"row": 2, "label": "normal"})
    found = client.get("/api/this/histogram", params={"column": "city", "row": 1}).json()
    counts = dict(zip(found["bars"], found["counts"], strict=True))
    assert counts == {name: CITY.count(name) for name in ("Oslo", "bergen", "Århus")}
    assert found["missing"] == CITY.count("NA")
    assert sum(found["normal"]) == (CITY[2] != "NA")
    assert client.get("/api/this/histogram", params={"column": "none"}).status_code == 422
    assert client.get("/api/this/histogram", params={"column": "city", "row": 60}).status_code == 422


def test_a_row_is_copied_as_a_spreadsheet_takes_it():
    client = make_client()
    long = "x" * 300
    upload(client, pd.DataFrame({"a": ["tab\there", long, "c"], "b": [1.5, 2.5, None]}).to_csv(index=False).encode())
    assert client.get("/api/this/row/0/tsv").json()["text"] == '"tab\there"\t1.5'
    assert client.get("/api/this/row/1/tsv").json()["text"] == f"{long}\t2.5"
    assert client.get("/api/this/row/2/tsv").json()["text"] == "c\t"
    assert client.get("/api/this/row/1/tsv", params={"column": "b"}).json()["text"] == "2.5"
    assert client.get("/api/this/row/1/tsv", params={"column": "c"}).status_code == 422
