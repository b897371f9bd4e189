"""The scikit-learn face: a binary classifier that adapts to a task's few labelled rows."""

import json
import warnings
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from torch import Tensor

from oddshot.adapted.chunks import adapt_task, as_rows, device_of, sample_unlabelled, score_rows, support_rows
from oddshot.adapted.explanation import Explanation, contributions, fixed_orders, nearest
from oddshot.adapted.onnx_export import write_onnx
from oddshot.adapted.suggestion import choose_rows
from oddshot.data.encoding import Encoding
from oddshot.data.files import write_bytes
from oddshot.data.tables.concatenation import concat_tables
from oddshot.data.tables.conversion import as_table
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED
from oddshot.decisions.calibration import Calibration, Decision, check_rate
from oddshot.decisions.evidence import gather_evidence
from oddshot.decisions.familiarity import RARE
from oddshot.errors import InputError, OddshotError
from oddshot.methods.compiled import Folded, fold
from oddshot.methods.contract import LabelledRows, Method
from oddshot.storage.detector_file import Fitted, from_bytes, to_bytes
from oddshot.storage.model_file import Model
from oddshot.universal.shipped import load_universal

BLOCK_ROWS = 1 << 16  # encoded and scored at a time: no second copy of a large X


class NoCalibration(InputError, AttributeError):
    """A detector without calibration has no predict_proba: hasattr must tell so, as scikit-learn expects."""


