"""The reference of the commands as Markdown, made of their own help texts: `python -m benchmarks.command_reference`."""

import html
import re
from collections.abc import Iterator
from typing import Any

import typer
import typer.main

from oddshot import cli


def to_markdown() -> str:
    """A section for each command: what it does, examples, and its arguments and options."""
    return "\n".join(_sections("oddshot", typer.main.get_command(cli.app)))


def _sections(name: str, command: Any) -> Iterator[str]:
    if isinstance(command, typer.core.TyperGroup):
        for part, inner in command.commands.items():
            yield from _sections(f"{name} {part}", inner)
        return
    context = typer.Context(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield from (f"## {name}", "", "```text", usage, "```", "", _as_markdown(command.help or ""), "")
    yield from ("| argument or option | meaning |", "| --- | --- |")
    for parameter in command.params:
        if record := parameter.get_help_record(context):
            yield f"| `{_cell(record[0])}` | {_cell(html.escape(record[1], quote=False))} |"
    yield ""


def _as_markdown(text: str) -> str:
    """A help text whose lists of examples, which begin with a backspace, are blocks."""
    text = re.sub(r"\x08\n(\w+):\n((?:  .*(?:\n|$))+)", r"\1:\n\n```text\n\2\n```\n", text)
    return re.sub(r"\n\n```$", "\n```", text.replace("\x08\n", ""), flags=re.MULTILINE)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(to_markdown())
