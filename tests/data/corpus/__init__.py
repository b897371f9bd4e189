"""Hostile but honest tables: what strangers have, made by tests, each with the truth and a twin prepared by hand."""

from tests.data.corpus.making import CASES, HostileTable, make_case

__all__ = ["CASES", "HostileTable", "make_case"]
