"""Runs the tests on mutants, in processes forked from one that has imported everything and collected the tests."""

import argparse
import ast
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

from tests.mutation.mutants import SOURCE, Mutant, apply, find_mutants

TESTS = Path(__file__).parents[1]
TEST_PATHS = {
    "model": ("model", "methods/test_compiled.py"),
    "decisions": ("decisions",),
    "adapted": ("adapted", "methods/test_compiled.py"),
}
MAX_TEST_SECONDS = 30  # of one test of a mutant, which then counts as killed
MAX_BASELINE_SECONDS = 2  # of processor time; slower tests are left out


class Baseline(NamedTuple):
    """How much processor time a test takes without a mutant, and what it calls: module:function."""

    seconds: float
    calls: set[str]


class MutationRun:
    """A pytest plugin that runs the collected tests on mutants."""

    def __init__(self, mutants: list[Mutant], jobs: int) -> None:
        self.mutants, self.jobs = mutants, jobs
        self.killed, self.run = Counter[str](), Counter[str]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of running each test once."""
        baseline = self.learn_baseline(session.items)
        running: dict[int, Mutant] = {}
        waiting = self.mutants[::-1]
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop()
                running[self.fork(self.try_mutant, mutant, select_tests(mutant, session.items, baseline))] = mutant
            process, status = os.wait()
            self.record(running.pop(process), status != 0)
        return True

    def record(self, mutant: Mutant, is_killed: bool) -> None:
        """Count it, and print it if it survived."""
        for group in (mutant.module, mutant.module.split("/")[0], "all"):
            self.run[group] += 1
            self.killed[group] += is_killed
        if not is_killed:
            print(f"survived: src/oddshot/{mutant.module}.py:{mutant.line}: {mutant.change}", flush=True)

    def learn_baseline(self, items: list[pytest.Item]) -> dict[str, Baseline]:
        """Run all tests in a process of its own: threads they start would not outlive a fork."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "baseline.json"
            process = self.fork(write_baseline, items, path)
            if os.waitpid(process, 0)[1] != 0:
                pytest.exit(f"a test fails without any mutant: {path.read_text()}", returncode=2)
            stored = json.loads(path.read_text())
        return {name: Baseline(seconds, set(calls)) for name, (seconds, calls) in stored.items()}

    @staticmethod
    def fork(function: Any, *arguments: Any) -> int:
        """The id of a process that ends with status 0 if the function returns True."""
        process = os.fork()
        if process == 0:
            status = 1
            try:
                quiet = os.open(os.devnull, os.O_WRONLY)
                os.dup2(quiet, 1), os.dup2(quiet, 2)
                status = 0 if function(*arguments) else 1
            finally:
                os._exit(status)
        return process

    @staticmethod
    def try_mutant(mutant: Mutant, items: list[pytest.Item]) -> bool:
        """Whether all tests pass."""
        signal.alarm(MAX_TEST_SECONDS)
        apply(mutant)
        return all(passes(item) for item in items)


def write_baseline(items: list[pytest.Item], path: Path) -> bool:
    """Run each test and write how long it takes and what it calls; whether all pass."""
    modules = {str(SOURCE / f"{module}.py"): module for module in all_modules()}
    for module in modules.values():  # so that replacing the code alone makes no test fail
        tree = ast.parse((SOURCE / f"{module}.py").read_text())
        apply(Mutant(module, tree, "", 0, "nothing", tree, "body", tree.body))
    stored = {}
    for item in items:
        calls: set[str] = set()
        path.write_text(item.nodeid)

        def note_call(frame: Any, event: str, arg: Any, calls: set[str] = calls) -> None:
            if frame.f_code.co_filename in modules:
                name = frame.f_code.co_qualname.split(".<locals>")[0]
                calls.add(f"{modules[frame.f_code.co_filename]}:{name}")

        start = time.process_time()
        sys.settrace(note_call)
        passed = passes(item)
        sys.settrace(None)
        if not passed:
            return False
        stored[item.nodeid] = (time.process_time() - start, sorted(calls))
    path.write_text(json.dumps(stored))
    return True


def passes(item: pytest.Item) -> bool:
    """Run one test, for so long at most."""
    signal.alarm(MAX_TEST_SECONDS)
    return not any(report.failed for report in runtestprotocol(item, log=False))


def select_tests(mutant: Mutant, items: list[pytest.Item], baseline: dict[str, Baseline]) -> list[pytest.Item]:
    """Tests that call the mutated function, or for a constant any function of the package; the fastest first."""
    package = mutant.module.split("/")[0]
    wanted = f"{mutant.module}:{mutant.scope}" if mutant.scope else f"{package}/"
    paths = tuple(str(TESTS / path) for path in TEST_PATHS[package])
    chosen = [
        item
        for item in items
        if str(item.path).startswith(paths)
        and baseline[item.nodeid].seconds <= MAX_BASELINE_SECONDS
        and any(
            call == wanted or (not mutant.scope and call.startswith(wanted)) for call in baseline[item.nodeid].calls
        )
    ]
    return sorted(chosen, key=lambda item: baseline[item.nodeid].seconds)


def all_modules() -> list[str]:
    """Such as model/auc."""
    paths = [path for package in TEST_PATHS for path in sorted((SOURCE / package).glob("[!_]*.py"))]
    return [f"{path.parent.name}/{path.stem}" for path in paths]


def main() -> int:
    """Print survivors as they are found, then the share of killed mutants."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Share of mutants killed by tests.")
    parser.add_argument("modules", nargs="*", help="such as model/auc or decisions; all if none is given")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn at random; all if not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--min-killed", type=float, default=0.85, help="the share below which the run fails")
    options = parser.parse_args()
    modules = [name for name in all_modules() if name.startswith(tuple(options.modules) or "")]
    mutants = [mutant for module in modules for mutant in find_mutants(module)]
    n_found = len(mutants)
    if options.sample is not None and options.sample < n_found:
        mutants = random.Random(options.seed).sample(mutants, options.sample)
    os.environ["OMP_NUM_THREADS"] = "1"
    quick = {"database": None, "derandomize": True, "phases": [Phase.explicit, Phase.generate]}
    settings.register_profile("mutation", settings.get_profile("default"), **quick)
    settings.load_profile("mutation")
    paths = dict.fromkeys(path for module in modules for path in TEST_PATHS[module.split("/")[0]])
    plugin, start = MutationRun(mutants, options.jobs), time.monotonic()
    status = pytest.main(["-s", "-p", "no:cacheprovider", *(str(TESTS / path) for path in paths)], plugins=[plugin])
    for group, count in sorted(plugin.run.items()):
        print(f"{group:24} {plugin.killed[group]:5} of {count:5} killed, {plugin.killed[group] / count:.1%}")
    print(f"{len(mutants)} of {n_found} mutants, seed {options.seed}, {time.monotonic() - start:.0f} s")
    return int(status) or int(plugin.killed["all"] < options.min_killed * len(mutants))


if __name__ == "__main__":
    sys.exit(main())
