"""Names in docs/PAPER.md and CONTRIBUTING.md exist in the source, and links in all pages lead somewhere."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "oddshot"
PAGES = ("docs/PAPER.md", "CONTRIBUTING.md")
NOT_OURS = {"torchrun", "while"}  # another program's command, a word of Algorithm 1
FILE = r"[\w./-]+\.(?:py|js|html|json|md|png|txt)"


def text_of(page):
    return re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)


def spans_of(page):
    return sorted(set(re.findall(r"`([^`\n]+)`", text_of(page))))


def find_file(name):
    """The file of this name relative to the repository or to the package, or None."""
    return next((folder / name for folder in (ROOT, SOURCE) if (folder / name).is_file()), None)


@cache
def definitions(path):
    """Functions, classes, their members ("Class.member") and constants that a file defines."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        found |= set(targets_of(node))
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for inner in node.body for name in targets_of(inner)}
            found |= {f"{node.name}.{inner.attr}" for inner in ast.walk(node) if is_own_attribute(inner)}
    return found


def targets_of(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]


def is_own_attribute(node):
    is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return is_set and isinstance(node.value, ast.Name) and node.value.id == "self"


@cache
def all_definitions():
    return set().union(*(definitions(path) for path in SOURCE.rglob("*.py")))


@cache
def other_words():
    """Names that are no definitions of their own: packages, members, parameters, and names of methods and protocols."""
    trees = [ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    words = {path.stem for path in SOURCE.rglob("*") if path.is_dir() or path.suffix == ".py"}
    words |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return words | {name.split(".")[-1] for name in all_definitions()}


def exists(span):
    """Whether what a page calls by this name is there; None if it is no name of ours (a command, a formula)."""
    if re.fullmatch(FILE, span):
        return find_file(span) is not None
    if match := re.fullmatch(rf"({FILE}): ([\w.]+)", span):
        file = find_file(match[1])
        return file is not None and match[2] in definitions(file)
    if re.fullmatch(r"(oddshot\.)?[a-z_]+(\.[a-z_]+)*\.[A-Z]\w+", span):
        module, name = span.removeprefix("oddshot.").rsplit(".", 1)
        file = SOURCE / (module.replace(".", "/") + ".py")
        return file.is_file() and name in definitions(file)
    if re.fullmatch(r"oddshot\.[a-z_.]+", span):
        path = SOURCE / span.removeprefix("oddshot.").replace(".", "/")
        return path.is_dir() or path.with_suffix(".py").is_file()
    if re.fullmatch(r"[A-Z]\w*\.\w+", span):
        return span in all_definitions()
    if span.startswith("test_"):
        return any(span in definitions(path) for path in (ROOT / "tests").rglob("test_*.py"))
    if re.fullmatch(r"[A-Za-z_]\w+", span):
        return span in other_words() | definitions(ROOT / "tests" / "references.py")
    return None


@pytest.mark.parametrize("page", PAGES)
def test_names_exist(page):
    found = {span: exists(span) for span in spans_of(page)}
    assert {span for span, there in found.items() if there is False} <= NOT_OURS
    assert sum(there is True for there in found.values()) > 30


@pytest.mark.parametrize("page", PAGES)
def test_names_are_in_the_files_that_the_page_gives(page):
    places = re.findall(rf"`([\w.]+)`,?\s+in\s+`({FILE})`", text_of(page))
    places += re.findall(rf"`([\w.]+)` \(`({FILE})`\)", text_of(page))
    missing = [(name, file) for name, file in places if find_file(file) is None or not is_named(name, find_file(file))]
    assert missing == []


def is_named(name, file):
    """Whether a file defines a name; of what is no Python, whether the name occurs in it."""
    return name in definitions(file) if file.suffix == ".py" else name in file.read_text()


def test_a_wrong_name_is_found():
    assert exists("methods/eigen.py: Represented.represent")
    assert not exists("methods/eigen.py: Represented.represents")
    assert not exists("Eigen.adapts")
    assert not exists("methods/represented.py")
    assert exists("score.networks.Layers")
    assert not exists("model.network.Network")


def test_links_lead_to_files_and_headings():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "results").rglob("*.md")]
    assert len(pages) >= 12
    broken = []
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
            if re.match(r"https?:", link):
                continue
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists() or (heading and heading not in anchors(target)):
                broken.append((page.name, link))
    assert broken == []


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
