"""The paper's evaluation: a grid of runs, a store that keeps them, tables and figures.

A method or a dataset of one's own takes part by one call in a file given as `--plugin`.
"""

from oddshot.bench.plugins import register_dataset
from oddshot.methods import register_method

__all__ = ["register_dataset", "register_method"]
