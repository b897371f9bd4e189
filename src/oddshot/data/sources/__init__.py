"""The paper's datasets: their cards, downloads, archives and readers.

cards.py lists the datasets, fetch.py downloads them, catalogue.py loads them by name.
"""
