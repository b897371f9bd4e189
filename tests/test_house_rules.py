"""Rules that hold for all source files, checked on their syntax trees."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "oddshot"
MAX_LINES, MAX_PARAMETERS, MAX_TOP_LEVEL_MODULES = 60, 8, 4
MANY_PARAMETERS = {
    "training.meta_training.meta_train": "public, keyword-only: each parameter is a choice of the user",
}
ATTRIBUTE_PROBES = {  # modules that may use getattr or hasattr, with the reason
    "__init__": "public names are imported when they are first used",
    "training": "names are imported when they are first used: its progress bars need no torch",
    "bench.export": "columns of a record by name",
    "bench.field.situations": "fields of a dataclass by name",
    "bench.field.store": "SQLite's error name, which not all Python versions set",
    "bench.figure2": "fields of a dataclass by name",
    "bench.store": "columns of a record by name, and SQLite's error name, which not all Python versions set",
    "cli.bench": "columns of a record by name",
    "data.encoding.validation": "fields of a dataclass by name",
    "data.episodes.sampling": "fields of a dataclass by name",
    "data.tables.conversion": "recognises pandas, polars and Arrow without importing them",
    "data.tables.target": "recognises columns of pandas and polars without importing them",
    "detector": "recognises tables without importing their libraries",
    "methods.hyperparameters": "fields of a dataclass by name",
    "methods.registry": "a registered class may lack the attribute",
}
SAME_CLASS_NAMES: dict[str, str] = {}  # names of classes that two modules may define, with the reason


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_name(path): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def functions(tree, prefix=""):
    """All functions and methods with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        name = (
            f"{prefix}.{node.name}" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ""
        )
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield name, node
        yield from functions(node, name or prefix)


ALL_FUNCTIONS = [(name, node) for module, tree in MODULES.items() for name, node in functions(tree, module)]


def count_lines(function, *, with_signature):
    """Lines of a function without its docstring."""
    has_docstring = ast.get_docstring(function) is not None
    statements = function.body[1:] if has_docstring else function.body
    n_body = function.end_lineno - statements[0].lineno + 1 if statements else 0
    return n_body + (function.body[0].lineno - function.lineno if with_signature else 0)


def test_functions_are_short():
    """The signature of a command counts for nothing: it lists its options."""
    too_long = {
        name: n_lines
        for name, node in ALL_FUNCTIONS
        if (n_lines := count_lines(node, with_signature=not name.startswith("cli."))) > MAX_LINES
    }
    assert too_long == {}


def test_functions_have_few_parameters():
    too_many = set()
    for name, node in ALL_FUNCTIONS:
        listed = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        if len([arg for arg in listed if arg not in ("self", "cls")]) > MAX_PARAMETERS and not name.startswith("cli."):
            too_many.add(name)
    assert too_many == set(MANY_PARAMETERS)


def test_the_package_has_few_modules_beside_its_packages():
    modules = [path.name for path in SOURCE.glob("*.py")]
    assert len(modules) <= MAX_TOP_LEVEL_MODULES, modules


def test_attributes_are_not_probed():
    probing = {
        module
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")
    }
    assert probing <= set(ATTRIBUTE_PROBES)


def test_every_class_name_is_defined_once():
    defined = defaultdict(list)
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].append(module)
    assert {name: modules for name, modules in defined.items() if len(modules) > 1}.keys() == SAME_CLASS_NAMES.keys()


def imports(tree):
    """Modules of this package that a module imports, in functions too, but not for type checking only."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        return
    if isinstance(tree, ast.ImportFrom) and (tree.module or "").split(".")[0] == "oddshot":
        parent = tree.module.removeprefix("oddshot").removeprefix(".")
        for alias in tree.names:
            name = f"{parent}.{alias.name}".removeprefix(".")
            yield name if name in MODULES else parent or "__init__"
    if isinstance(tree, ast.Import):
        yield from (a.name.removeprefix("oddshot.") for a in tree.names if a.name.startswith("oddshot."))
    for node in ast.iter_child_nodes(tree):
        yield from imports(node)


def find_cycle(graph):
    """A list of nodes each of which leads to the next and the last to the first, found depth first; [] if none."""
    finished, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node) :]
        if node in finished:
            return []
        path.append(node)
        for neighbour in sorted(graph.get(node, ())):
            if cycle := visit(neighbour):
                return cycle
        finished.add(path.pop())
        return []

    return next((cycle for node in graph if (cycle := visit(node))), [])


def test_imports_have_no_cycle():
    graph = {module: set(imports(tree)) for module, tree in MODULES.items()}
    assert set().union(*graph.values()) <= set(graph)
    assert sum(map(len, graph.values())) > 300  # imports are found at all
    assert find_cycle(graph) == []


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c"]),
        ({"a": {"a"}}, ["a"]),
    ],
)
def test_cycles_are_found(graph, expected):
    assert find_cycle(graph) == expected
