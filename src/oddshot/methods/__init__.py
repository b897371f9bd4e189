"""The methods: one contract, one registry, one file an idea."""

from oddshot.methods.registry import find_method, method_names, register_method

__all__ = ["find_method", "method_names", "register_method"]
