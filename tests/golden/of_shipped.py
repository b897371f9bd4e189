"""The model that ships, on arrays and on tables of every kind; what it explains, suggests and refuses."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from oddshot import FewShotDetector, Task
from tests.golden.of_methods import decisions, watched
from tests.golden.samples import labels, mixed, numbers, support

SUPPORTS = {"5+1": (5, 1), "5+0": (5, 0), "3+2": (3, 2)}
UNLABELLED = (0, 30, 300)
WIDTHS = (1, 6, 40)
EVERY = 25  # of many rows, each so-many-th score is kept, and their mean


def record_shipped() -> dict[str, Any]:
    """Arrays of three widths and a mixed table, with each support and each number of unlabelled rows."""
    out: dict[str, Any] = {}
    for name, sizes in SUPPORTS.items():
        for u in UNLABELLED:
            out[f"{name}, {u} unlabelled"] = _of_each_table((*sizes, u))
    return out | {"explained": _explained(), "odd input": _odd(), "refused": _refusals()}


def _of_each_table(sizes: tuple[int, int, int]) -> dict[str, Any]:
    out = {}
    for width in WIDTHS:
        rows = (numbers(60 + width, 400, width), numbers(61 + width, 10, width), numbers(62, 300, width))
        out[f"{width} columns"] = watched(partial(_scored, *rows, sizes))
    rows = (mixed(70, 400), mixed(71, 10), mixed(72, 300))
    out["mixed"] = watched(partial(_scored, *rows, sizes))
    out["mixed, at a rate"] = watched(partial(_at_a_rate, *rows[:2], sizes))
    return out


def _scored(rows: Any, few: Any, many: Any, sizes: tuple[int, int, int]) -> dict[str, Any]:
    detector = FewShotDetector().fit(*support(rows, *sizes))
    scores = detector.score_samples(many)
    more = {"many": scores[::EVERY], "mean": scores.mean(), "anomalies": int(detector.predict(many).sum())}
    return decisions(detector, few) | more


def _at_a_rate(rows: Any, few: Any, sizes: tuple[int, int, int]) -> dict[str, Any]:
    detector = FewShotDetector(false_positive_rate=0.05).fit(*support(rows, *sizes))
    return {
        "threshold": detector.threshold_,
        "rate": detector.task_.decision.rate(detector.threshold_),
        "predictions": detector.predict(few),
    }


def _explained() -> dict[str, Any]:
    """Reasons and suggestions, for each kind of table."""
    kinds = {"6 columns": (numbers(60, 400, 6), numbers(61, 40, 6)), "mixed": (mixed(70, 400), mixed(71))}
    kinds["1 column"] = (numbers(60, 400, 1), numbers(61, 40, 1))
    out = {}
    for kind, (rows, new) in kinds.items():
        for u in (0, 30):
            detector = FewShotDetector().fit(*support(rows, 5, 1, u))
            out[f"{kind}, {u} unlabelled"] = {**_reasons(detector, new[:6]), "suggested": detector.suggest(new, 5)}
    detector = FewShotDetector().fit(*support(numbers(60, 400, 6), 5, 0, 30))
    new = numbers(61, 40, 6)
    out["normal only"] = {**_reasons(detector, new[:3]), "suggested": detector.suggest(new, 3)}
    return out


def _reasons(detector: FewShotDetector, rows: Any) -> dict[str, Any]:
    why = detector.explain(rows, neighbours=3)
    names = ("attributes", "contributions", "score", "baseline_score", "baseline", "neighbours", "distances")
    return {name: getattr(why, name) for name in names}


def _odd() -> dict[str, Any]:
    """Input that is unusual and works, some of it with a warning."""
    X, y = support(numbers(80, 60), 5, 1, 10)
    table, z = support(mixed(81, 60), 5, 1, 10)
    new, rows = numbers(82, 6), mixed(83, 6)
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    constant = X * [1, 0, 1] + [0, 7, 0]
    many, of_many = support(numbers(84, 1300), 5, 1, 1200)
    cases: dict[str, tuple[Any, Any, Any]] = {
        "far apart": (X * 1e9, y, new * 1e9),
        "equal rows": (X[[1, 1, 1, 0]], [0, 0, 0, 1], new),
        "one normal row": (X[:1], [0], new),
        "gaps": (gaps, y, gaps[:6]),
        "a constant column": (constant, y, new),
        "other labels": (X[:6], [2, 2, 2, 2, 2, 5], new),
        "labels as floats": (X, y.astype(float), new),
        "labels as booleans": (X[:6], y[:6] == 1, new),
        "more than 1,000 unlabelled": (many, of_many, new),
        "columns in another order": (table, z, rows[rows.columns[::-1]]),
        "an unknown column": (table, z, rows.assign(site="north")),
        "unknown words": (table, z, rows.assign(mode="broken")),
        "nothing but gaps": (table.assign(speed=np.nan), z, rows),
        "text for numbers": (table.assign(speed=table["speed"].astype(str)), z, rows),
        "a dictionary": ({name: table[name].tolist() for name in ("temperature", "mode")}, z, rows),
    }
    return {title: watched(lambda case=case: decisions(_fit(*case[:2]), case[2])) for title, case in cases.items()}


def _fit(X: Any, y: Any, **settings: Any) -> FewShotDetector:
    return FewShotDetector(**settings).fit(X, y)


def _refusals() -> dict[str, Any]:
    """Mistakes of a user and what is said of them."""
    X, y = numbers(80, 6), np.array([1, 0, 0, 0, 0, 0])
    table = mixed(81, 6)
    fitted, of_table = _fit(X, y), _fit(table, y)
    huge = X.copy()
    huge[2, 1] = np.inf
    cases: dict[str, Any] = {
        "no normal row": lambda: _fit(X[:1], [1]),
        "too few labels": lambda: _fit(X, y[:4]),
        "no labels": lambda: _fit(X, None),
        "labels in words": lambda: _fit(X, ["odd", *["normal"] * 5]),
        "three labels": lambda: _fit(X, [0, 1, 2, 0, 0, 0]),
        "labels between": lambda: _fit(X, [0.5, 1, 0, 0, 0, 0]),
        "labels that are missing": lambda: _fit(X, [np.nan, 1, 0, 0, 0, 0]),
        "one other label": lambda: _fit(X, [3] * 6),
        "infinity": lambda: _fit(huge, y),
        "a rate of 0.9": lambda: _fit(X, y, false_positive_rate=0.9),
        "a rate in words": lambda: _fit(X, y, false_positive_rate="low"),
        "no useful column": lambda: _fit(pd.DataFrame({"a": [None] * 6}), y),
        "two columns of one name": lambda: _fit(pd.DataFrame(X[:, :2], columns=["a", "a"]), y),
        "not fitted": lambda: FewShotDetector().score_samples(X),
        "another width": lambda: fitted.score_samples(X[:, :2]),
        "a missing column": lambda: of_table.score_samples(table.drop(columns="mode")),
        "a renamed column": lambda: of_table.score_samples(table.rename(columns={"mode": "Mode"})),
        "words in a number": lambda: of_table.score_samples(table.astype({"speed": object}).assign(speed="fast")),
        "infinity to score": lambda: fitted.score_samples(huge),
        "no rows to suggest": lambda: fitted.suggest(X, 0),
        "no export": lambda: fitted.export_onnx("nowhere/scorer.onnx"),
        "labels of a task": lambda: Task("press", X, y + 5),
        "rows of a task": lambda: Task("press", X, labels(9)),
    }
    return {title: watched(lambda work=work: {"result": type(work()).__name__}) for title, work in cases.items()}
