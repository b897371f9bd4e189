"""The paper's evaluation: a grid of runs, a store of their results, and the tables and figures made from them.

Plugin files (`--plugin`) add their own methods and datasets with `register_method` and `register_dataset`.
"""

from oddshot.bench.plugins import register_dataset
from oddshot.methods import register_method

__all__ = ["register_dataset", "register_method"]
