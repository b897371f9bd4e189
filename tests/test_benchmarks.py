"""A benchmark's reference counts only if it computes the same."""

import json

import numpy as np
import pytest
import torch

import benchmarks.__main__ as command
from benchmarks import machine, memory, scoring, service
from benchmarks.__main__ import as_line
from benchmarks.growth import Growth
from benchmarks.models import untrained_model
from benchmarks.reference import Reference
from benchmarks.timing import Verdict
from benchmarks.training_step import bf16_verdict
from oddshot.score.rows import LabelledRows


def test_the_straightforward_reference_has_the_same_loss():
    method = untrained_model(4, units=16).method
    for name in ("phi.weights.0", "phi.weights.1", "phi.weights.2"):
        method.weights[name] *= 3  # so that S_N is not η alone
    reference = Reference(4, units=16).eval()
    for name in ("f", "g", "phi"):
        linear = [layer for layer in getattr(reference, name) if isinstance(layer, torch.nn.Linear)]
        for k, layer in enumerate(linear):
            layer.weight.data = torch.from_numpy(method.weights[f"{name}.weights.{k}"].T)
            if layer.bias is not None:
                layer.bias.data = torch.from_numpy(method.weights[f"{name}.biases.{k}"][0])
    eta = method.config.eta_floor + np.exp(method.weights["log_eta"].astype(np.float64))
    reference.center, reference.log_eta.data = torch.from_numpy(method.weights["center"]), torch.tensor(np.log(eta))
    rows = np.random.default_rng(0).normal(size=(36, 4)).astype(np.float32)
    support, query = rows[:6], rows[6:]
    ours = method.loss(LabelledRows(support[:5], support[5:]), LabelledRows(query[:25], query[25:]))
    expected = reference.double().loss(*(torch.from_numpy(part).double() for part in (support, query)))
    assert ours == pytest.approx(expected.item(), rel=1e-5, abs=1e-5)
    assert abs(ours + 0.5) > 0.01  # the scores differ enough to tell


def test_the_exponent_is_that_of_the_largest_sizes():
    sizes = (1, 10, 20, 40, 80)
    growth = Growth("fit", "rows", sizes, [7.0, *(3 * n**1.5 for n in sizes[1:])])
    assert growth.exponent == pytest.approx(1.5)


def test_a_line_that_the_processor_cannot_hold_says_so(monkeypatch):
    monkeypatch.setattr(machine, "processor_flags", lambda: ["avx2"])
    verdict = bf16_verdict("bf16", 1.0)
    assert (verdict.ratio, verdict.ok) == (None, None)
    assert as_line(verdict).endswith("bf16: needs AVX512-BF16 or AMX, which this processor lacks")
    assert "avx2" in machine.describe_machine()


def test_the_lines_of_the_service_stand_in_the_report_and_stay_there(monkeypatch, tmp_path):
    """With the machine; a run of all benchmarks leaves those alone that are slow, and drops lines that no one makes."""
    monkeypatch.setattr(command, "REPORT", tmp_path / "report.json")
    monkeypatch.setattr(service, "REPORT", tmp_path / "service.json")
    command.REPORT.write_text(json.dumps([{"name": "old"}, {"name": memory.NAMES[0]}]))
    monkeypatch.setattr(service.shutil, "which", lambda name: name)
    figures = {"requests": 100, "seconds": 1.0, "p99_ms": 60.0, "errors": 0, "mb_before": 10.0, "mb_after": 10.0}
    monkeypatch.setattr(service, "measure", lambda *args: figures)
    command.main(["service"])
    lines = {line["name"]: line for line in json.loads(command.REPORT.read_text())}
    assert len(lines) == 2 + 16
    name = "the model that ships, Arrow batches of 512 rows: rows a second"
    assert lines[f"service: {name}"] == {
        **{"name": f"service: {name}", "ratio": 51_200.0, "target": 200_000, "ok": False, "note": ""},
        "machine": machine.describe_machine(),
    }
    assert name in [one["name"] for one in json.loads(service.REPORT.read_text())["verdicts"]]

    monkeypatch.setattr(command, "NAMES", ("scoring",))
    monkeypatch.setattr(scoring, "run", lambda: [Verdict("new", 1.0, 1.0, ok=True)])
    command.main([])
    now = [line["name"] for line in json.loads(command.REPORT.read_text())]
    assert now == [memory.NAMES[0], *(one for one in lines if one.startswith("service: ")), "new"]
