"""Columns of the input that are copied beside the scores."""

import datetime
import os
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from oddshot import FewShotDetector, InputError
from oddshot.scoring.streaming import ScoringOptions, score_files
from tests.fleets import labels, numbers, small_model

TASK = FewShotDetector(small_model()).fit(pd.DataFrame(numbers(9), columns=["x0", "x1", "x2"]), labels()).task_


def frame(seed, n):
    rows = pd.DataFrame(numbers(seed, n), columns=["x0", "x1", "x2"]).round(3)
    return rows.assign(id=[f"{seed}-{i:03}" for i in range(n)], state=["on", None] * (n // 2) + ["off"] * (n % 2))


def write(path, table):
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("output", ["scores.csv", "scores.parquet"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_kept_columns_stand_between_row_and_score(tmp_path, suffix, output):
    tables = [frame(1, 70_001), frame(2, 3)]
    files = [write(tmp_path / f"{k}{suffix}", table) for k, table in enumerate(tables)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a column that is kept is not called unknown
        score_files(TASK, files, tmp_path / output, options=ScoringOptions(keep=("state", "id", "x1")))
    found = pd.read_parquet(tmp_path / output) if output.endswith("parquet") else pd.read_csv(tmp_path / output)
    assert found.columns.tolist() == ["file", "row", "state", "id", "x1", "score", "probability", "anomaly"]
    given = pd.concat(tables, ignore_index=True)
    assert found["id"].tolist() == given["id"].tolist()
    assert found["state"].isna().tolist() == given["state"].isna().tolist()
    np.testing.assert_allclose(found["x1"], given["x1"])
    score_files(TASK, files, tmp_path / "plain.parquet")
    np.testing.assert_array_equal(found["score"], pd.read_parquet(tmp_path / "plain.parquet")["score"])


def test_types_are_kept_in_parquet_and_text_as_it_is_written_in_csv(tmp_path):
    day = datetime.date(2024, 2, 29)
    table = frame(1, 3).assign(number=[7, 8, 9], day=[day] * 3, kind=pd.Categorical(["a", "b", "a"]))
    score_files(
        TASK,
        [write(tmp_path / "new.parquet", table)],
        tmp_path / "s.parquet",
        options=ScoringOptions(keep=("number", "day", "kind")),
    )
    found = pyarrow.parquet.read_table(tmp_path / "s.parquet")
    assert found.schema.types[2:5] == [pa.int64(), pa.date32(), pa.string()]
    assert found["day"].to_pylist() == [day] * 3
    text = frame(1, 3).assign(id=["007", "-1.5", "=1+1"])
    score_files(TASK, [write(tmp_path / "new.csv", text)], tmp_path / "s.csv", options=ScoringOptions(keep=("id",)))
    assert pd.read_csv(tmp_path / "s.csv", dtype=str)["id"].tolist() == ["007", "-1.5", "'=1+1"]


def test_files_of_different_types(tmp_path):
    text = write(tmp_path / "a.csv", frame(1, 3).assign(id=["7", "8", "x"]))
    number = write(tmp_path / "b.parquet", frame(1, 3).assign(id=[7, 8, 9]))
    score_files(TASK, [text, number], tmp_path / "s.parquet", options=ScoringOptions(keep=("id",)))
    assert pd.read_parquet(tmp_path / "s.parquet")["id"].tolist() == ["7", "8", "x", "7", "8", "9"]
    with pytest.raises(InputError, match=r"a\.csv: column 'id' holds string values, and the first file int64 ones"):
        score_files(TASK, [number, text], tmp_path / "t.parquet", options=ScoringOptions(keep=("id",)))
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.parquet", "s.parquet"]


def test_wrong_names_are_one_line(tmp_path):
    new = write(tmp_path / "new.csv", frame(1, 3))
    with pytest.raises(InputError, match=r"new\.csv: no column 'key' to keep; its columns are 'x0', 'x1', 'x2', 'id'"):
        score_files(TASK, [new], tmp_path / "scores.csv", options=ScoringOptions(keep=("id", "key")))
    with pytest.raises(InputError, match="--keep row: the output has a column of that name; rename the one of the"):
        score_files(TASK, [new], tmp_path / "scores.csv", options=ScoringOptions(keep=("row",)))
    lists = pa.table({**{f"x{j}": [0.5] for j in range(3)}, "tags": [["a"]]})
    pyarrow.parquet.write_table(lists, tmp_path / "lists.parquet")
    with pytest.raises(InputError, match=r"column 'tags' holds list<.*> values, which cannot be kept"):
        score_files(TASK, [tmp_path / "lists.parquet"], tmp_path / "scores.csv", options=ScoringOptions(keep=("tags",)))
    assert not (tmp_path / "scores.csv").exists()
