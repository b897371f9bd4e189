"""The options of all commands."""

import typer.core


def options_of(name, command):
    """The options of a command and of those below it, by their full names."""
    found = {name: {option for parameter in command.params for option in parameter.opts} | {"--help"}}
    if isinstance(command, typer.core.TyperGroup):
        for part, inner in command.commands.items():
            found |= options_of(f"{name} {part}", inner)
    return found
