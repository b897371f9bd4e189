"""Mutation run: do the tests notice small errors that are made in the source on purpose?

    python -m tests.mutation --sample 600 --seed 0

A mutant is one small change of one module: a comparison moved to its boundary or reversed, + for -, * for /, `and` for
`or`, a `not` or a minus sign left out, another number, string or default, `min` for `max`, a condition negated, a
statement deleted, None returned. All tests run once without a mutant, to learn how long each takes and which functions
it calls. Then a process is forked for each mutant, which replaces the code of that module and runs the tests that call
the changed function, the fastest first. A mutant is killed if one of them fails or takes over MAX_TEST_SECONDS.

Never mutated, because no test could or should notice: docstrings, annotations, imports, `__all__`, decorators,
assertions (they are for the type checker), texts of errors and other f-strings, `strict=True` of zip, branches that
only a GPU takes, and constants that decide on speed or memory but not on results (PERFORMANCE_CONSTANTS).
"""

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
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src/oddshot", ROOT / "tests"
TEST_PATHS = {
    "model": ("model", "methods/test_compiled.py"),
    "decisions": ("decisions", "storage/test_model_file.py"),
    "adapted": ("adapted", "methods/test_compiled.py", "scoring/test_streaming.py"),
}
MAX_TEST_SECONDS = 20  # of one test of a mutant, which then counts as killed
MAX_BASELINE_SECONDS = 1.5  # slower tests are left out
PERFORMANCE_CONSTANTS = {"MAX_BLOCK_NUMBERS", "TURNS_PER_THREAD"}

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult,
}  # fmt: skip
NAMES = {"min": "max", "minimum": "maximum", "amin": "amax", "clamp_min": "clamp_max", "any": "all", "floor": "ceil"}
NAMES |= {new: old for old, new in NAMES.items()}


class Mutant(NamedTuple):
    """A field of a node of the module's syntax tree gets another value. scope: the outermost function, "" for none."""

    module: str
    tree: ast.Module
    scope: str
    line: int
    change: str
    node: ast.AST
    field: str
    value: object


def find_mutants(module: str) -> list[Mutant]:
    """All mutants of a module, such as model/auc."""
    tree = ast.parse((SOURCE / f"{module}.py").read_text())
    return [
        Mutant(module, tree, scope, getattr(node, "lineno", 0), change, node, field, value)
        for scope, node in mutable_nodes(tree)
        for change, field, value in (*changes(node), *deletions(node))
    ]


def mutable_nodes(node: ast.AST, classes: str = "", scope: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The node and all below it, each with its outermost function, without those that are never mutated."""
    if isinstance(node, ast.ClassDef):
        classes = f"{classes}{node.name}."
    elif isinstance(node, ast.FunctionDef):
        scope = scope or f"{classes}{node.name}"
    yield scope, node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not is_excluded(child):
                yield from mutable_nodes(child, classes, scope)


def is_excluded(node: ast.AST) -> bool:
    """By the rules above."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr() | ast.Raise():
            return True
        case ast.Expr(ast.Constant()) | ast.keyword(arg="strict") | ast.If(ast.Attribute(attr="is_cuda")):
            return True
        case ast.Assign([ast.Name(id=name)]):
            return name == "__all__" or name in PERFORMANCE_CONSTANTS
    return False


def changes(node: ast.AST) -> Iterator[tuple[str, str, object]]:
    """What is changed, the field of the node and its new value."""
    match node:
        case ast.Compare(ops=ops):
            for k, op in enumerate(ops):
                for new in COMPARISONS[type(op)]:
                    yield f"{new.__name__} in `{ast.unparse(node)}`", "ops", [*ops[:k], new(), *ops[k + 1 :]]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield f"{ARITHMETIC[type(op)].__name__} in `{ast.unparse(node)}`", "op", ARITHMETIC[type(op)]()
        case ast.BoolOp(op=op):
            yield f"and/or in `{ast.unparse(node)}`", "op", ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"no not in `{ast.unparse(node)}`", "operand", ast.UnaryOp(ast.Not(), operand)
        case ast.UnaryOp(op=ast.USub()):
            yield f"no minus in `{ast.unparse(node)}`", "op", ast.UAdd()
        case ast.Constant(value=bool(value)):
            yield f"{not value} for {value}", "value", not value
        case ast.Constant(value=int(value) | float(value)):
            new = value + 1 if abs(value) < 100 else 2 * value
            yield f"{new} for {value}", "value", new
        case ast.Constant(value=str(value)):
            yield f"{value + 'X'!r}", "value", value + "X"
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield f"negated `{ast.unparse(test)}`", "test", ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=ast.expr() as value):
            yield f"None for `{ast.unparse(value)}`", "value", ast.Constant(None)
        case ast.Name(id=name) if name in NAMES:
            yield f"{NAMES[name]} for {name}", "id", NAMES[name]
        case ast.Attribute(attr=name) if name in NAMES:
            yield f"{NAMES[name]} for {name}", "attr", NAMES[name]


