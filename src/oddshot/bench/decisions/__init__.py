"""The grid of decisions: what thresholds and probabilities hold for every number of labelled and unlabelled rows.

grid.py lists the cells, rows.py says which rows of a table each takes, measure.py fits the detector and counts,
runner.py runs tables and draws in worker processes, fleets.py trained models. results.py keeps what was measured and
takes means over tables, criteria.py, report.py and picture.py show them.
"""
