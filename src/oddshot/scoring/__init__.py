"""Whole files scored: a chunk at a time here, or many files at once on a Ray cluster."""