def deletions(node: ast.AST) -> Iterator[tuple[str, str, object]]:
    """Statements of a function without which the rest may still run."""
    for field in () if isinstance(node, ast.ClassDef | ast.Module) else ("body", "orelse"):
        statements = getattr(node, field, None)
        for k, statement in enumerate(statements if isinstance(statements, list) else []):
            match statement:
                case ast.Expr(ast.Constant()) | ast.If(ast.Attribute(attr="is_cuda")):
                    continue
                case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Assign([ast.Subscript() | ast.Attribute()]):
                    rest = [*statements[:k], ast.Pass(), *statements[k + 1 :]]
                    yield f"line {statement.lineno} deleted: `{ast.unparse(statement)[:80]}`", field, rest


def functions_of(namespace: dict[str, Any], file: str) -> dict[str, FunctionType]:
    """All functions that were compiled from a file, by their qualified names, under whatever wrappers."""
    found, waiting, seen = {}, list(namespace.values()), set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        match value:
            case FunctionType():
                if value.__code__.co_filename == file:
                    found[value.__code__.co_qualname] = value
                waiting += [value.__wrapped__] if hasattr(value, "__wrapped__") else []
            case property():
                waiting.append(value.fget)
            case cached_property():
                waiting.append(value.func)
            case classmethod() | staticmethod():
                waiting.append(value.__func__)
            case type() if value.__module__ == namespace["__name__"]:
                waiting += vars(value).values()
    return found


def apply(mutant: Mutant) -> None:
    """Change the module where it is: the code and defaults of its functions, and its constants wherever they are."""
    setattr(mutant.node, mutant.field, mutant.value)
    live = sys.modules["oddshot." + mutant.module.replace("/", ".")]
    changed = ModuleType(live.__name__)
    changed.__file__ = file = str(live.__file__)
    exec(compile(ast.fix_missing_locations(mutant.tree), file, "exec"), vars(changed))
    functions = functions_of(vars(live), file)
    for name, new in functions_of(vars(changed), file).items():
        old = functions[name]
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    users = [module for name, module in sys.modules.items() if name.split(".")[0] in ("oddshot", "tests")]
    for name, old in list(vars(live).items()):
        if name.isupper():
            for user in users:
                if vars(user).get(name) is old:
                    setattr(user, name, vars(changed)[name])


class Baseline(NamedTuple):
    """How long a test takes without a mutant, and what it calls: module:function."""

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
            process = self.fork(write_baseline, items, Path(folder) / "baseline.json")
            if os.waitpid(process, 0)[1] != 0:
                pytest.exit("a test fails without any mutant; run pytest to see which", returncode=2)
            stored = json.loads((Path(folder) / "baseline.json").read_text())
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

        def note_call(frame: Any, event: str, arg: Any, calls: set[str] = calls) -> None:
            if frame.f_code.co_filename in modules:
                name = frame.f_code.co_qualname.split(".<locals>")[0]
                calls.add(f"{modules[frame.f_code.co_filename]}:{name}")

        start = time.monotonic()
        sys.settrace(note_call)
        passed = passes(item)
        sys.settrace(None)
        if not passed:
            return False
        stored[item.nodeid] = (time.monotonic() - start, sorted(calls))
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
