"""Read files as tasks, encode their columns as numbers, and draw episodes from tasks. NumPy and Arrow, no torch."""
