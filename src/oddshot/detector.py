"""The scikit-learn face: a binary classifier that adapts to a task's few labelled rows."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from oddshot.adapted.display import task_html
from oddshot.adapted.explanation import Explanation
from oddshot.adapted.monitor import ScoringMonitor
from oddshot.adapted.onnx_export import write_onnx
from oddshot.adapted.plots import draw_contributions, draw_scores, draw_spaces
from oddshot.adapted.task import AdaptedTask, require_calibration, sample_unlabelled, with_rows_before
from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.files import as_path, write_bytes
from oddshot.data.missing_cells import is_series
from oddshot.data.tables.concatenation import concat_tables
from oddshot.data.tables.conversion import as_table, take_rows
from oddshot.data.tables.label_meaning import LabelMeaning
from oddshot.data.tables.labels import swapped_labels_notice
from oddshot.data.tables.rows_argument import array_error, as_unmasked
from oddshot.data.tables.target import parse_target
from oddshot.data.task import UNLABELLED
from oddshot.decisions.calibration import check_rate
from oddshot.errors import InputError, OddshotError, require_whole_number
from oddshot.storage.container import read_container
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
        What `meta_train` learned, or the path of its file, which `fit` reads, or the name of a model (docs/models.md).
        By default, and by the name "universal", the one that ships, which takes any table (docs/universal.md).
    false_positive_rate : float from 0.001 to 0.5, optional
        The share of normal rows that `predict` may flag as anomalies, on average over tasks; by default 0.05. It can
        be changed after `fit`. A model without calibration has one fixed threshold.
    columns : list of names, dict from names to kinds, or Encoding, optional
        Which columns of a table to use, or the kinds of columns: "number", "category", "boolean", "date", "interval"
        (the time since the row before), "text" or "ignore". By default all columns are used, except those that number
        the rows or tell the time, of which `fit` warns. Only for models without columns of their own, such as the one
        that ships.
    anomaly_value : object or list of objects, optional
        The value of y that means anomaly, if labels are text or other numbers, or several such values. Every other
        value then means normal.
    normal_value : object or list of objects, optional
        The opposite: the value or values of y that mean normal. Every other value then means anomaly.

    Attributes
    ----------
    task_ : AdaptedTask
        The adapted task: encoding, score and decision on encoded rows.
    classes_ : ndarray of shape (2,)
        The labels of normal and anomalous rows, sorted as scikit-learn's tools expect: with text, anomalies may be the
        first class. `decision_function` and `predict_proba` follow this order, and `score_samples` does not. Where
        several values of y mean the same, they are 0 and 1.
    threshold_ : float
        The score above which a row is an anomaly.
    encoding_ : Encoding
        How columns become numbers.
    decision_scores_ : ndarray of shape (n,)
        The scores of the rows given to `fit`, in their order (after `load_detector`: of the rows in the file, labelled
        rows first). The method `relative` scores each of them as if it had not been given, because a row that is
        compared with itself would look normal; an unlabelled row that equals a labelled one has the score that
        `score_samples` gives it. Other methods score them like new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from oddshot import FewShotDetector
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> X[:10] += 6  # ten anomalies
    >>> y = np.full(100, -1)
    >>> y[0], y[50:55] = 1, 0  # one of them and five normal rows are labelled
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
        normal_value: object = None,
    ) -> None:
        self.model = model
        self.false_positive_rate = false_positive_rate
        self.columns = columns
        self.anomaly_value = anomaly_value
        self.normal_value = normal_value

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Adapt to a task.

        Parameters
        ----------
        X : array, pandas or polars frame, Arrow table, dict of columns; n rows
            Labelled and unlabelled rows of the task.
        y : array of shape (n,)
            1 = anomaly, 0 = normal, -1, NaN or None = unlabelled; or booleans, or text with `anomaly_value` or
            `normal_value`. If y has two other numbers, the larger one means anomaly, with a warning. If -1 means
            anomaly, as in the predictions of scikit-learn's outlier detectors, set `anomaly_value=-1`. Unlabelled rows
            improve the scores of methods that use them, such as `relative`. At most 1,000 of them are used, drawn at
            random, always the same for the same y.

        Returns
        -------
        FewShotDetector
            This detector.

        Raises
        ------
        InputError
            If no row is labelled normal, or rows or labels cannot be read.

        Examples
        --------
        >>> import pandas as pd
        >>> from oddshot import FewShotDetector
        >>> table = pd.DataFrame({"load": [1.0, 1.2, 0.9, 7.5, 1.1], "mode": ["run", "run", "idle", "run", None]})
        >>> detector = FewShotDetector(anomaly_value="broken").fit(table, ["ok", "ok", "ok", "broken", None])
        >>> detector.classes_.tolist()
        ['broken', 'ok']
        """
        with _unchanged_by_failure(self):
            X = self._check(X, reset=True)
            labels, values = parse_target(y, LabelMeaning.of(self.anomaly_value, self.normal_value))
            if len(labels) != len(X):
                raise InputError(f"X has {len(X)} rows and y has {len(labels)} labels")
            rate = check_rate(self.false_positive_rate)
            columns = self.columns if isinstance(self.columns, Encoding) else ColumnChoice.of(self.columns)
            label_name = getattr(y, "name", None)  # of a Series
            self._task = AdaptedTask.from_table(find_model(self.model), X, labels, rate, columns, label_name)
            self._rate = rate
            self._threshold: float | None = None  # of a detector file, in the place of the one for the rate
            rows = with_rows_before(self.task_.model, X, self.task_.encoding)
            self._labelled = take_rows(rows, self.task_.row_numbers)
            self._unlabelled = take_rows(rows, sample_unlabelled(labels))
            self.decision_scores_ = np.empty(len(X))
            others = np.flatnonzero(labels == UNLABELLED)
            self.decision_scores_[self._task.row_numbers], _ = self._score(self._labelled, self._task.score_fitted)
            if len(others):
                self.decision_scores_[others], _ = self._score(take_rows(rows, others), self._task.score_encoded)
            self._name_classes(values)
            for notice in (self.task_.notice, swapped_labels_notice(labels)):
                if notice:
                    warnings.warn(notice, stacklevel=2)
        return self

    def _name_classes(self, values: NDArray[Any]) -> None:
        """Set the classes, in the order that scikit-learn's tools expect. values: [2], of normal rows and anomalies."""
        self._values, self.classes_ = values, np.sort(values)

    @property
    def task_(self) -> AdaptedTask:
        """The adapted task, which decides at the false-positive rate that is set now."""
        check_is_fitted(self)
        if self.false_positive_rate != self._rate:
            self._task, self._threshold = self._task.at_rate(self.false_positive_rate), None
            self._rate = check_rate(self.false_positive_rate)
        return self._task

    @property
    def threshold_(self) -> float:
        """The score above which a row is an anomaly."""
        return self.task_.threshold

    @property
    def encoding_(self) -> Encoding:
        """How columns become numbers."""
        return self.task_.encoding

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Anomaly scores, higher = more anomalous; with the paper's method a(x|S) of Eq. 2, never below 0.

        Parameters
        ----------
        X : array or table of n rows
            With the columns that were given to `fit`.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> sorted(detector.score_samples(X).argsort()[-3:].tolist())
        [0, 1, 2]
        """
        check_is_fitted(self)
        scores, notices = self._score(self._check(X, reset=False), self.task_.score_encoded)
        for notice in notices:
            warnings.warn(notice, stacklevel=2)
        return scores

    def _score(
        self, X: Any, score: Callable[[NDArray[np.float32]], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Scores of an array or an Arrow table, encoded a block at a time, and what is to be said of its rows."""
        blocks = [slice(top, top + MAX_BLOCK_ROWS) for top in range(0, max(len(X), 1), MAX_BLOCK_ROWS)]
        task, scores = self.task_, []
        monitor = ScoringMonitor(task)
        for rows in blocks:
            scores.append(score(monitor.encode(X[rows], "X", rows.start + 1)))
        return np.concatenate(scores), monitor.notices()

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores minus the threshold: higher = more anomalous, above 0 = predicted anomaly.

        As scikit-learn's tools expect, it grows with the second of `classes_`. Where that is the class of normal rows,
        as with the labels "broken" and "ok", the sign is the opposite: use `score_samples` to rank rows.

        Parameters
        ----------
        X : array or table of n rows
            With the columns that were given to `fit`.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> detector.decision_function(X[:5]) > 0
        array([ True,  True,  True, False, False])
        """
        beyond = self.score_samples(X) - self.threshold_
        return beyond if self._anomaly_is_second() else -beyond

    def predict(self, X: Any) -> NDArray[Any]:
        """1 for anomalies, 0 for normal rows, or their labels in the y that was given to `fit`.

        Parameters
        ----------
        X : array or table of n rows
            With the columns that were given to `fit`.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> detector.predict(X[:5])
        array([1, 1, 1, 0, 0])
        """
        is_anomaly = self.score_samples(X) - self.threshold_ > 0
        notice = self.task_.nothing_found_notice(len(is_anomaly), int(is_anomaly.sum()))
        if notice:
            warnings.warn(notice, stacklevel=2)
        labels: NDArray[Any] = self._values[is_anomaly.astype(int)]
        return labels

    @available_if(lambda self: self._has_probabilities())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of `classes_`, as if half of all rows were anomalies.

        If a share s of all rows are anomalies, multiply the odds of an anomaly by s / (1 − s). Probabilities were
        learned on tasks held out in training; a detector whose model has no calibration does not have this method.

        Parameters
        ----------
        X : array or table of n rows
            With the columns that were given to `fit`.

        Returns
        -------
        ndarray of shape (n, 2)

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> detector.predict_proba(X[:5])[:, 1] > 0.5
        array([ True,  True,  True, False, False])
        """
        check_is_fitted(self)
        p = self.task_.decide(self.score_samples(X)).probabilities
        assert p is not None  # the model has a calibration
        return np.column_stack([1 - p, p] if self._anomaly_is_second() else [p, 1 - p])

    def _anomaly_is_second(self) -> bool:
        """Whether the second class is that of anomalies."""
        return bool(self.classes_[1] == self._values[1])

    def explain(self, X: Any, neighbours: int = 5) -> Explanation:
        """Why rows have their scores: what each column adds, and the nearest labelled rows.

        A row is compared with the nearest row labelled normal. The contribution of a column is by how much the score
        rises when the value of that row is replaced by the value of this one, averaged over four fixed orders of the
        columns and their reverses. Explaining a row costs as much as scoring eight rows for each column. Beside the
        encoded X and the result it takes 16 MiB of memory.

        Parameters
        ----------
        X : array or table of n rows
            With the columns that were given to `fit`.
        neighbours : int, default=5
            How many labelled rows to name, at most.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> why = detector.explain(X[:1])
        >>> why.attributes
        ('x0', 'x1', 'x2')
        >>> bool(np.isclose(why.contributions.sum(), why.score[0] - why.baseline_score[0]))
        True
        """
        check_is_fitted(self)
        require_whole_number("neighbours", neighbours, least=0)
        return self.task_.explain(self.task_.encode(self._check(X, reset=False), "X"), neighbours)

    def suggest(self, X: Any, n: int = 1) -> NDArray[np.int64]:
        """The numbers of n rows of X to label next, the most useful one first.

        The first is the highest ranked row, and the others are highly ranked rows that differ from it and from each
        other; rows that are labelled already come last. Label them and call `fit` again. How many anomalies are found
        in this way is in results/universal/SUGGESTIONS.md.

        Parameters
        ----------
        X : array or table of rows
            With the columns that were given to `fit`.
        n : int, default=1

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> len(detector.suggest(X[8:], n=2))
        2
        """
        check_is_fitted(self)
        require_whole_number("n", n, least=1)
        rows = self.task_.encode(self._check(X, reset=False), "X")
        return self.task_.suggest(rows, self.task_.score_encoded(rows), int(n))

    def plot_scores(self, X: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw a histogram of the scores of rows, with the threshold and the labelled rows.

        Parameters
        ----------
        X : array or table of n rows
            With the columns that were given to `fit`.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> ax = detector.plot_scores(X)
        >>> ax.figure.savefig("scores.png")  # in the working folder
        """
        scores = self.score_samples(X)
        return draw_scores(self.task_, scores, ax)

    def plot_spaces(self, X: Any, ax: "Sequence[Axes] | None" = None) -> "list[Axes]":
        """Draw rows in the original, the embedded and the projected space, as in the paper's Figure 2.

        The first two spaces are reduced to their principal components. A method that lacks a space has fewer pictures;
        for example, `relative` has no projected space if no anomaly is labelled. At most 2,000 rows are drawn.

        Parameters
        ----------
        X : array or table of n rows
            With the columns that were given to `fit`.
        ax : sequence of matplotlib Axes, optional
            Where to draw, one for each space; by default a new figure.

        Returns
        -------
        list of matplotlib Axes

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> [ax.get_title() for ax in detector.plot_spaces(X)]
        ['original space', 'embedded space', 'projected space']
        """
        check_is_fitted(self)
        rows = self.task_.encode(self._check(X, reset=False), "X")
        return draw_spaces(self.task_, rows, self.task_.score_encoded(rows), ax)

    def plot_contributions(self, row: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw what each column adds to the score of a row; the values are those of `explain`.

        Parameters
        ----------
        row : array or table of one row, one-dimensional array, or row of a pandas frame
            With the columns that were given to `fit`.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> ax = detector.plot_contributions(X[0])
        >>> ax.figure.savefig("contributions.png")  # in the working folder
        """
        check_is_fitted(self)
        rows = self.task_.encode(self._check(_as_one_row(row), reset=False, name="row"), "row")
        if len(rows) != 1:
            raise InputError(f"row has {len(rows)} rows; one is drawn")
        return draw_contributions(self.task_.explain(rows), ax)

    def export_onnx(self, path: str | Path, number_type: str = "float64") -> None:
        """Write the adapted scorer to an ONNX file, checked with onnxruntime; if its scores differ, nothing is written.

        The inputs are the columns in use. If all are numbers or booleans, the only input is `rows`, [n, columns], with
        NaN for missing values. If there are categories too, each column is an input [n] of its name: numbers, or text,
        where an empty text is a missing value. With columns of other kinds, or one that is called "scores", the only
        input is `rows`, [n, n_attributes] in float32, as `encoding_.transform` returns it. The output `scores` has
        shape [n] in float64 and is that of `score_samples` for new rows. The metadata hold the `threshold`, what the
        inputs are as `rows` ("columns", "named columns" or "attributes"), and, as JSON, the names of the `columns` and
        of the `attributes`. It works for `relative`, the method of the model that ships, and for methods that score
        with a network; others are refused.

        Parameters
        ----------
        path : str or Path
            Where to write it; an existing file is replaced.
        number_type : {"float64", "float32"}, default="float64"
            The type of the numbers and booleans that are inputs. Numbers in float32 have seven digits.

        Raises
        ------
        InputError
            If onnxruntime's scores differ, or the method has no form that can be exported.
        MissingPackage
            If `ndonnx` or `onnxruntime` is not installed.
        FileError
            If the file cannot be written.

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> detector.export_onnx("scorer.onnx")  # in the working folder
        """
        check_is_fitted(self)
        write_onnx(path, self.task_, number_type)

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to one file for `load_detector`: the model, and the rows it was adapted with.

        Parameters
        ----------
        path : str or Path
            Where to write it; an existing file is replaced.

        Examples
        --------
        >>> import numpy as np
        >>> from oddshot import FewShotDetector
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> X[:3] += 8  # three anomalies
        >>> y = np.full(60, -1)
        >>> y[0], y[3:8] = 1, 0  # one anomaly, five normal rows
        >>> detector = FewShotDetector().fit(X, y)
        >>> detector.save("detector.safetensors")  # in the working folder
        """
        check_is_fitted(self)
        write_bytes(as_path(path), to_bytes(self._record()))

    def _repr_html_(self) -> str:
        """The fitted detector as a table in a notebook; before `fit`, as scikit-learn shows its estimators."""
        if "_task" not in vars(self):
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
        return "_task" in vars(self)

    def _record(self) -> DetectorRecord:
        return DetectorRecord(
            self.task_.model,  # first: it settles rate and threshold
            self._rate,
            self._labelled,
            self._unlabelled,
            self.task_.labels,
            self.task_.row_numbers,
            self._values,
            self.task_.encoding if self.task_.model.encoding is None else None,
            self._threshold,
        )

    def _has_probabilities(self) -> bool:
        """True, or a NoCalibration that says what to do, from which scikit-learn makes its AttributeError."""
        require_calibration(self.task_.model if "_task" in vars(self) else find_model(self.model), "predict_proba")
        return True

    def _check(self, X: Any, *, reset: bool, name: str = "X") -> Any:
        """Arrays as scikit-learn wants them; tables become Arrow tables with columns of any kind, matched by name.

        name: of the argument in messages.
        """
        if not _is_table(X):
            try:  # the encoding refuses infinities, and tells where they are
                rows = as_unmasked(X)
                return validate_data(self, rows, reset=reset, dtype="numeric", order="C", ensure_all_finite=False)
            except (TypeError, ValueError) as error:
                raise array_error(name, X, error) from None
        table = as_table(X, name)
        if not table.num_columns:
            raise InputError(f"{name} has no columns")
        if reset:
            if not table.num_rows:
                raise InputError(f"{name} has no rows")
            self.n_features_in_ = table.num_columns
            self.feature_names_in_ = np.array(table.column_names, dtype=object)
        return table


def load_detector(path: str | Path) -> FewShotDetector:
    """Read a fitted detector and adapt again: on the same machine it gives the same scores.

    One that the app wrote decides at the threshold that was set there, until `false_positive_rate` is set.

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
    data = read_container(path)
    try:
        record = from_bytes(data)
        # A model of an earlier version is read without its calibration, and then has no rates.
        rate = None if record.model.calibration is None else record.false_positive_rate
        detector = FewShotDetector(record.model, rate, record.encoding)
        others = np.full(len(record.unlabelled), UNLABELLED, np.int8)
        parts = [record.labelled, record.unlabelled]
        X = concat_tables(parts) if isinstance(record.labelled, pa.Table) else np.concatenate(parts)
        detector.fit(X, np.append(record.labels, others))
    except OddshotError as error:
        raise type(error)(f"{path}: {error}") from None
    detector._name_classes(record.classes)
    task, detector._threshold = detector.task_, record.threshold
    threshold = task.threshold if record.threshold is None else record.threshold
    detector._task = replace(task, row_numbers=record.row_numbers, threshold=threshold)
    return detector


@contextmanager
def _unchanged_by_failure(detector: FewShotDetector) -> Iterator[None]:
    """Leave a detector as it was if the work inside fails: it goes on scoring the task that it was fitted to before."""
    before = dict(vars(detector))
    try:
        yield
    except BaseException:
        detector.__dict__ = before
        raise


def _as_one_row(row: Any) -> Any:
    """A row of a frame or of an array as a table of one row; anything else as it is."""
    if is_series(row):
        return row.to_frame().T.infer_objects()
    return row[None] if isinstance(row, np.ndarray) and row.ndim == 1 else row


def _is_table(X: Any) -> bool:
    named = isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")
    return named and not issparse(X)  # one of SciPy's sparse matrices is a dict
