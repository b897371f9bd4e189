"""How a model shows itself: one line, and a table for a notebook.

Names of columns come from files of other people: everything that becomes HTML is escaped.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from oddshot.data.encoding import Encoding
from oddshot.data.encoding.kinds import KINDS

if TYPE_CHECKING:
    from oddshot.storage.model_file import Model

MAX_NAMES = 10  # of columns, and of training facts
_CELL = "text-align: left; vertical-align: top"

Facts = Sequence[tuple[str, str]]
"""Titles and texts, one pair for each row of a table; a text may have several lines."""


def to_line(model: "Model") -> str:
    """A model in one line."""
    columns = "tables of any width" if model.encoding is None else _count(len(model.encoding.encoders), "column")
    calibrated = "calibrated" if model.calibration is not None else "not calibrated"
    return f"<Model {model.method.name!r}: {model.n_weights:,} weights, {columns}, {calibrated}>"


def model_facts(model: "Model") -> Facts:
    """What there is to say of a model."""
    if model.calibration is None:
        decision = f"fixed: {model.threshold:.3g} of the way from normal rows to labelled anomalies"
    else:
        decision = "calibrated"
    columns = "any: each table is encoded by its own rows" if model.encoding is None else column_lines(model.encoding)
    return [
        ("Method", f"{model.method.name}, {model.n_weights:,} weights"),
        ("Columns", columns),
        ("Threshold", decision),
        *training_facts(model.training),
    ]


def training_facts(training: Mapping[str, Any]) -> Facts:
    """How a model was trained, and the candidates that were compared."""
    facts = {name: value for name, value in training.items() if not isinstance(value, Mapping)}
    texts = [f"{name.replace('_', ' ')} {_number(value)}" for name, value in facts.items()]
    candidates = training.get("candidates")
    lines = [
        f"{title}: AUC {_number(figure['auc'])}"
        for title, figure in (candidates.items() if isinstance(candidates, Mapping) else ())
        if isinstance(figure, Mapping) and "auc" in figure
    ]
    rows = [("Training", _join(texts, 2 * MAX_NAMES)), ("Candidates", "\n".join(lines[: 2 * MAX_NAMES]))]
    return [(title, text) for title, text in rows if text]


def column_lines(encoding: Encoding) -> str:
    """The columns by kind, then those that are not used and why; of many, the first ones."""
    lines = []
    for kind in KINDS.values():
        names = [encoder.describe() for encoder in encoding.encoders if encoder.kind == kind.name]
        if names:
            lines.append(f"{len(names):,} {kind.plural if len(names) > 1 else kind.name}: {_join(names)}")
    unused = [f"{name} ({reason})" for name, reason in encoding.dropped.items()]
    return "\n".join([*lines, *([f"not used: {_join(unused)}"] if unused else [])])


def to_html(title: str, facts: Facts) -> str:
    """A table of two columns, with all texts escaped."""
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{_lines(text)}</td></tr>'
        for name, text in facts
    )
    caption = f'<caption style="text-align: left; font-weight: bold">{escape(title)}</caption>'
    return f"<table>{caption}<tbody>{rows}</tbody></table>"


def _lines(text: str) -> str:
    return "<br>".join(escape(line) for line in text.split("\n"))


def _join(texts: Sequence[str], most: int = MAX_NAMES) -> str:
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most:,} more"


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' * (n != 1)}"
