"""Names and results as the paper prints them in Tables 1, 2 and 3."""

import csv
import functools
from pathlib import Path

from oddshot.bench import plugins
from oddshot.data.sources.cards import CARDS, PAPER_DATASETS

# The columns of Table 1, followed by the ablations of Table 2.
METHOD_TITLES = {
    "eigen": "Ours",
    "svdd": "SVDD",
    "ssvdd": "SSVDD",
    "proto": "Proto",
    "r2d2": "R2D2",
    "maml": "MAML",
    "ft": "FT",
    "osvm": "OSVM",
    "if": "IF",
    "lof": "LOF",
    "lr": "LR",
    "knn": "KNN",
    "rf": "RF",
    "wonn": "WoNN",
    "woproj": "WoProj",
    "woanomaly": "WoAnomaly",
}
RELATIVE_TITLES = {  # not in the paper: `relative` and its ablations
    "relative": "relative",
    "relative-pairs": "without pairs",
    "relative-columns": "without columns",
    "relative-figures": "without figures",
    "relative-head": "without eigenvalue head",
    "relative-marks": "without marks",
    "relative-blend": "without blend",
}
TABLE2_METHODS = ("eigen", "wonn", "woproj", "woanomaly")
RELATIVE_METHODS = tuple(RELATIVE_TITLES)
ABLATIONS = TABLE2_METHODS[1:] + RELATIVE_METHODS[1:]
TABLE1_METHODS = tuple(method for method in METHOD_TITLES if method not in ABLATIONS)
TABLE3_METHODS = ("eigen", "svdd", "ssvdd", "proto", "r2d2", "maml")
FIGURE3_METHODS = ("eigen", "svdd", "ssvdd", "proto", "r2d2")
OUTLIER_DATASETS = PAPER_DATASETS[:22]

TABLE2 = {"eigen": 0.913, "wonn": 0.880, "woproj": 0.874, "woanomaly": 0.853}  # mean AUC
TABLE3 = {"eigen": 1527.0, "svdd": 348.0, "ssvdd": 351.0, "proto": 570.0, "r2d2": 488.0, "maml": 33528.0}  # seconds


@functools.cache
def table1() -> dict[tuple[str, str], float]:
    """The AUCs of Table 1 by dataset and method."""
    names = {title: name for name, title in METHOD_TITLES.items()}
    with Path(__file__).with_name("paper_table1.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["dataset"].lower(), names[title]): float(value)
            for row in csv.DictReader(file)
            for title, value in row.items()
            if title in names
        }


def method_title(name: str) -> str:
    """The name of a method in Table 1, or of an ablation; the method's own name where the paper does not have it."""
    return METHOD_TITLES.get(name) or RELATIVE_TITLES.get(name, name)


def dataset_title(name: str) -> str:
    """The name of a dataset in Table 1, or the title that a plugin registered."""
    if name in plugins.DATASETS:
        return plugins.DATASETS[name].title
    return CARDS[name].title if name in CARDS else name


def order_methods(names: set[str]) -> list[str]:
    """Methods in the paper's order, followed by all others in alphabetical order."""
    return [name for name in METHOD_TITLES if name in names] + sorted(names - set(METHOD_TITLES))


def order_datasets(names: set[str]) -> list[str]:
    """Datasets in the order of Table 1, then the sample of N-BaIoT, then all others in alphabetical order."""
    return [name for name in CARDS if name in names] + sorted(names - set(CARDS))
