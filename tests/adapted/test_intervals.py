"""The time since the row before, in rows that are taken apart: by their labels, in blocks of a file, and in files."""

import numpy as np
import pandas as pd
import pytest

from oddshot import FewShotDetector, Model, load_detector, load_universal
from oddshot import detector as module
from oddshot.adapted import AdaptedTask
from oddshot.app.sheet import make_sheet
from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.tables import readers
from oddshot.data.tables.conversion import as_table
from oddshot.errors import InputError
from oddshot.scoring.streaming import score_files
from oddshot.service.limits import ServiceLimits
from oddshot.service.workers import WorkerConfig
from tests.methods.samples import build

N_ROWS = 60
Y = np.where(np.arange(N_ROWS) % 7 == 3, 0, -1)
Y[10] = 1


def frame(seed=0):
    rng = np.random.default_rng(seed)
    seconds = np.cumsum(rng.exponential(60, N_ROWS).round() + 1)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(seconds, unit="s")
    return pd.DataFrame({"a": rng.normal(size=N_ROWS), "when": when.strftime("%d.%m.%Y %H:%M:%S")})


def seconds(table):
    when = pd.to_datetime(table["when"], format="%d.%m.%Y %H:%M:%S")
    return table.assign(when=when.diff().dt.total_seconds())


@pytest.fixture(scope="module")
def fitted():
    return FewShotDetector(columns={"when": "interval"}).fit(frame(), Y)


def test_labelled_rows_have_the_interval_to_the_row_before_in_the_table(fitted):
    expected = seconds(frame())["when"].to_numpy()
    encoder = fitted.encoding_.encoders[1]
    support = fitted.task_.support[:, 1] * encoder.scale + encoder.mean
    np.testing.assert_allclose(support, expected[Y >= 0], rtol=1e-5)


def test_blocks_files_and_loaded_detectors_score_the_same(fitted, tmp_path, monkeypatch):
    new = frame(1)
    expected = fitted.score_samples(new)
    monkeypatch.setattr(module, "MAX_BLOCK_ROWS", 7)
    np.testing.assert_allclose(fitted.score_samples(new), expected, rtol=1e-5, atol=1e-5)
    fitted.save(tmp_path / "detector.safetensors")
    np.testing.assert_allclose(
        load_detector(tmp_path / "detector.safetensors").score_samples(new), expected, rtol=1e-5, atol=1e-5
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr(readers.stream_table, "__defaults__", (7, None))
    for suffix in ("csv", "jsonl"):
        new.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
        score_files(fitted.task_, [tmp_path / f"new.{suffix}"], tmp_path / "scores.csv")
        np.testing.assert_allclose(pd.read_csv(tmp_path / "scores.csv")["score"], expected, rtol=1e-4)


def test_arrays_have_no_row_before():
    with pytest.raises(InputError, match="column 'x0': the kind interval needs a table with named columns"):
        FewShotDetector(columns={"x0": "interval"}).fit(np.zeros((60, 2)), Y)


def test_a_model_has_intervals_and_the_app_keeps_them_but_the_service_refuses_it(tmp_path):
    encoding = Encoding.fit([as_table(frame(t)) for t in range(4)], choice=ColumnChoice.of({"when": "interval"}))
    method = build("eigen", M=encoding.n_attributes, dtype=np.float32, units=4)
    model = Model(method, encoding, 0.25, {}, load_universal().calibration)
    model.save(tmp_path / "model.safetensors")
    table = as_table(frame(9))
    sheet, rows = make_sheet(table, "t", "", model), np.array([5, 40])
    np.testing.assert_array_equal(encoding.transform(sheet.take(rows)), sheet.encoded[rows])
    task = AdaptedTask.from_table(model, table, Y)
    np.testing.assert_array_equal(task.support, sheet.encoded[Y >= 0])
    config = WorkerConfig(tmp_path / "model.safetensors", "127.0.0.1", None, ServiceLimits(), None)
    with pytest.raises(InputError, match="column 'when' of the model is the time since the row before"):
        config.build()
