"""What a worker of a Ray cluster returns for a file; tests/test_ray.py has a cluster."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from oddshot.adapted.task import AdaptedTask
from oddshot.data.tables.conversion import as_table
from oddshot.errors import FileError, InputError
from oddshot.scoring.distributed import RayScoring, score_file
from oddshot.scoring.streaming import ScoringOptions, score_files
from tests.fleets import labels, numbers, small_model

COLUMNS = ["x0", "x1", "x2"]


def frame(seed, n):
    return pd.DataFrame(numbers(seed, n), columns=COLUMNS)


def test_a_worker_returns_scores_warnings_and_errors(tmp_path):
    task = AdaptedTask.from_table(small_model(), as_table(frame(9, 40)), labels())
    frame(1, 70_000).to_parquet(tmp_path / "long.parquet")
    result = score_file(task, str(tmp_path / "long.parquet"), ScoringOptions())
    assert [len(chunk.scores) for chunk in result.chunks] == [65_536, 4_464]
    found = np.concatenate([chunk.scores for chunk in result.chunks])
    expected = task.score_encoded(task.encode(frame(1, 70_000), "X"))
    # The square of a small float32 projection has the absolute error of the large ones.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7 * expected.max())
    frame(0, 5).assign(more=1).to_csv(tmp_path / "more.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        more = score_file(task, str(tmp_path / "more.csv"), ScoringOptions())
        assert "ignored unknown columns: 'more'" in more.warning_texts[0]
    wrong = score_file(task, str(tmp_path / "nowhere.csv"), ScoringOptions())
    assert wrong.chunks == []
    assert isinstance(wrong.error, FileError)
    assert "nowhere.csv: cannot be read" in str(wrong.error)


class RayInThisProcess:
    """As much of Ray as scoring uses; tests/test_ray.py has the real one."""

    exceptions = SimpleNamespace(RayError=RuntimeError)
    is_initialized = staticmethod(lambda: True)
    cluster_resources = staticmethod(lambda: {"CPU": 2})
    put = get = staticmethod(lambda value: value)

    @staticmethod
    def remote(**_):
        return lambda function: SimpleNamespace(remote=function)


def test_a_cluster_keeps_the_columns_that_one_machine_keeps(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", RayInThisProcess())
    task = AdaptedTask.from_table(small_model(), as_table(frame(9, 40)), labels())
    files = [tmp_path / f"{k}.csv" for k in range(5)]
    for k, file in enumerate(files):
        frame(k, 7).assign(id=[f"{k}-{i}" for i in range(7)]).to_csv(file, index=False)
    score_files(task, files, tmp_path / "ray.csv", score=RayScoring(), options=ScoringOptions(keep=("id", "x1")))
    score_files(task, files, tmp_path / "local.csv", options=ScoringOptions(keep=("id", "x1")))
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()
    assert pd.read_csv(tmp_path / "ray.csv")["id"].tolist()[-1] == "4-6"
    with pytest.raises(InputError, match=r"0\.csv: no column 'key' to keep"):
        score_files(task, files, tmp_path / "ray.csv", score=RayScoring(), options=ScoringOptions(keep=("key",)))


def test_ray_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"needs Ray: pip install 'ray\[default\]'$"):
        RayScoring()
