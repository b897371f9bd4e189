"""`score` and `bench run` with `--engine ray` on a cluster of four processes, one of which is killed on the way."""

import os
import signal
import sys
import time

import pandas as pd
import pytest

from oddshot.adapted.task import AdaptedTask
from oddshot.bench.store import read_store
from oddshot.cli import main
from oddshot.data.tables.conversion import as_table
from oddshot.errors import CapacityError, InputError
from oddshot.scoring import distributed
from oddshot.scoring.cluster import connect
from oddshot.scoring.distributed import RayScoring, score_file
from oddshot.scoring.streaming import score_files
from tests.bench.samples import restored_registries, write_plugin
from tests.fleets import labels, numbers, small_model

N_PROCESSES = 4
N_ROWS = (5, 70_000, 1, 40, 300, 2_000, 7, 900)  # of the files; one is longer than a chunk
MORTAL = """
import signal

@register_method
class Mortal(Learner):
    name = "mortal"

    def adapt(self, support, unlabelled=None):
        died = Path(self.config.trouble)
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().adapt(support, unlabelled)
"""


@pytest.fixture(scope="module")
def cluster():
    """A Ray that runs already; the commands use it and leave it running."""
    ray = pytest.importorskip("ray")
    assert connect(ray, address=None, n_workers=N_PROCESSES)
    assert not connect(ray, address=None)
    yield ray
    ray.shutdown()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "new").mkdir()
    paths = [tmp_path / "new" / f"{k}.{'csv' if k % 2 else 'parquet'}" for k in range(len(N_ROWS))]
    for k, (path, n) in enumerate(zip(paths, N_ROWS, strict=True)):
        frame(k, n).to_csv(path, index=False) if path.suffix == ".csv" else frame(k, n).to_parquet(path)
    return paths


def frame(seed, n):
    return pd.DataFrame(numbers(seed, n), columns=["x0", "x1", "x2"]).assign(id=[f"{seed}-{i}" for i in range(n)])


def command(monkeypatch, *arguments):
    """Run the command line in this process, which is connected to the cluster."""
    monkeypatch.setattr(sys, "argv", ["oddshot", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def test_scores_are_the_local_ones_although_a_worker_is_killed(cluster, files, tmp_path, monkeypatch):
    frame(9, 40).assign(fault=labels()).to_csv(tmp_path / "support.csv", index=False)
    small_model().save(tmp_path / "model.safetensors")
    died, attempts = tmp_path / "died", tmp_path / "attempts"
    attempts.mkdir()

    def processes():
        return {path.name.split()[0] for path in attempts.iterdir()}

    def score_or_die(task, file, options):  # in here, so that it travels to the workers by value
        (attempts / f"{os.getpid()} {time.monotonic_ns()} {os.path.basename(file)}").touch()
        deadline = time.monotonic() + 40
        while len(processes()) < N_PROCESSES and time.monotonic() < deadline:
            time.sleep(0.05)  # the first worker does not score all files before the others have started
        result = score_file(task, file, options)
        if file.endswith("1.csv") and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    monkeypatch.setattr(distributed, "score_file", score_or_die)
    score = ("score", f"--model={tmp_path / 'model.safetensors'}", f"--support={tmp_path / 'support.csv'}")
    score += ("--label=fault", *files, "--quiet", "--keep=id,x1")
    command(monkeypatch, *score, "--out", tmp_path / "local.csv")
    command(monkeypatch, *score, "--out", tmp_path / "ray.csv", "--engine", "ray")
    assert len(processes()) >= N_PROCESSES
    assert len(list(attempts.iterdir())) > len(files)  # one of them was scored again
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()
    assert len(pd.read_csv(tmp_path / "ray.csv")) == sum(N_ROWS)


def test_runs_are_the_local_ones_although_a_worker_is_killed(cluster, tmp_path, monkeypatch):
    plugin, died = write_plugin(tmp_path), tmp_path / "died"
    plugin.write_text(plugin.read_text() + MORTAL)
    run = ("bench", "run", "--protocol=resampled", "--datasets=toy,fleet", "--methods=quick,mortal", "--splits=2")
    run += (f"--plugin={plugin}", f"--set=mortal.trouble={died}", "--epochs=3", "--device=cpu", "--quiet")
    found = []
    with restored_registries():
        for engine in ("local", "ray"):
            died.touch() if engine == "local" else died.unlink()
            command(monkeypatch, *run, "--store", tmp_path / engine, "--engine", engine, "--workers=1")
            records = read_store(tmp_path / engine)
            found.append([(one.key, one.status, one.auc_strict, one.task_aucs, one.best_epoch) for one in records])
    assert died.exists()
    assert len(found[0]) == 8
    assert found[1] == found[0]


def test_mistakes_are_one_line_and_nothing_is_written(cluster, files, tmp_path, monkeypatch):
    bad, out = tmp_path / "new" / "bad.csv", tmp_path / "scores.parquet"
    frame(0, 5).rename(columns={"x1": "speed"}).to_csv(bad, index=False)

    class Doomed(AdaptedTask):
        def score_encoded(self, rows):
            os._exit(1)

    support = as_table(frame(9, 40)), labels()
    with pytest.raises(InputError, match=r"bad\.csv: column 'x1' is missing") as caught:
        score_files(AdaptedTask.from_table(small_model(), *support), [*files, bad], out, score=RayScoring())
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(distributed, "MAX_RETRIES", 0)
    with pytest.raises(CapacityError, match=r"0\.parquet: not scored, its workers were lost"):
        score_files(Doomed.from_table(small_model(), *support), files[:1], out, score=RayScoring())
    assert os.listdir(tmp_path) == ["new"]
    assert cluster.is_initialized()
