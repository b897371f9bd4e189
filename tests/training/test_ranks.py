"""Processes that torchrun starts, joined by Gloo: they train the model that one process trains."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from oddshot import load_model
from oddshot.training import Ranks, torchrun_ranks
from oddshot.training.trainable import drop
from tests.fleets import labels, numbers

EPISODES = ["--label=fault", "--support-normal=3", "--query-normal=5", "--query-anomaly=2"]
OPTIONS = [*EPISODES, "--method=relative", "--epochs=12", "--units=16"]
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


@pytest.fixture
def train(tmp_path):
    for t in range(10):
        columns = dict(zip("abc", numbers(t).T, strict=True))
        pd.DataFrame(columns | {"fault": labels()}).to_csv(tmp_path / f"machine{t}.csv", index=False)

    def run(*options, launcher=(), settings=OPTIONS):
        command = [sys.executable, *launcher, "-m", "oddshot", "train", *options, *settings, "--device=cpu", "--seed=1"]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    return run


def test_two_processes_train_the_same_model_and_one_of_them_speaks(tmp_path, train):
    alone = train("machine*.csv", "--out=one.safetensors")
    together = train("machine*.csv", "--out=two.safetensors", launcher=TWO)
    assert (alone.returncode, together.returncode) == (0, 0), together.stderr
    one, two = (load_model(tmp_path / f"{name}.safetensors") for name in ("one", "two"))
    assert one.training["best_epoch"] > 3  # or nothing was learned that could differ
    assert two.training["best_epoch"] == one.training["best_epoch"]
    for name, value in one.method.weights.items():
        if name != "attention.biases.1":  # softmax does not see it: its gradient is rounding, which Adam makes a step
            np.testing.assert_allclose(two.method.weights[name], value, rtol=1e-4, atol=1e-5)
    assert two.threshold == pytest.approx(one.threshold, rel=1e-3)
    assert together.stdout.count("10 tasks, 400 rows") == together.stdout.count("written: ") == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".csv") == [
        "one.safetensors",
        "two.safetensors",
    ]


def test_two_processes_compare_candidates_as_one_does(tmp_path, train):
    settings = [*EPISODES, "--support-anomaly=0", "--epochs=2"]
    alone = train("machine*.csv", "--out=one.safetensors", settings=settings)
    together = train("machine*.csv", "--out=two.safetensors", launcher=TWO, settings=settings)
    assert (alone.returncode, together.returncode) == (0, 0), together.stderr
    one, two = (load_model(tmp_path / f"{name}.safetensors").training for name in ("one", "two"))
    assert two["chosen"] == one["chosen"]
    trained = "the model that ships, trained further"
    assert two["candidates"][trained]["auc"] == pytest.approx(one["candidates"][trained]["auc"], abs=1e-3)


def test_a_mistake_is_one_line_whatever_the_number_of_processes(tmp_path, train):
    done = train("machine0.csv", "--out=nowhere/model.safetensors", launcher=TWO)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("oddshot: ")]
    assert said == ["oddshot: cannot write nowhere/model.safetensors: No such file or directory"]


@pytest.mark.parametrize(("n_tasks", "size"), [(256, 2), (7, 3), (5, 5)])
def test_shards_cover_every_task_once(n_tasks, size):
    parts = [Ranks(rank, size).shard(n_tasks) for rank in range(size)]
    assert [task for first, end in parts for task in range(first, end)] == list(range(n_tasks))
    assert {end - first for first, end in parts} <= {n_tasks // size, n_tasks // size + 1}


def test_a_part_has_the_noise_that_it_has_in_the_whole_batch():
    x = torch.ones(2, 7, 3, 5)
    whole = drop(x, 0.3, torch.Generator().manual_seed(0))
    for first, end in ((0, 3), (3, 5), (5, 7)):
        noise = torch.Generator().manual_seed(0)
        part = drop(x[:, first:end], 0.3, noise, shard_margins=(first, 7 - end))
        assert torch.equal(part, whole[:, first:end])


def test_outside_of_torchrun_there_is_one_process():
    with torchrun_ranks("cpu") as (ranks, device):
        assert (ranks, device) == (Ranks(0, 1), "cpu")
        value = torch.ones(3)
        ranks.all_reduce_sum([value])
        assert torch.equal(ranks.broadcast(value), torch.ones(3))
