"""`python -m oddshot` is the command `oddshot`."""

from oddshot.cli import main

main()
