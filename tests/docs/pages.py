"""The pages of the documentation, and their blocks of code."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
COMMANDS = ("", "bash")
SHOWN = ("text", "json")  # what a program prints: not run


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int  # of its first line in the page


def blocks_of(page):
    text = (ROOT / page).read_text()
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [Block(one[2], dedent(one[3], one[1]), text[: one.start(3)].count("\n") + 1) for one in found]


def dedent(text, indent):
    return re.sub(f"^{indent}", "", text, flags=re.MULTILINE)


def commands_in(text):
    """The commands of a block, comments and blank lines left out; one may go over several lines."""
    found, pending = [], ""
    for line in text.splitlines():
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # a quotation that goes on
            pending += "\n"
            continue
        if words:
            found.append(pending)
        pending = ""
    assert pending == "", text
    return found


def commands_of(page):
    return [one for block in blocks_of(page) if block.language in COMMANDS for one in commands_in(block.text)]
