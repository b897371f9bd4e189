"""The program `oddshot`, also as `python -m oddshot`."""

from typing import NoReturn

from oddshot.cli import main
from oddshot.cli.ending import run_program


def program() -> NoReturn:
    """Run the command line as a process of its own."""
    run_program(main)


if __name__ == "__main__":
    program()
