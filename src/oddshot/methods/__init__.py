"""The methods: one contract, one registry, one file an idea."""

from oddshot.methods.registry import METHODS, find_method, register_method

__all__ = ["METHODS", "find_method", "register_method"]
