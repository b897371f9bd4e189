"""The scripts as cells of text and code, the page that shows them, and notebooks with the same cells."""

import ast
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER, PICTURES, PAGE = ROOT / "examples", ROOT / "docs" / "examples", ROOT / "docs" / "examples.md"
NAMES = (
    "one_table_with_six_labels",
    "sensors_of_a_fleet",
    "thresholds",
    "explanation",
    "unlabelled_rows",
    "active_labelling",
    "transactions",
    "digits_of_unseen_kinds",
    "comparing_methods",
    "rest_client",
)
NOTEBOOKS = NAMES[:3]
PAGE_HEAD = """\
# Examples

Each of these scripts answers a question and ends with a picture. `python examples/thresholds.py picture.png` saves the
picture, and without a path it is shown. Each script takes a few seconds and needs only the package; the last one also
needs the extra `app`. The data are synthetic or ship with scikit-learn. `make examples` runs all scripts and makes
this page. Three of them are notebooks as well, with the same cells: {notebooks}.
"""


class Script(NamedTuple):
    """A script: its name, the question, the paragraph below it, and its cells, each as text and code."""

    name: str
    question: str
    paragraph: str
    cells: tuple[tuple[str, str], ...]


def read_script(name: str) -> Script:
    """Read a script in the percent format: a docstring, then cells that begin with `# %%` and a comment."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    question, _, paragraph = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    _, *cells = source.split("\n# %%\n")
    return Script(name, question, paragraph, tuple(map(_split_cell, cells)))


def make_page() -> str:
    """The page docs/examples.md."""
    links = ", ".join(f"[{name}](../examples/notebooks/{name}.ipynb)" for name in NOTEBOOKS)
    parts = [PAGE_HEAD.format(notebooks=links)]
    for script in map(read_script, NAMES):
        picture = f"![{script.question}](examples/{script.name}.png)"
        link = f"[examples/{script.name}.py](../examples/{script.name}.py)"
        parts.append(f"## {script.question}\n\n{script.paragraph}\n\n{picture}\n\n{link}\n")
    return "\n".join(parts)


def make_notebook(name: str) -> str:
    """The cells of a script as a notebook, nbformat 4.5, without outputs; its picture is always shown."""
    script = read_script(name)
    cells = [_cell("markdown", f"# {script.question}\n\n{script.paragraph}", name)]
    for k, (text, code) in enumerate(_shown(script)):
        cells += [_cell(kind, part, f"{name}{k}") for kind, part in (("markdown", text), ("code", code)) if part]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _shown(script: Script) -> Iterator[tuple[str, str]]:
    """The cells without the last one, which looks at the command line; what it needs is left out as well."""
    for k, (text, code) in enumerate(script.cells[:-1]):
        yield text, code.replace("import sys\n", "", 1).lstrip("\n") if k == 0 else code
    yield "", "plt.show()"


def _split_cell(cell: str) -> tuple[str, str]:
    """The comment at the top of a cell as text, and its code."""
    lines = cell.rstrip("\n").split("\n")
    n_text = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return " ".join(line.removeprefix("#").strip() for line in lines[:n_text]), "\n".join(lines[n_text:]).strip("\n")


def _cell(kind: str, text: str, place: str) -> dict[str, Any]:
    """A cell whose id depends on its place alone, so that a change of its text is a change of its text only."""
    number = hashlib.sha256(f"{place} {kind}".encode()).hexdigest()[:8]
    cell = {"cell_type": kind, "id": number, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell
