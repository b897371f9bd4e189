"""README.md fits on a screen or two and names what exists; tests/docs/test_blocks.py runs its commands and snippets."""

import re

import typer.main

from oddshot import cli
from tests.docs.options import options_of
from tests.docs.pages import ROOT, blocks_of

README = (ROOT / "README.md").read_text()
PROSE = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
FIGURES = ROOT / "results" / "field" / "table.md"


def test_it_is_short():
    assert len(README.splitlines()) <= 70
    assert [block.language for block in blocks_of("README.md")] == ["bash", "python"]


def test_it_leads_with_the_demo_and_the_tests_and_the_app_comes_next():
    block = blocks_of("README.md")[0]
    assert re.findall(r"^make (\w+)", block.text, re.MULTILINE) == ["demo", "test"]
    following = README.split("```", 2)[2].split("##")[0]
    assert "`make app`" in following
    assert "make app" not in README.split("```", 2)[0]


def test_commands_and_options_in_the_text_exist():
    known = options_of("oddshot", typer.main.get_command(cli.app))
    for text in re.findall(r"`(oddshot [^`\n]+)`", PROSE):
        words = [word for word in text.split() if not word.startswith("-")]
        assert set(re.findall(r"--[a-z-]+", text)) <= known[" ".join(words)], text


def test_links_and_pictures_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 10
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_figures_are_those_of_the_field_trial():
    situations = ("apart/5+1", "apart/200 unlabelled/5+1", "apart/200 unlabelled/5+0", "growth/200+40")
    rows = [line for line in README.splitlines() if re.search(r"labelled.*\d\.\d{3}", line)]
    for situation, row in zip(situations, rows, strict=True):
        (line,) = [line for line in FIGURES.read_text().splitlines() if line.startswith(f"| {situation} |")]
        cells = [cell.strip() for cell in line.split("|")]
        assert re.findall(r"\d\.\d{3}", row) == [cells[4], cells[5].split()[-1]]