class FewShotDetector(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Anomaly detector for one task, fitted on a handful of labelled rows.

    Parameters
    ----------
    model : Model or None
        What `meta_train` learned or `load_model` read. Without one it is the model that ships with the package, which
        takes any table (docs/universal.md).
    false_positive_rate : float from 0.001 to 0.5, or None
        The share of normal rows that `predict` may call anomalies, on average over tasks. Without one, a row is an
        anomaly where its probability is above 1/2.

    Attributes
    ----------
    classes_ : [2], the labels of normal and anomalous rows. threshold_ : the score above which a row is an anomaly.
    encoding_ : how columns become numbers. familiarity_ : the share of the tasks held out in training that are at least
    as far from the training tasks as this one, from 1 to 0 (None where the model cannot tell); below 0.001 `fit` warns.
    """

    def __init__(self, model: Model | None = None, false_positive_rate: float | None = None) -> None:
        self.model = model
        self.false_positive_rate = false_positive_rate

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Adapt to a task. X: [n, M] rows; y: [n], 1 = anomaly, 0 = normal, -1 = unlabelled.

        Unlabelled rows help where the method uses them, as `relative` does; of more than 1,000 of them it looks at
        1,000 drawn at random, always the same ones for the same y. Other pairs of numbers are taken as scikit-learn
        does: the larger one is the anomaly.
        """
        X = self._check(X, reset=True)
        labels = self._encode_labels(y)
        if len(labels) != len(X):
            raise InputError(f"X has {len(X)} rows and y has {len(labels)} labels")
        if not (labels == NORMAL).any():
            raise InputError(
                f"the support has only one class: {int((labels == ANOMALY).sum())} anomalies and no normal row; "
                "at least one row labelled normal is needed"
            )
        labelled = np.flatnonzero(labels != UNLABELLED)
        self._support_numbers, self._support_labels = labelled, labels[labelled]
        self._labelled, self._unlabelled = _take(X, labelled), _take(X, sample_unlabelled(labels))
        self._adapt(self._labelled, labels[labelled], self._unlabelled)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Anomaly scores, [n], higher = more anomalous: with the paper's method a(x|S) of Eq. 2, never below 0."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        blocks = [slice(top, top + BLOCK_ROWS) for top in range(0, max(len(X), 1), BLOCK_ROWS)]
        return np.concatenate(
            [self.score_encoded(self.encoding_.transform(X[rows], "X", rows.start + 1)) for rows in blocks]
        )

    def score_encoded(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scores of rows that `encoding_` has turned into numbers, [n, n_attributes] -> [n]."""
        return score_rows(self._folded or self._score, rows, device_of(self._method))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """a(x|S) minus the threshold, [n]: higher = more anomalous, above 0 = predicted anomaly."""
        return self.score_samples(X) - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """1 = anomaly, 0 = normal, [n]."""
        decided = self.decision_function(X) > 0
        labels: NDArray[Any] = self.classes_[decided.astype(int)]
        return labels

    @property
    def predict_proba(self) -> Callable[[Any], NDArray[np.float64]]:
        """predict_proba(X): the probability of each class, [n, 2], were normal and anomalous rows equally frequent.

        Where a share s of all rows are anomalies, the odds are s / (1 - s) times as large. It was learned on tasks held
        out in training: a detector whose model has no calibration does not have this method.
        """
        self._calibration_for("predict_proba")
        return self._predict_proba

    def probability_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The probability of an anomaly for each score of this task, [n]; None without a calibration."""
        return None if self._decision is None else self._decision.probability(scores)

    def false_positive_rate_of(self, threshold: float) -> float | None:
        """The share of normal rows expected above a score, from 0.001 to 0.5; None without a calibration."""
        return None if self._decision is None else self._decision.rate(threshold)

    def project_encoded(self, rows: NDArray[np.float32]) -> NDArray[np.float64] | None:
        """Where encoded rows lie in the projected space, seen from the centre (Fig. 2c): [n, K]; None without one."""
        project = getattr(self._score, "project", None)
        if project is None:
            return None
        with torch.no_grad():
            projected: NDArray[np.float64] = project(as_rows(rows, device_of(self._method)))[0, 0].cpu().numpy()
        return projected

    def explain(self, X: Any, neighbours: int = 5) -> Explanation:
        """Why rows have their scores: what each column adds, and the nearest labelled rows (so many at most).

        A column's contribution is what the score rises when its value in the nearest normal support row is replaced by
        the row's own, averaged over four fixed orders of the columns and their reverses. It costs as much as scoring
        eight times as many rows as there are columns, for each row; beside X, encoded, and the result it takes 16 MiB.
        """
        check_is_fitted(self)
        rows = self.encoding_.transform(self._check(X, reset=False), "X")
        near, distances = nearest(rows, self._support, min(neighbours, len(self._support)))
        normal = np.flatnonzero(self._support_labels == NORMAL)
        baseline = normal[nearest(rows, self._support[normal], 1)[0][:, 0]]
        ends = np.cumsum([0, *(len(encoder.attribute_names) for encoder in self.encoding_.encoders)]).tolist()
        groups = [slice(*pair) for pair in pairwise(ends)]
        added, score, start = contributions(
            self.score_encoded, rows, self._support[baseline], groups, fixed_orders(len(groups))
        )
        names, numbers = tuple(encoder.name for encoder in self.encoding_.encoders), self._support_numbers
        return Explanation(names, added, score, start, numbers[baseline], numbers[near], distances)

    def suggest(self, X: Any, n: int = 1) -> NDArray[np.int64]:
        """The numbers of n rows of X to label next, the one that is asked for first at the front.

        Those of which the detector is least sure, far from labelled rows and from each other. Fit again with their
        labels. results/universal/DECISIONS.md shows what a label chosen so gains.
        """
        check_is_fitted(self)
        if not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"n is {n!r}; it must be a whole number from 1 up")
        rows = self.encoding_.transform(self._check(X, reset=False), "X")
        return self.suggest_encoded(rows, self.score_encoded(rows), int(n))

    def suggest_encoded(self, rows: NDArray[np.float32], scores: NDArray[np.float64], n: int) -> NDArray[np.int64]:
        """`suggest` for encoded rows whose scores are known: [N, n_attributes], [N] -> [n]."""
        p = self.probability_of(scores)
        if p is None:  # as sure as a score is far from the threshold, among these scores
            beyond = scores - self.threshold_
            p = expit(beyond / (float(np.median(np.abs(beyond))) or 1.0))
        return choose_rows(rows, p, self._support, n)

    def export_onnx(self, path: str | Path) -> None:
        """Write the adapted scorer as an ONNX file, checked with onnxruntime; where its scores differ, nothing.

        Input `rows`: [n, n_attributes] in float32, as `encoding_.transform` gives them. Output `scores`: [n] in
        float64, as of `score_samples`. Its metadata hold the `threshold` and, as JSON, the names of the `attributes`.
        """
        check_is_fitted(self)
        if not isinstance(self._folded, Folded):
            raise InputError(
                f"method {self._method.name!r} cannot be exported: its scores are more than a network's "
                "(train --method eigen)"
            )
        rows = np.random.default_rng(0).normal(size=(1000, self.encoding_.n_attributes)).astype(np.float32)
        facts = {"threshold": repr(self.threshold_), "attributes": json.dumps(self.encoding_.attribute_names)}
        write_onnx(path, self._folded, facts, rows, self.score_encoded(rows))

    def save(self, path: str | Path) -> None:
        """Write the fitted detector as one file for `load_detector`: the model, and the rows it was adapted with."""
        check_is_fitted(self)
        write_bytes(Path(path), to_bytes(self._fitted()))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True  # a missing value
        return tags

    def _adapt(self, X: Any, labels: NDArray[np.int8], unlabelled: Any) -> None:
        model = self._given_model()
        self.encoding_ = model.encoding or Encoding.fit([X] if len(unlabelled) == 0 else [X, unlabelled])
        self._method: Method = model.method
        self._support = rows = self.encoding_.transform(X, where="support")
        support = support_rows(rows, labels, device_of(self._method))
        others = None
        if self._method.uses_unlabelled and len(unlabelled) > 0:
            others = as_rows(self.encoding_.transform(unlabelled, where="unlabelled rows"), device_of(self._method))
        self._score, self.threshold_ = adapt_task(self._method, support, model.threshold, others)
        self._folded = fold(self._score)
        self._decide(support, others)

    def _decide(self, support: LabelledRows, unlabelled: Tensor | None) -> None:
        """What the scores of this task mean, and whether the model knows such tasks."""
        rate, model = check_rate(self.false_positive_rate), self._given_model()
        self._decision: Decision | None = None
        self.familiarity_: float | None = None
        if rate is not None:
            self._calibration_for("false_positive_rate")
        if model.calibration is None and model.familiarity is None:
            return
        evidence = gather_evidence(self._score, support, unlabelled)
        if model.calibration is not None:
            self._decision = model.calibration.decide(evidence)
            self.threshold_ = self._decision.threshold(rate)
        judged = None if model.familiarity is None else model.familiarity.judge(evidence)
        if judged is not None:
            self.familiarity_, distance = judged
            if self.familiarity_ < RARE:
                warnings.warn(
                    f"the model knows no such task: the support lies {distance:.1f} times as far from the training "
                    "tasks as is usual for new ones; its scores may tell little",
                    stacklevel=4,
                )

    def _fitted(self) -> Fitted:
        return Fitted(
            self._given_model(),
            check_rate(self.false_positive_rate),
            self._labelled,
            self._unlabelled,
            self._support_labels,
            self._support_numbers,
            self.classes_,
        )

    def _given_model(self) -> Model:
        return load_universal() if self.model is None else self.model

    def _calibration_for(self, wish: str) -> Calibration:
        calibration = self._given_model().calibration
        if calibration is None:
            raise NoCalibration(f"{wish} needs a calibration, and the model has none; train it again")
        return calibration

    def _predict_proba(self, X: Any) -> NDArray[np.float64]:
        p = self.probability_of(self.score_samples(X))
        assert p is not None
        return np.column_stack([1 - p, p])

    def _encode_labels(self, y: ArrayLike) -> NDArray[np.int8]:
        """Labels as 0, 1, -1; sets classes_."""
        if y is None:
            raise InputError("FewShotDetector requires y to be passed, but the target y is None")
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise InputError("y contains NaN or infinity; an unlabelled row is -1")
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if labels.dtype.kind not in "biuf":
            raise InputError(
                "labels are numbers: 1 = anomaly, 0 = normal, -1 = unlabelled; give (y == 'your text') * 1"
            )
        values = np.unique(labels)
        if np.isin(values, (NORMAL, ANOMALY, UNLABELLED)).all():
            self.classes_ = np.array([NORMAL, ANOMALY], dtype=labels.dtype)
            return labels.astype(np.int8)
        if kind.startswith("continuous"):
            raise InputError(f"Unknown label type: {kind}; labels are 1 = anomaly, 0 = normal, -1 = unlabelled")
        if len(values) > 2:
            raise InputError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(values) < 2:
            raise InputError(f"the support has only one class, label {values[0]!r}; labels are 1 = anomaly, 0 = normal")
        self.classes_ = values
        is_anomaly: NDArray[np.bool_] = labels == values[1]
        return is_anomaly.astype(np.int8)

    def _check(self, X: Any, *, reset: bool) -> Any:
        """Arrays as scikit-learn wants them; tables become Arrow tables with columns of any kind, matched by name."""
        if not _is_table(X):  # the encoding refuses infinities, and tells where they are
            return validate_data(self, X, reset=reset, dtype="numeric", order="C", ensure_all_finite=False)
        table = as_table(X)
        if reset:
            self.n_features_in_ = table.num_columns
            self.feature_names_in_ = np.array(table.column_names, dtype=object)
        return table


def load_detector(path: str | Path) -> FewShotDetector:
    """Read a file that `FewShotDetector.save` wrote and adapt again: on the same machine it gives the same scores."""
    try:
        fitted = from_bytes(Path(path).read_bytes())
        detector = FewShotDetector(fitted.model, fitted.false_positive_rate)
        others = np.full(len(fitted.unlabelled), UNLABELLED, np.int8)
        parts = [fitted.labelled, fitted.unlabelled]
        X = concat_tables(parts) if _is_table(fitted.labelled) else np.concatenate(parts)
        detector.fit(X, np.append(fitted.labels, others))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except OddshotError as error:
        raise type(error)(f"{path}: {error}") from None
    detector.classes_, detector._support_numbers = fitted.classes, fitted.numbers
    return detector


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    return X.take(rows) if _is_table(X) else X[rows]


def _is_table(X: Any) -> bool:
    named = isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")
    return named and not issparse(X)  # one of SciPy's sparse matrices is a dict
