"""How an adapted task shows itself in a notebook."""

from oddshot.adapted.task import AdaptedTask
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.storage.display import Facts, column_lines, to_html, training_facts


def task_html(title: str, task: AdaptedTask) -> str:
    """A table of what the task was adapted with and what was found; see `to_html`."""
    return to_html(title, task_facts(task))


def task_facts(task: AdaptedTask) -> Facts:
    """What there is to say of an adapted task."""
    method = task.model.method
    return [
        ("Method", f"{method.name}, {task.model.n_weights:,} weights"),
        ("Columns", column_lines(task.encoding)),
        ("Rows", _rows(task)),
        ("Threshold", _threshold(task)),
        *([("Notice", task.notice)] if task.notice else []),
        *training_facts(task.model.training),
    ]


def _rows(task: AdaptedTask) -> str:
    n_normal, n_anomaly = (int((task.labels == label).sum()) for label in (NORMAL, ANOMALY))
    text = f"{n_normal:,} labelled normal, {n_anomaly:,} labelled anomalous"
    return f"{text}, {task.n_unlabelled:,} unlabelled" if task.n_unlabelled else text


def _threshold(task: AdaptedTask) -> str:
    rate = task.decision.rate(task.threshold)
    if rate is None:
        return f"{task.threshold:.4g}, fixed: the model has no calibration"
    return f"{task.threshold:.4g}, for a false-positive rate of {100 * rate:.3g} %"
