"""Files scored by the workers of a Ray cluster, started here."""

import os
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from oddshot.adapted.task import AdaptedTask
from oddshot.data.tables.conversion import as_table
from oddshot.errors import CapacityError, FileError, InputError
from oddshot.scoring import distributed
from oddshot.scoring.distributed import RayScoring, score_file
from oddshot.scoring.streaming import score_files
from tests.fleets import labels, numbers, small_model

COLUMNS = ["x0", "x1", "x2"]


def frame(seed, n):
    return pd.DataFrame(numbers(seed, n), columns=COLUMNS)


def adapted(kind=AdaptedTask):
    return kind.from_table(small_model(), as_table(frame(9, 40)), labels())


@pytest.fixture
def files(tmp_path):
    """Four files of different lengths, one of them longer than a chunk."""
    (tmp_path / "new").mkdir()
    paths = [tmp_path / "new" / f"{seed}.parquet" for seed in range(3)] + [tmp_path / "new" / "3.csv"]
    for seed, (path, n) in enumerate(zip(paths, (5, 70_000, 1, 40), strict=True)):
        frame(seed, n).to_parquet(path) if path.suffix == ".parquet" else frame(seed, n).to_csv(path, index=False)
    return paths


def test_a_worker_returns_scores_warnings_and_errors(files, tmp_path):
    task = adapted()
    result = score_file(task, str(files[1]))
    assert [len(chunk) for chunk in result.chunks] == [65_536, 4_464]
    np.testing.assert_allclose(
        np.concatenate(result.chunks), task.score_encoded(task.encode(frame(1, 70_000), "X")), rtol=1e-4
    )
    frame(0, 5).assign(more=1).to_csv(tmp_path / "more.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "ignored unknown columns: 'more'" in score_file(task, str(tmp_path / "more.csv")).warning_texts[0]
    wrong = score_file(task, str(tmp_path / "nowhere.csv"))
    assert wrong.chunks == []
    assert isinstance(wrong.error, FileError)
    assert "nowhere.csv: cannot be read" in str(wrong.error)


def test_ray_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="needs Ray: pip install"):
        RayScoring()


def test_the_output_is_the_local_one(files, tmp_path):
    pytest.importorskip("ray")
    task, told = adapted(), []
    here = score_files(task, files, tmp_path / "local.parquet")
    there = score_files(
        task, files, tmp_path / "scores.parquet", lambda *rows: told.append(rows), RayScoring(n_workers=2)
    )
    assert there == here
    assert (tmp_path / "scores.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()
    assert sum(rows for _, rows in told) == here.rows == 70_046


def test_a_lost_worker_costs_no_row_and_gives_none_twice(files, tmp_path):
    pytest.importorskip("ray")
    died = tmp_path / "died"

    class Dying(AdaptedTask):  # here, so that it travels to the workers by value
        def score_encoded(self, rows):
            if len(rows) == 4_464 and not died.exists():  # in the middle of the second file, once
                died.touch()
                os._exit(1)
            return super().score_encoded(rows)

    score_files(adapted(), files, tmp_path / "local.parquet")
    score_files(adapted(Dying), files, tmp_path / "scores.parquet", score=RayScoring(n_workers=2))
    assert died.exists()
    assert (tmp_path / "scores.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()


def test_mistakes_are_one_line_and_nothing_is_written(files, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    bad = tmp_path / "new" / "bad.csv"
    frame(0, 5).rename(columns={"x1": "speed"}).to_csv(bad, index=False)
    with pytest.raises(InputError, match=r"bad\.csv: column 'x1' is missing") as caught:
        score_files(adapted(), [*files, bad], tmp_path / "scores.parquet", score=RayScoring(n_workers=2))
    assert "\n" not in str(caught.value)

    class Doomed(AdaptedTask):
        def score_encoded(self, rows):
            os._exit(1)

    monkeypatch.setattr(distributed, "MAX_RETRIES", 0)
    with pytest.raises(CapacityError, match=r"0\.parquet: not scored, its workers were lost"):
        score_files(adapted(Doomed), files[:1], tmp_path / "scores.parquet", score=RayScoring(n_workers=2))
    assert os.listdir(tmp_path) == ["new"]
