"""How sure the ranking is: the share of pairs of labelled rows that are ranked right when each row is left out.

The detector's leave-one-out scores hide each row from itself, but not from the projection. They are used because they
come at no cost, and because their AUC is the better estimate of the AUC on rows without a label: that of refits without
one row at a time is too low for few labels (`tests/app/learning/test_certainty.py`).
"""

from typing import Any

import numpy as np

from oddshot.app.labels import Labels
from oddshot.app.learning.label_auc import describe_missing, label_auc, missing_labels
from oddshot.app.learning.label_folds import detector_scorer, held_out_scores
from oddshot.app.rankers import DetectorRanker, Ranker
from oddshot.app.sheet import Sheet


def describe_certainty(sheet: Sheet, labels: Labels, ranker: Ranker) -> dict[str, Any]:
    """The AUC over the labelled rows as JSON, or what is missing for it."""
    if any(missing_labels(labels.values)):
        return {"missing": describe_missing(labels.values), "auc": None}
    if not isinstance(ranker, DetectorRanker):
        return {"missing": "There is no detector", "auc": None}
    found = ranker.leave_one_out()
    if found is None:
        scores = np.empty(len(labels))
        for _ in held_out_scores(
            detector_scorer(sheet, ranker.unlabelled), sheet.encoded[labels.rows], labels.values, scores
        ):
            pass
        found = scores, labels.values
    return {"missing": "", **label_auc(*found).to_json()}
