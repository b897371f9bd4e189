import os
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddshot import FewShotDetector, InputError
from oddshot.errors import CapacityError, FileError
from oddshot.methods.contract import CHUNK_ROWS
from oddshot.scoring.streaming import ScoringOptions, score_files
from tests.fleets import labels, mixed, numbers, small_model

MIXED_DETECTOR = FewShotDetector(small_model("eigen", mixed)).fit(mixed(9, 10), labels(10))
DETECTOR = FewShotDetector(small_model()).fit(pd.DataFrame(numbers(9), columns=["x0", "x1", "x2"]), labels())


def write(path, table):
    table = table if isinstance(table, pd.DataFrame) else pd.DataFrame(table, columns=["x0", "x1", "x2"])
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=1000)
    else:
        table.to_csv(path, index=False)
    return path


def read(path):
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


@pytest.mark.parametrize("output", ["scores.csv", "scores.parquet", "SCORES.CSV"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_streamed_scores_are_those_in_memory(tmp_path, suffix, output):
    X = mixed(8, 2500)
    file, out = write(tmp_path / f"new{suffix}", X), tmp_path / output
    counts = score_files(MIXED_DETECTOR.task_, [file], out)
    found = read(out) if out.suffix.islower() else pd.read_csv(out)
    assert found.columns.tolist() == ["file", "row", "score", "probability", "anomaly"]
    assert found["row"].tolist() == list(range(1, 2501))
    assert set(found["file"]) == {str(file)}
    np.testing.assert_allclose(found["score"], MIXED_DETECTOR.score_samples(X), rtol=1e-4)
    np.testing.assert_array_equal(found["anomaly"], found["score"] > MIXED_DETECTOR.threshold_)
    np.testing.assert_allclose(found["probability"], MIXED_DETECTOR.predict_proba(X)[:, 1], rtol=1e-3, atol=1e-6)
    assert (counts.rows, counts.anomalies) == (2500, found["anomaly"].sum())


def test_several_files_are_scored_in_order_and_each_counts_its_rows(tmp_path):
    tables = {"b.csv": numbers(1, 7), "a.parquet": numbers(2, 2300), "c.csv": numbers(3, 1)}
    files = [write(tmp_path / name, X) for name, X in tables.items()]
    score_files(DETECTOR.task_, files, tmp_path / "scores.parquet")
    found = read(tmp_path / "scores.parquet")
    assert found["file"].tolist() == [str(file) for file, X in zip(files, tables.values(), strict=True) for _ in X]
    assert found["row"].tolist() == [i for X in tables.values() for i in range(1, len(X) + 1)]
    expected = np.concatenate(
        [DETECTOR.score_samples(pd.DataFrame(X, columns=["x0", "x1", "x2"])) for X in tables.values()]
    )
    np.testing.assert_allclose(found["score"], expected, rtol=1e-4)


@pytest.mark.parametrize("n", [CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 65_536, 65_537, 140_000])
def test_chunk_boundaries_lose_nothing(tmp_path, n):
    X = numbers(4, n)
    for suffix in (".parquet", ".csv") if n == 140_000 else (".parquet",):
        file = tmp_path / f"new{suffix}"
        table = pa.table({f"x{j}": X[:, j] for j in range(3)})
        pyarrow.parquet.write_table(table, file) if suffix == ".parquet" else pyarrow.csv.write_csv(table, file)
        assert score_files(DETECTOR.task_, [file], tmp_path / "scores.parquet").rows == n
        found = pyarrow.parquet.read_table(tmp_path / "scores.parquet")
        np.testing.assert_array_equal(found["row"], np.arange(1, n + 1))
        np.testing.assert_allclose(found["score"], DETECTOR.score_samples(table), rtol=1e-4)


def test_a_detector_without_a_model_scores_files_too(tmp_path):
    fitted = FewShotDetector().fit(mixed(9, 10), labels(10))
    score_files(fitted.task_, [write(tmp_path / "new.csv", mixed(8))], tmp_path / "scores.csv")
    np.testing.assert_allclose(read(tmp_path / "scores.csv")["score"], fitted.score_samples(mixed(8)), rtol=1e-4)
    np.testing.assert_allclose(
        read(tmp_path / "scores.csv")["probability"], fitted.predict_proba(mixed(8))[:, 1], rtol=1e-3
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_bad_number_far_into_a_file_is_found_and_nothing_is_written(tmp_path, suffix):
    X = numbers(5, 150_000).round(3)
    X[123_455, 1] = 1e19
    good, bad = write(tmp_path / "good.csv", numbers(6, 5)), tmp_path / f"bad{suffix}"
    table = pa.table({f"x{j}": X[:, j] for j in range(3)})
    pyarrow.parquet.write_table(table, bad) if suffix == ".parquet" else pyarrow.csv.write_csv(table, bad)
    (tmp_path / "scores.csv").write_text("old")
    with pytest.raises(InputError, match=r"row 123456, column 'x1': .* is too large") as caught:
        score_files(DETECTOR.task_, [good, bad], tmp_path / "scores.csv", options=ScoringOptions(is_strict=True))
    assert str(caught.value).startswith(f"{bad}: ")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "scores.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == sorted([good.name, bad.name, "scores.csv"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_infinite_cells_all_over_a_file_are_missing_with_one_warning(tmp_path, suffix):
    X = numbers(5, 150_000).round(3)
    X[[7, 90_000, 123_455], 1] = np.inf, -np.inf, np.inf
    table, file = pa.table({f"x{j}": X[:, j] for j in range(3)}), tmp_path / f"new{suffix}"
    pyarrow.parquet.write_table(table, file) if suffix == ".parquet" else pyarrow.csv.write_csv(table, file)
    with pytest.warns(UserWarning, match="infinite") as caught:
        score_files(DETECTOR.task_, [file], tmp_path / "scores.csv")
    expected = (
        f"{file}: row 8, column 'x1': inf is infinite and taken as missing (also row 90001: -inf, row 123456: inf)"
    )
    assert [str(warning.message) for warning in caught] == [expected]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_gaps_in_columns_that_had_none_are_one_line(tmp_path, suffix):
    X = numbers(5, 70_000).round(3)
    X[[7, 69_000], 1] = np.nan
    file = write(tmp_path / f"new{suffix}", X)
    with pytest.warns(UserWarning, match="gaps") as caught:
        score_files(DETECTOR.task_, [file], tmp_path / "scores.csv")
    (text,) = {str(warning.message) for warning in caught}
    assert text.startswith(f"{file}: column 'x1' (2 of 70,000 rows) has gaps in the rows to score")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,fast,3", "row 90001, column 'x1': 'fast' is not a number"),
        ("1,2", "row 90001 has 2 fields, the header has 3"),
    ],
)
def test_a_bad_line_far_into_a_csv_file(tmp_path, line, message):
    lines = ["x0,x1,x2"] + ["0.5,1.5,2.5"] * 90_000 + [line] + ["0.5,1.5,2.5"] * 9
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=message):
        score_files(
            DETECTOR.task_, [tmp_path / "new.csv"], tmp_path / "scores.parquet", options=ScoringOptions(is_strict=True)
        )
    assert os.listdir(tmp_path) == ["new.csv"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_bad_cells_in_a_column_of_numbers_are_missing_counted_and_named(tmp_path, suffix):
    X = pd.DataFrame(numbers(5, 70_000).round(3), columns=["x0", "x1", "x2"])
    gaps, bad = X.copy(), X.astype(object)
    for row, cell in ((3, "error"), (69_990, "n.d."), (69_995, "error"), (69_999, "off")):
        gaps.loc[row, "x1"], bad.loc[row, "x1"] = np.nan, cell
    clean, file = write(tmp_path / "gaps.csv", gaps), tmp_path / f"new{suffix}"
    if suffix == ".jsonl":
        bad.to_json(file, orient="records", lines=True)
    else:
        write(file, bad.assign(x1=bad["x1"].astype(str)))
    with pytest.warns(UserWarning, match="missing") as caught:
        counts = score_files(DETECTOR.task_, [file], tmp_path / "scores.csv", options=ScoringOptions(keep=("x1",)))
    expected = (
        f"{file}: row 4, column 'x1': 'error' is not a number and taken as missing "
        "(also row 69991: 'n.d.', row 69996: 'error', 1 more)"
    )
    assert [str(warning.message) for warning in caught] == [expected]
    assert counts.n_bad_cells == 4
    assert counts.first_bad_cells() == [
        {"file": str(file), "row": row, "column": "x1", "text": text}
        for row, text in ((4, "error"), (69_991, "n.d."), (69_996, "error"))
    ]
    with pytest.warns(UserWarning, match="gaps"):
        score_files(DETECTOR.task_, [clean], tmp_path / "clean.csv", options=ScoringOptions(keep=("x1",)))
    same = read(tmp_path / "clean.csv")
    assert read(tmp_path / "scores.csv").drop(columns="file").equals(same.drop(columns="file"))


def test_a_column_with_more_bad_cells_than_one_in_twenty_is_an_error_that_names_it(tmp_path):
    def file(n_bad):
        lines = ["0.5,error,2.5"] * n_bad + ["0.5,1.5,2.5"] * (100 - n_bad)
        (tmp_path / "new.csv").write_text("\n".join(["x0,x1,x2", *lines]) + "\n")
        return [tmp_path / "new.csv"]

    with pytest.warns(UserWarning, match="missing"):
        assert score_files(DETECTOR.task_, file(5), tmp_path / "scores.csv").n_bad_cells == 5
    (tmp_path / "scores.csv").unlink()
    with pytest.raises(InputError) as caught:
        score_files(DETECTOR.task_, file(6), tmp_path / "scores.csv")
    assert str(caught.value) == (
        f"{tmp_path / 'new.csv'}: row 1, column 'x1': 'error' is not a number; 6 of 100 cells of this column cannot be "
        "read, and at most 5 % may be taken as missing"
    )
    assert os.listdir(tmp_path) == ["new.csv"]


def test_wrong_files(tmp_path):
    new = write(tmp_path / "new.csv", numbers(1, 5))
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("x0,x1,x2\n")
    (tmp_path / "text.parquet").write_text("hello")
    renamed = write(tmp_path / "renamed.csv", pd.DataFrame(numbers(1, 5), columns=["x0", "speed", "x2"]))
    for name, message in {
        "empty.csv": "empty",
        "header.csv": "no rows, only a header",
        "text.parquet": "cannot be read",
        "nowhere.csv": "cannot be read",
        renamed.name: r"column 'x1' is missing \(renamed to 'speed'\?\)",
    }.items():
        expected = FileError if name == "nowhere.csv" else InputError
        with pytest.raises(expected, match=f"{name}: .*{message}"):
            score_files(DETECTOR.task_, [new, tmp_path / name], tmp_path / "scores.csv")
        assert not (tmp_path / "scores.csv").exists()


@pytest.mark.parametrize("name", ["scores.txt", "scores", "scores.csv.gz"])
def test_other_formats_are_refused_before_any_work(tmp_path, name):
    with pytest.raises(InputError, match=r"scores are written as \.csv or \.parquet, by the name's ending"):
        score_files(DETECTOR.task_, [tmp_path / "nowhere.csv"], tmp_path / name)
    with pytest.raises(FileError, match="No such file or directory"):
        score_files(DETECTOR.task_, [tmp_path / "nowhere.csv"], tmp_path / "nowhere" / "scores.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, suffix):
    new = write(tmp_path / "new.parquet", numbers(1, 70_000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(CapacityError, match=r"cannot write .*scores\S*: .*File too large") as caught:
            score_files(DETECTOR.task_, [new], tmp_path / f"scores{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["new.parquet"]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Peak memory of scoring twice as many rows in a process of its own: the same within a tenth of the data."""
    code = """
        import os, resource, sys
        import numpy as np
        import pyarrow as pa, pyarrow.parquet
        from pathlib import Path
        from oddshot import FewShotDetector
        from oddshot.scoring.streaming import score_files
        columns = [f"x{j}" for j in range(10)]
        rng = np.random.default_rng(0)
        def make(path, n_blocks):
            with pyarrow.parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in columns])) as writer:
                for _ in range(n_blocks):
                    writer.write_table(pa.table(list(rng.normal(size=(10, 50_000))), names=columns))
            return path
        small, large = make(Path(sys.argv[1]) / "small.parquet", 12), make(Path(sys.argv[1]) / "large.parquet", 24)
        detector = FewShotDetector().fit(pa.table(list(rng.normal(size=(10, 6))), names=columns), [0, 0, 0, 0, 0, 1])
        for file in (small, large):
            score_files(detector.task_, [file], Path(sys.argv[1]) / "scores.parquet")
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    after_small, after_large = map(int, done.stdout.split())
    assert after_large - after_small < 0.1 * 600_000 * 10 * 8
