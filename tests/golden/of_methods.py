"""Every method: trained on a small fleet through the public function, then fitted to a new task."""

import hashlib
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import oddshot
from oddshot import FewShotDetector, Model, load_model, load_universal
from tests.golden.comparing import FILE_HASH
from tests.golden.samples import SHORT, SIZES, fleet, numbers, support

HERE = Path(__file__).parent
IF_MODEL = HERE / "if_v1.safetensors"  # training `if` takes 20 seconds: 192 forests of scikit-learn's

UNITS = ("eigen", "svdd", "ssvdd", "proto", "r2d2", "maml", "ft", "woproj", "woanomaly", "relative", "deepsad")
OTHERS = ("osvm", "lof", "lr", "knn", "rf", "wonn", "ridge+nearest")
BOOSTED = ("catboost", "xgboost")
SUPPORTS = {"5+1": (5, 1, 0), "5+0": (5, 0, 0), "5+1, 30 unlabelled": (5, 1, 30), "5+0, 30 unlabelled": (5, 0, 30)}


def record_methods() -> dict[str, Any]:
    """Each method's model and what it makes of new tasks."""
    out = {name: _outcome(trained(name, units=16)) for name in UNITS}
    out |= {name: _outcome(trained(name)) for name in OTHERS}
    out |= {name: _outcome(trained(name, trees=10)) for name in BOOSTED}
    out["if"] = _outcome(load_model(IF_MODEL))
    for name in ("relative", "eigen"):
        out[f"{name}, 2 members"] = _outcome(trained(name, units=8, members=2))
    out["relative, from the one that ships"] = _outcome(trained("relative", start=load_universal()))
    out["eigen, other settings"] = _outcome(
        trained("eigen", units=8, seed=3, layers_phi=3, dropout=0.0, validation=fleet()[:2])
    )
    out["refused"] = _refusals()
    return out


def trained(name: str, make: Any = numbers, **settings: Any) -> Model:
    """Two epochs: enough for weights, encoding and threshold to be its own."""
    settings |= SHORT
    return oddshot.meta_train(fleet(make), method=name, sizes=SIZES, device="cpu", progress=False, **settings)


def watched(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the work gives, or why it was refused; beside it the texts of its warnings, if any."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            out = work()
        except Exception as error:  # of any kind: which one it was is recorded
            out = {"error": f"{type(error).__name__}: {error}"}
    texts = list(dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in caught))
    return out | ({"warnings": texts} if texts else {})


def decisions(detector: FewShotDetector, X: Any) -> dict[str, Any]:
    """All that a fitted detector says of rows."""
    scores = detector.score_samples(X)
    np.testing.assert_array_equal(detector.decision_function(X), scores - detector.threshold_)
    known = hasattr(detector, "predict_proba")
    return {
        "scores": scores,
        "threshold": detector.threshold_,
        "predictions": detector.predict(X),
        "probabilities": detector.predict_proba(X)[:, 1] if known else None,
        "classes": detector.classes_,
    }


def model_facts(model: Model) -> dict[str, Any]:
    """What a model tells of itself, and the hash of its file."""
    with tempfile.TemporaryDirectory() as place:
        model.save(Path(place) / "model")
        digest = hashlib.sha256((Path(place) / "model").read_bytes()).hexdigest()
    return {"training": model.training, "threshold": model.threshold, "weights": model.n_weights, FILE_HASH: digest}


def _outcome(model: Model) -> dict[str, Any]:
    query = numbers(51, 8)

    def fitted(sizes: tuple[int, int, int]) -> dict[str, Any]:
        detector = FewShotDetector(model).fit(*support(numbers(50, 60), *sizes))
        return decisions(detector, query)

    return {"model": model_facts(model)} | {
        name: watched(lambda sizes=sizes: fitted(sizes)) for name, sizes in SUPPORTS.items()
    }


def _refusals() -> dict[str, Any]:
    """Settings that cannot work, and what is said of them."""
    cases: dict[str, dict[str, Any]] = {
        "no such method": {"name": "magic"},
        "no such setting": {"name": "eigen", "colour": 1},
        "no units": {"name": "eigen", "units": 0},
        "dropout": {"name": "proto", "dropout": 1.0},
        "members": {"name": "eigen", "members": 0},
        "alike members": {"name": "lr", "members": 2},
        "another start": {"name": "eigen", "start": load_universal()},
        "settings beside a start": {"name": "relative", "start": load_universal(), "units": 8},
        "too few rows": {"name": "eigen", "make": lambda seed: numbers(seed) * np.nan},
    }
    return {title: watched(lambda case=case: model_facts(trained(**case))) for title, case in cases.items()}
