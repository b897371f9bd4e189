"""A file becomes tasks, tasks become episodes. NumPy only, no torch."""
