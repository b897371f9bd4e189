"""Mutants: small changes of a module's syntax tree, and how one takes the place of the imported module."""

import ast
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

SOURCE = Path(__file__).parents[2] / "src/oddshot"
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
    """By the rules of this package."""
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
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
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
