"""The field trial: the detector as users have it, beside simple methods that see exactly the same rows and labels.

tables.py divides real tables into those for choosing and those for reporting, situations.py lists what users do and
draws episodes, opponents.py has the simple methods, product.py the detector, trial.py runs what the store lacks,
report.py and picture.py show the results. fleets.py compares trained models with the one that ships, keys.py says what
a result depends on, cells.py computes one.
"""
