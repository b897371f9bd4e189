"""Whether a simple method would do: the detector and simple methods on the same labels, compared in a thread."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.learning.label_auc import (
    SIGNIFICANCE_LEVEL,
    LabelAuc,
    describe_missing,
    label_auc,
    missing_labels,
    permutation_p_value,
)
from oddshot.app.learning.label_folds import (
    FoldScorer,
    detector_scorer,
    fold_numbers,
    held_out_scores,
    simple_scorers,
)
from oddshot.app.sheet import Sheet
from oddshot.errors import InputError, OddshotError

DETECTOR = "the detector"

EncodedRows = NDArray[np.float32]
FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]


@dataclass(frozen=True)
class ComparedMethod:
    """A method's AUC on the labelled rows; p_value: of its difference to the detector, None for the detector itself."""

    name: str
    auc: LabelAuc
    p_value: float | None


class SimpleMethodsJob:
    """Compares in a thread, which stops when `is_outdated` says so. rows: [m, M], labelled; unlabelled: [u, M]."""

    def __init__(
        self,
        sheet: Sheet,
        rows: EncodedRows,
        labels: LabelArray,
        unlabelled: EncodedRows,
        is_outdated: Callable[[], bool],
    ) -> None:
        if any(missing_labels(labels)):
            raise InputError(describe_missing(labels))
        self._rows, self._labels, self._is_outdated = rows, labels, is_outdated
        self._scorers: Mapping[str, FoldScorer] = {
            DETECTOR: detector_scorer(sheet, unlabelled),
            **simple_scorers(unlabelled),
        }
        self.n_done, self.n_steps = 0, len(self._scorers) * (int(fold_numbers(labels).max()) + 1)
        self.error = ""
        self.methods: list[ComparedMethod] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until it has finished, failed or stopped."""
        self._thread.join()

    @property
    def is_outdated(self) -> bool:
        """Whether there are newer labels."""
        return self._is_outdated()

    def to_json(self) -> dict[str, Any]:
        """The progress, then the methods, the best first, and a sentence about them."""
        methods = self.methods
        return {
            "outdated": self.is_outdated,
            "done": self.n_done / self.n_steps,
            "error": self.error,
            "methods": methods and [{"name": one.name, "p": one.p_value, **one.auc.to_json()} for one in methods],
            "verdict": methods and verdict(methods),
        }

    def _run(self) -> None:
        try:
            scores = {name: self._scores(scorer) for name, scorer in self._scorers.items()}
        except OddshotError as error:
            self.error = str(error)
            return
        found = {name: values for name, values in scores.items() if values is not None}
        if len(found) == len(scores):
            self.methods = compare_methods(found, self._labels)

    def _scores(self, scorer: FoldScorer) -> FloatArray | None:
        scores = np.empty(len(self._labels))
        steps = held_out_scores(scorer, self._rows, self._labels, scores)
        while not self._is_outdated():
            if next(steps, self) is self:
                return scores
            self.n_done += 1
        return None


def compare_methods(scores: Mapping[str, FloatArray], labels: LabelArray) -> list[ComparedMethod]:
    """Compare each method with the detector, the highest AUC first. scores: [m] by name."""
    rng = np.random.default_rng(0)
    methods = [
        ComparedMethod(
            name,
            label_auc(values, labels),
            None if name == DETECTOR else permutation_p_value(scores[DETECTOR], values, labels, rng),
        )
        for name, values in scores.items()
    ]
    return sorted(methods, key=lambda one: (-one.auc.auc, one.name != DETECTOR))


def verdict(methods: list[ComparedMethod]) -> str:
    """One sentence: which simple method is better, as good as far as these labels tell, or that none is."""
    detector = next(one for one in methods if one.name == DETECTOR)
    best = next(one for one in methods if one.name != DETECTOR)
    assert best.p_value is not None
    differs = best.p_value < SIGNIFICANCE_LEVEL
    if differs and best.auc.auc > detector.auc.auc:
        return f"{_with_article(best.name)} ranks these labels better than the detector."
    if differs:
        return "The detector ranks these labels better than every simple method."
    return (
        f"{_with_article(best.name)} ranks these labels as well: its difference to the detector is within the "
        "uncertainty. More labels tell more."
    )


def _with_article(name: str) -> str:
    return f"{'The' if name.startswith('nearest') else 'An' if name[0] in 'aeiou' else 'A'} {name}"
