"""The scikit-learn face: a binary classifier that adapts to a task's few labelled rows."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from oddshot.adapted.display import task_html
from oddshot.adapted.explanation import Explanation
from oddshot.adapted.onnx_export import write_onnx
from oddshot.adapted.plots import draw_contributions, draw_scores, draw_spaces
from oddshot.adapted.ranges import RangeMonitor
from oddshot.adapted.task import AdaptedTask, require_calibration, sample_unlabelled
from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.files import write_bytes
from oddshot.data.tables.concatenation import concat_tables
from oddshot.data.tables.conversion import as_table, take_rows
from oddshot.data.tables.labels import labels_of_target
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED
from oddshot.decisions.calibration import check_rate
from oddshot.errors import InputError, OddshotError, file_error
from oddshot.storage.detector_file import DetectorRecord, from_bytes, to_bytes
from oddshot.storage.model_file import Model
from oddshot.universal.shipped import find_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_BLOCK_ROWS = 1 << 16  # encoded and scored at a time: no second copy of a large X


class FewShotDetector(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Anomaly detector for one task, fitted on a handful of labelled rows.

    Parameters
    ----------
    model : Model, str or Path, optional
        What `meta_train` learned, or the path of its file, which `fit` reads. By default, and by the name "universal",
        the model that ships with the package, which takes any table (docs/universal.md).
    false_positive_rate : float from 0.001 to 0.5, optional
        The share of normal rows that `predict` may call anomalies, on average over tasks; by default 0.05. A model
        without calibration has one fixed threshold.
    columns : list of names, dict from names to kinds, or Encoding, optional
        Which columns of a table to use, or as what: "number", "category", "boolean", "date", "text" or "ignore". By
        default all are used but those that only number the rows or are a clock, of which `fit` warns. For a model
        without columns of its own, as the one that ships.
    anomaly_value : object, optional
        The value of y that means anomaly, where labels are text; every other one is then normal.

    Attributes
    ----------
    task_ : AdaptedTask
        The adapted task: encoding, score and decision on encoded rows.
    classes_ : ndarray of shape (2,)
        The labels of normal and anomalous rows.
    threshold_ : float
        The score above which a row is an anomaly.
    encoding_ : Encoding
        How columns become numbers.
    decision_scores_ : ndarray of shape (n,)
        The scores of the rows given to `fit`, in their order (after `load_detector`: of the rows that it stores,
        labelled ones first). With `relative` each is scored as if it had not been among them: a row compared with
        itself would look normal. Other methods score them like any row.
    familiarity_ : float or None
        The share of the tasks held out in training that are at least as far from the training tasks as this one, from 1
        to 0; None where the model cannot tell. `fit` warns if it is below 0.001.

    Examples
    --------
    >>> import numpy as np
    >>> from oddshot import FewShotDetector
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> X[:10] += 6                                          # ten anomalies
    >>> y = np.full(100, -1)
    >>> y[0], y[50:55] = 1, 0                                # one of them and five normal rows are labelled
    >>> detector = FewShotDetector().fit(X, y)
    >>> scores = detector.score_samples(X)
    >>> bool(scores[1:10].min() > scores[55:].max())
    True
    """

    def __init__(
        self,
        model: Model | str | Path | None = None,
        false_positive_rate: float | None = None,
        columns: Sequence[str] | Mapping[str, str] | ColumnChoice | Encoding | None = None,
        anomaly_value: object = None,
    ) -> None:
        self.model = model
        self.false_positive_rate = false_positive_rate
        self.columns = columns
        self.anomaly_value = anomaly_value

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Adapt to a task.

        Parameters
        ----------
        X : array, pandas or polars frame, Arrow table, dict of columns; n rows
            Labelled and unlabelled rows of the task.
        y : array of shape (n,)
            1 = anomaly, 0 = normal, -1, NaN or None = unlabelled; or booleans, or text with `anomaly_value`. Other
            pairs of numbers from 0 up are taken as scikit-learn does: the larger one is the anomaly. Unlabelled rows
            help where the method uses them, as `relative` does; of more than 1,000 of them 1,000 are drawn at random,
            the same ones for the same y.

        Returns
        -------
        FewShotDetector
            This detector.

        Raises
        ------
        InputError
            If no row is labelled normal, or rows or labels cannot be read.
        """
        X = self._check(X, reset=True)
        labels = self._encode_labels(y)
        if len(labels) != len(X):
            raise InputError(f"X has {len(X)} rows and y has {len(labels)} labels")
        self._rate = check_rate(self.false_positive_rate)
        columns = self.columns if isinstance(self.columns, Encoding) else ColumnChoice.of(self.columns)
        self.task_ = AdaptedTask.from_table(find_model(self.model), X, labels, self._rate, columns)
        self._labelled, self._unlabelled = take_rows(X, self.task_.row_numbers), take_rows(X, sample_unlabelled(labels))
        self.decision_scores_, _ = self._score(X)
        if self.task_.notice:
            warnings.warn(self.task_.notice, stacklevel=2)
        return self

    @property
    def threshold_(self) -> float:
        """The score above which a row is an anomaly."""
        return self.task_.threshold

    @property
    def encoding_(self) -> Encoding:
        """How columns become numbers."""
        return self.task_.encoding

    @property
    def familiarity_(self) -> float | None:
        """The share of held-out tasks at least as far from the training tasks as this one."""
        return None if self.task_.familiarity is None else self.task_.familiarity.share

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Anomaly scores, higher = more anomalous; with the paper's method a(x|S) of Eq. 2, never below 0.

        Parameters
        ----------
        X : as in `fit`, n rows with the same columns

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        scores, notice = self._score(self._check(X, reset=False))
        if notice:
            warnings.warn(notice, stacklevel=2)
        return scores

    def _score(self, X: Any) -> tuple[NDArray[np.float64], str]:
        """Scores of an array or an Arrow table, encoded a block at a time, and a notice of columns that have moved."""
        blocks = [slice(top, top + MAX_BLOCK_ROWS) for top in range(0, max(len(X), 1), MAX_BLOCK_ROWS)]
        task, scores = self.task_, []
        monitor = RangeMonitor(task.ranges)
        for rows in blocks:
            encoded = task.encode(X[rows], "X", rows.start + 1)
            monitor.add(encoded)
            scores.append(task.score_encoded(encoded))
        return np.concatenate(scores), monitor.notice()

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores minus the threshold: higher = more anomalous, above 0 = predicted anomaly.

        Parameters
        ----------
        X : as in `fit`, n rows with the same columns

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.score_samples(X) - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """1 for anomalies, 0 for normal rows.

        Parameters
        ----------
        X : as in `fit`, n rows with the same columns

        Returns
        -------
        ndarray of shape (n,)
        """
        decided = self.decision_function(X) > 0
        labels: NDArray[Any] = self.classes_[decided.astype(int)]
        return labels

    @available_if(lambda self: self._has_probabilities())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, if normal and anomalous rows were equally frequent.

        If a share s of all rows are anomalies, the odds are s / (1 − s) times as large. It was learned on tasks held
        out in training: a detector whose model has no calibration does not have this method.

        Parameters
        ----------
        X : as in `fit`, n rows with the same columns

        Returns
        -------
        ndarray of shape (n, 2)
        """
        check_is_fitted(self)
        p = self.task_.decide(self.score_samples(X)).probabilities
        assert p is not None  # the model has a calibration
        return np.column_stack([1 - p, p])

    def explain(self, X: Any, neighbours: int = 5) -> Explanation:
        """Why rows have their scores: what each column adds, and the nearest labelled rows.

        A column's contribution is the rise of the score when its value in the nearest normal support row is replaced by
        the row's own, averaged over four fixed orders of the columns and their reverses. It costs as much as scoring
        eight times as many rows as there are columns, for each row; beside X, encoded, and the result it takes 16 MiB.

        Parameters
        ----------
        X : as in `fit`, n rows with the same columns
        neighbours : int, default=5
            How many labelled rows to name, at most.

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        return self.task_.explain(self.task_.encode(self._check(X, reset=False), "X"), neighbours)

    def suggest(self, X: Any, n: int = 1) -> NDArray[np.int64]:
        """The numbers of n rows of X to label next, the most useful one first.

        They are those of which the detector is least certain, far from labelled rows and from each other. Fit again
        with their labels. results/universal/DECISIONS.md shows what a label chosen so gains.

        Parameters
        ----------
        X : as in `fit`, rows with the same columns
        n : int, default=1

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        if not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"n is {n!r}; it must be a whole number from 1 up")
        rows = self.task_.encode(self._check(X, reset=False), "X")
        return self.task_.suggest(rows, self.task_.score_encoded(rows), int(n))

    def plot_scores(self, X: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw a histogram of the scores of rows, with the threshold and the labelled rows.

        Parameters
        ----------
        X : as in `fit`, n rows with the same columns
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        scores = self.score_samples(X)
        return draw_scores(self.task_, scores, ax)

    def plot_spaces(self, X: Any, ax: "Sequence[Axes] | None" = None) -> "list[Axes]":
        """Draw rows in the original, the embedded and the projected space, as in the paper's Figure 2.

        The first two are reduced to their principal components. A method without such a space has fewer pictures, as
        `relative` has no projected space without a labelled anomaly. Of more than 2,000 rows 2,000 are drawn.

        Parameters
        ----------
        X : as in `fit`, n rows with the same columns
        ax : sequence of matplotlib Axes, optional
            Where to draw, one for each space; by default a new figure.

        Returns
        -------
        list of matplotlib Axes
        """
        check_is_fitted(self)
        rows = self.task_.encode(self._check(X, reset=False), "X")
        return draw_spaces(self.task_, rows, self.task_.score_encoded(rows), ax)

    def plot_contributions(self, row: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw what each column adds to the score of a row, as `explain` tells.

        Parameters
        ----------
        row : as X in `fit`, with one row; or a one-dimensional array, or a row of a pandas frame
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        rows = self.task_.encode(self._check(_as_one_row(row), reset=False), "row")
        if len(rows) != 1:
            raise InputError(f"row has {len(rows)} rows; one is drawn")
        return draw_contributions(self.task_.explain(rows), ax)

    def export_onnx(self, path: str | Path) -> None:
        """Write the adapted scorer to an ONNX file, checked with onnxruntime; if its scores differ, nothing is written.

        Input `rows`: where all columns of use are numbers or booleans, [n, columns] in float64, NaN where a value is
        missing; otherwise [n, n_attributes] in float32, as `encoding_.transform` gives them. Output `scores`: [n] in
        float64, as of `score_samples` for new rows: a row that was given to `fit` is not hidden from itself. Its
        metadata hold the `threshold`, whether `rows` are "columns" or "attributes", and, as JSON, the names of the
        `columns` and of the `attributes`. Works for `relative`, the method of the model that ships, and for methods
        that score with a network; others are refused.

        Parameters
        ----------
        path : str or Path
            Where to write it; an existing file is replaced.
        """
        check_is_fitted(self)
        write_onnx(path, self.task_)

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to one file for `load_detector`: the model, and the rows it was adapted with.

        Parameters
        ----------
        path : str or Path
            Where to write it; an existing file is replaced.
        """
        check_is_fitted(self)
        write_bytes(Path(path), to_bytes(self._record()))

    def _repr_html_(self) -> str:
        """The fitted detector as a table in a notebook; before `fit`, as scikit-learn shows its estimators."""
        if "task_" not in vars(self):
            diagram: str = estimator_html_repr(self)
            return diagram
        return task_html("FewShotDetector", self.task_)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook asks for: text, and HTML unless scikit-learn is set to display text."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | ({"text/html": self._repr_html_()} if "text/html" in bundle else {})

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True  # a missing value
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "task_" in vars(self)

    def _record(self) -> DetectorRecord:
        return DetectorRecord(
            self.task_.model,
            self._rate,
            self._labelled,
            self._unlabelled,
            self.task_.labels,
            self.task_.row_numbers,
            self.classes_,
            self.task_.encoding if self.task_.model.encoding is None else None,
        )

    def _has_probabilities(self) -> bool:
        """True, or a NoCalibration that says what to do, from which scikit-learn makes its AttributeError."""
        require_calibration(self.task_.model if "task_" in vars(self) else find_model(self.model), "predict_proba")
        return True

    def _encode_labels(self, y: ArrayLike) -> NDArray[np.int8]:
        """Labels as 0, 1, -1; sets classes_."""
        if y is None:
            raise InputError("FewShotDetector requires y to be passed, but the target y is None")
        labels: NDArray[Any] = column_or_1d(_as_objects(y), warn=True)
        if self.anomaly_value is not None:
            parsed, self.classes_ = labels_of_target(labels, self.anomaly_value)
            return parsed
        labels = _without_gaps(labels)
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if labels.dtype.kind not in "biuf":
            raise InputError(
                "labels are text; name the value of anomalies with anomaly_value, or give 1 = anomaly, 0 = normal, "
                "-1 = unlabelled"
            )
        values = np.unique(labels)
        if np.isin(values, (NORMAL, ANOMALY, UNLABELLED)).all():
            self.classes_ = np.array([NORMAL, ANOMALY], dtype=labels.dtype)
            return labels.astype(np.int8)
        if kind.startswith("continuous"):
            raise InputError(f"Unknown label type: {kind}; labels are 1 = anomaly, 0 = normal, -1 = unlabelled")
        if UNLABELLED in values:
            others = ", ".join(str(value) for value in values if value != UNLABELLED)
            raise InputError(f"y has -1, which is unlabelled, beside {others}; labels are 1 = anomaly, 0 = normal")
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
    """Read a fitted detector and adapt again: on the same machine it gives the same scores.

    Parameters
    ----------
    path : str or Path
        A file that `FewShotDetector.save` or the app wrote.

    Returns
    -------
    FewShotDetector

    Raises
    ------
    FileError
        If the file cannot be read.
    ModelFileError
        If it is damaged, of another program, or written by a newer version.

    Examples
    --------
    >>> import tempfile, numpy as np, oddshot
    >>> X, y = np.random.default_rng(0).normal(size=(6, 3)), np.array([0, 0, 0, 0, 0, 1])
    >>> detector = oddshot.FewShotDetector().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     detector.save(f"{folder}/detector.safetensors")
    ...     again = oddshot.load_detector(f"{folder}/detector.safetensors")
    >>> bool((again.score_samples(X) == detector.score_samples(X)).all())
    True
    """
    try:
        record = from_bytes(Path(path).read_bytes())
        detector = FewShotDetector(record.model, record.false_positive_rate, record.encoding)
        others = np.full(len(record.unlabelled), UNLABELLED, np.int8)
        parts = [record.labelled, record.unlabelled]
        X = concat_tables(parts) if isinstance(record.labelled, pa.Table) else np.concatenate(parts)
        detector.fit(X, np.append(record.labels, others))
    except OSError as error:
        raise file_error("read", path, error) from None
    except OddshotError as error:
        raise type(error)(f"{path}: {error}") from None
    detector.classes_ = record.classes
    detector.task_ = replace(detector.task_, row_numbers=record.row_numbers)
    return detector


def _as_objects(y: Any) -> Any:
    """A pandas or polars column whose missing values scikit-learn would refuse as an array of objects."""
    return np.asarray(y, object) if hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype) else y


def _without_gaps(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as an array of numbers or text, with -1 in the place of NaN, None and pandas.NA."""
    if labels.dtype.kind == "f":
        if np.isinf(labels).any():
            raise InputError("y contains infinity; an unlabelled row is -1")
        return np.where(np.isnan(labels), UNLABELLED, labels) if np.isnan(labels).any() else labels
    if labels.dtype.kind != "O":
        return labels
    cells: list[Any] = labels.tolist()
    missing = [cell is None or cell is pd.NA or cell != cell for cell in cells]
    return np.array([UNLABELLED if gap else cell for cell, gap in zip(cells, missing, strict=True)])


def _as_one_row(row: Any) -> Any:
    """A row of a frame or of an array as a table of one row; anything else as it is."""
    if isinstance(row, pd.Series):
        return pd.DataFrame([row]).infer_objects()
    return row[None] if isinstance(row, np.ndarray) and row.ndim == 1 else row


def _is_table(X: Any) -> bool:
    named = isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")
    return named and not issparse(X)  # one of SciPy's sparse matrices is a dict
