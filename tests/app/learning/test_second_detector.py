"""A second detector: read from a file that may be anything, and compared by ranks."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from oddshot import FewShotDetector
from oddshot.app.learning import second_detector
from oddshot.app.learning.second_detector import compare_detectors, read_second_detector
from oddshot.app.rankers import make_ranker
from oddshot.errors import InputError, ModelFileError
from oddshot.storage import model_file
from tests.app.samples import some_labels, two_kinds_sheet

SAMPLE = np.arange(100, 300)


def test_the_exported_detector_of_the_page_agrees_with_it():
    sheet, y = two_kinds_sheet()
    labels = some_labels(y, 6, 2)
    ranker = make_ranker(sheet, labels, SAMPLE)
    second = read_second_detector(ranker.export(None), "page.safetensors")
    task = second.adapted(sheet, labels, SAMPLE)
    scores, rows = ranker.score(sheet.encoded), np.arange(len(sheet))
    own = task.score_encoded(task.encode(sheet.table, "rows"))
    found = compare_detectors((scores, ranker.threshold), (own, task.threshold), rows)
    assert found["correlation"] == pytest.approx(1.0)
    assert found["flagged"]["first"] == found["flagged"]["second"] == 0


def test_a_detector_that_python_saved(tmp_path):
    sheet, y = two_kinds_sheet()
    detector = FewShotDetector().fit(sheet.table.slice(0, 40).to_pandas(), y[:40])
    detector.save(tmp_path / "d.safetensors")
    second = read_second_detector((tmp_path / "d.safetensors").read_bytes(), "d.safetensors")
    task = second.adapted(sheet, some_labels(y, 2, 0), SAMPLE)
    np.testing.assert_allclose(
        task.score_encoded(task.encode(sheet.table, "rows")), detector.score_samples(sheet.table.to_pandas()), rtol=1e-6
    )


def test_a_model_adapts_to_the_labels_of_the_page():
    sheet, y = two_kinds_sheet()
    labels = some_labels(y, 6, 2)
    from oddshot.universal.shipped import load_universal

    second = read_second_detector(model_file.to_bytes(load_universal()), "model.safetensors")
    assert second.task is None
    task = second.adapted(sheet, labels, SAMPLE)
    ranker = make_ranker(sheet, labels, SAMPLE)
    own = task.score_encoded(task.encode(sheet.table, "rows"))
    assert spearmanr(own, ranker.score(sheet.encoded)).statistic == pytest.approx(1.0)
    with pytest.raises(InputError, match="normal"):
        second.adapted(sheet, some_labels(y, 0, 1), SAMPLE)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\xff" * 400, (2**40).to_bytes(8, "little") + b"{}"])
def test_other_files_are_refused(data):
    with pytest.raises(ModelFileError, match=r"^odd\.bin: "):
        read_second_detector(data, "odd.bin")


def test_a_damaged_file_is_refused():
    sheet, y = two_kinds_sheet()
    data = bytearray(make_ranker(sheet, some_labels(y, 3, 1), SAMPLE).export(None))
    data[-100] ^= 1
    with pytest.raises(ModelFileError, match="damaged"):
        read_second_detector(bytes(data), "d")


def test_files_beyond_the_limits_are_refused(monkeypatch):
    sheet, y = two_kinds_sheet()
    data = make_ranker(sheet, some_labels(y, 3, 1), SAMPLE).export(None)
    monkeypatch.setattr(second_detector, "MAX_SUPPORT_ROWS", 100)
    with pytest.raises(InputError, match="at most 100"):
        read_second_detector(data, "d")
    monkeypatch.setattr(second_detector, "MAX_FILE_BYTES", 1000)
    with pytest.raises(InputError, match="MiB"):
        read_second_detector(data, "d")


def test_a_table_without_its_columns_is_refused():
    sheet, y = two_kinds_sheet()
    second = read_second_detector(make_ranker(sheet, some_labels(y, 3, 1), SAMPLE).export(None), "d")
    with pytest.raises(InputError, match="x0"):
        second.task.encode(sheet.table.rename_columns([f"z{j}" for j in range(5)]), "rows")


def test_comparison_by_loops():
    rng = np.random.default_rng(0)
    a, b, rows = rng.normal(size=30), rng.normal(size=30), rng.permutation(100)[:30]
    found = compare_detectors((a, 0.5), (b, 0.2), rows)
    assert found["correlation"] == pytest.approx(spearmanr(a, b).statistic)
    assert found["flagged"] == {
        "both": sum(x > 0.5 and y > 0.2 for x, y in zip(a, b, strict=True)),
        "first": sum(x > 0.5 and y <= 0.2 for x, y in zip(a, b, strict=True)),
        "second": sum(x <= 0.5 and y > 0.2 for x, y in zip(a, b, strict=True)),
    }
    places = [(sorted(-a).index(-x) + 1, sorted(-b).index(-y) + 1) for x, y in zip(a, b, strict=True)]
    farthest = max(range(30), key=lambda i: abs(places[i][0] - places[i][1]))
    assert found["rows"][0] == {
        "row": rows[farthest],
        "first": places[farthest][0],
        "second": places[farthest][1],
    }
    assert compare_detectors((a, None), (b, 0.2), rows)["flagged"] is None
    assert compare_detectors((a, None), (np.zeros(30), 0.2), rows)["correlation"] is None
