"""Models and detectors in a line and in a notebook's table, with names that try to become HTML."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from oddshot import FewShotDetector, load_universal
from oddshot.data.encoding import Encoding
from oddshot.storage.display import column_lines, to_html, training_facts
from tests.fleets import labels, mixed, numbers, small_model

TAGS = {"table", "caption", "tbody", "tr", "th", "td", "br"}
EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """The tags, and the texts of the cells by those of their headings."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.cells, self.open = set(), [], None
        self.feed(html)
        self.facts = dict(zip(self.cells[::2], self.cells[1::2], strict=True))

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("th", "td"):
            self.cells.append("")
            self.open = True
        if tag == "br":
            self.cells[-1] += "\n"

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self.open = False

    def handle_data(self, data):
        if self.open:
            self.cells[-1] += data


def test_a_model_is_one_line():
    assert repr(load_universal()) == "<Model 'relative': 51,075 weights, tables of any width, calibrated>"
    bare = replace(small_model("eigen", mixed), calibration=None)
    assert repr(bare).startswith("<Model 'eigen': ")
    assert repr(bare).endswith(" weights, 5 columns, not calibrated>")
    assert "\n" not in repr(FewShotDetector(load_universal()))
    assert repr(load_universal()) in repr(FewShotDetector(load_universal()))


def test_the_table_of_a_model():
    shipped = Reader(load_universal()._repr_html_())
    assert shipped.tags <= TAGS
    assert shipped.facts["Method"] == "relative, 51,075 weights"
    assert shipped.facts["Columns"] == "any: each table is encoded by its own rows"
    assert shipped.facts["Threshold"] == "calibrated"
    assert "steps 2400" in shipped.facts["Training"]
    own = Reader(replace(small_model("eigen", mixed), calibration=None)._repr_html_())
    assert "2 numbers: temperature, speed\n" in own.facts["Columns"]
    assert own.facts["Threshold"].startswith("fixed: ")


def test_the_table_of_a_fitted_detector():
    X, y = mixed(9), labels()
    y[20:] = -1
    detector = FewShotDetector(false_positive_rate=0.02).fit(X, y)
    facts = Reader(detector._repr_html_()).facts
    assert facts["Method"] == "relative, 51,075 weights"
    assert "2 numbers: temperature, speed" in facts["Columns"]
    assert facts["Rows"] == "16 labelled normal, 4 labelled anomalous, 20 unlabelled"
    assert facts["Threshold"] == f"{detector.threshold_:.4g}, for a false-positive rate of 2 %"
    assert facts["Notice"].startswith(
        "36 rows that are normal or unlabelled are too few for a false-positive rate of 2 %"
    )
    assert "Notice" not in Reader(FewShotDetector().fit(X, y)._repr_html_()).facts
    few = Reader(FewShotDetector(small_model()).fit(numbers(9)[:2], [1, 0])._repr_html_()).facts
    assert few["Rows"] == "1 labelled normal, 1 labelled anomalous"
    assert "too few for a threshold" in few["Notice"]
    bare = replace(small_model(), calibration=None)
    fixed = Reader(FewShotDetector(bare).fit(numbers(9), labels())._repr_html_()).facts
    assert fixed["Threshold"].endswith(", fixed: the model has no calibration")


def test_names_and_facts_are_escaped():
    X = pd.DataFrame(numbers(9), columns=[EVIL, '"><img src=x onerror=alert(1)>', "a & b"])
    X[f"<i>{EVIL}"] = None
    detector = FewShotDetector().fit(X, labels())
    model = replace(load_universal(), encoding=None, training={EVIL: EVIL, "candidates": {EVIL: {"auc": EVIL}}})
    for html in (detector._repr_html_(), model._repr_html_(), to_html(EVIL, [(EVIL, f"{EVIL}\n{EVIL}")])):
        assert Reader(html).tags <= TAGS
        assert "&lt;script&gt;" in html
    assert "a &amp; b" in detector._repr_html_()
    assert f"not used: <i>{EVIL} (" in Reader(detector._repr_html_()).facts["Columns"]


def test_wide_tables_and_long_facts_are_cut():
    lines = column_lines(Encoding.fit([np.random.default_rng(0).normal(size=(9, 1234))]))
    assert lines == f"1,234 numbers: {', '.join(f'x{j}' for j in range(10))} and 1,224 more"
    (training,) = training_facts({f"f{k}": 0.123456 for k in range(30)})
    assert training[1].endswith("f19 0.1235 and 10 more")
    assert training_facts({}) == []
    auc = dict(training_facts({"candidates": {"a": {"auc": 0.91234}, "b": 3}, "sizes": {"x": 1}}))
    assert auc == {"Candidates": "a: AUC 0.9123"}


def test_a_notebook_gets_the_table_unless_text_is_asked_for():
    unfitted = FewShotDetector()
    assert "FewShotDetector" in unfitted._repr_html_()
    fitted = FewShotDetector().fit(numbers(9), labels())
    bundle = fitted._repr_mimebundle_()
    assert bundle == {"text/plain": repr(fitted), "text/html": fitted._repr_html_()}
    with config_context(display="text"):
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}
    assert "FewShotDetector" in make_pipeline(fitted)._repr_html_()


@pytest.mark.parametrize("model", [None, small_model()])
def test_a_fitted_detector_in_scikit_learn_html_is_escaped(model):
    X = pd.DataFrame(numbers(9), columns=["x0", "x1", "x2"] if model else [EVIL, "b", "c"])
    assert EVIL not in make_pipeline(FewShotDetector(model).fit(X, labels()))._repr_html_()
