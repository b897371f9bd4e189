"""The detector in the trial: as users have it, raw rows in, through `FewShotDetector`."""

import functools
import hashlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import oddshot
from oddshot.bench.field.episodes import FieldEpisode
from oddshot.detector import FewShotDetector

if TYPE_CHECKING:
    from oddshot.storage.model_file import Model

FloatArray = NDArray[np.float64]
PRODUCT, SHIPPED = "oddshot", "shipped model"  # in fleets, `oddshot` is trained on the fleet
# What scores do not depend on.
OTHER_PACKAGES = {"app", "bench", "cli", "scoring", "service", "web"}
TRAINING_CODE = ("training/", "universal/prior.py", "training/shipped_weights.py")


def score_product(episode: FieldEpisode, model: "Model | None" = None) -> FloatArray:
    """Anomaly scores of the rows to be ranked; where these were given to fit, the scores that fit has left."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = FewShotDetector(model).fit(episode.X, episode.labels)
        if episode.positions is not None:
            scores: FloatArray = detector.decision_scores_[episode.positions]
            return scores
        return detector.score_samples(episode.scored)


@functools.cache
def load_candidate(path: str | None) -> "Model | None":
    """The model in a file, or None for the one that ships."""
    from oddshot.storage.model_file import load_model

    return None if path is None else load_model(path)


@functools.cache
def product_fingerprint(model_file: str | None = None, training: bool = False) -> str:
    """Hash of the package's version, of the code and weights that scores depend on, and of a candidate's file.

    training: with the code of training, on which the scores of a fleet's model depend.

    A commit would not do: it changes with every comment elsewhere, and does not where the checkout has local changes.
    """
    package = Path(oddshot.__file__).parent
    digest = hashlib.sha256(oddshot.__version__.encode())
    for path in sorted(package.rglob("*")):
        relative = path.relative_to(package).as_posix()
        counts = path.suffix in (".py", ".safetensors") and relative.partition("/")[0] not in OTHER_PACKAGES
        if counts and (training or not relative.startswith(TRAINING_CODE)):
            digest.update(f"{relative} ".encode() + path.read_bytes())
    if model_file is not None:
        digest.update(Path(model_file).read_bytes())
    return digest.hexdigest()[:16]
