"""Models and detectors on disk: written and read by this code, and written by the code of version 0.1.0."""

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from oddshot import FewShotDetector, Model, load_detector, load_model
from tests.golden.comparing import FILE_HASH
from tests.golden.of_methods import HERE, IF_MODEL, decisions, model_facts, trained, watched
from tests.golden.samples import mixed, numbers, support

DETECTOR = HERE / "detector_v1.safetensors"
OLD_MODEL = HERE / "format1.safetensors"


def make_files() -> None:
    """The files that later code must read: never again once a release has written them."""
    model = trained("eigen", mixed, units=8)
    FewShotDetector(model, 0.1).fit(*support(mixed(90, 60), 5, 1, 10)).save(DETECTOR)
    trained("if").save(IF_MODEL)


def record_files() -> dict[str, Any]:
    """What files give that were written before, and now."""
    new = mixed(91, 10)
    out = {"detector_v1": decisions(load_detector(DETECTOR), new), "format1": model_facts(load_model(OLD_MODEL))}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, detector, rows in _detectors():
            out[name] = _through_a_file(detector, folder / name, rows)
        out["models"] = {name: _model_through_a_file(model, folder / name) for name, model in _models()}
        out["refused"] = _refusals(folder)
    return out


def _detectors() -> list[tuple[str, FewShotDetector, Any]]:
    table, rows = support(mixed(92, 60), 5, 1, 20), mixed(93, 8)
    array = support(numbers(94, 60), 5, 0, 20)
    return [
        ("shipped, mixed", FewShotDetector(false_positive_rate=0.05).fit(*table), rows),
        ("shipped, array", FewShotDetector().fit(*array), numbers(95, 8)),
        ("shipped, other labels", FewShotDetector().fit(array[0][:4], [3, 3, 3, 7]), numbers(95, 8)),
        ("eigen, mixed", FewShotDetector(trained("eigen", mixed, units=8)).fit(*table), rows),
    ]


def _through_a_file(detector: FewShotDetector, path: Path, rows: Any) -> dict[str, Any]:
    before = detector.score_samples(rows)
    detector.save(path)
    again = load_detector(path)
    return {
        **decisions(again, rows),
        "the same": bool((again.score_samples(rows) == before).all()),
        "neighbours": again.explain(rows).neighbours,
        FILE_HASH: hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _models() -> list[tuple[str, Model]]:
    return [
        ("woanomaly", trained("woanomaly", mixed, units=8)),
        ("eigen, 2 members", trained("eigen", mixed, units=8, members=2)),
    ]


def _model_through_a_file(model: Model, path: Path) -> dict[str, Any]:
    X, y = support(mixed(92, 60), 5, 1, 20)
    model.save(path)
    before, again = (FewShotDetector(one).fit(X, y) for one in (model, load_model(path)))
    rows = mixed(93, 8)
    same = bool((again.score_samples(rows) == before.score_samples(rows)).all())
    return {**model_facts(load_model(path)), **decisions(again, rows), "the same": same}


def _refusals(folder: Path) -> dict[str, Any]:
    data = DETECTOR.read_bytes()
    contents = {
        "empty": b"",
        "text": b"a,b\n1,2\n",
        "half": data[: len(data) // 2],
        "damaged": data[:-1] + bytes([data[-1] ^ 1]),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    readers: dict[str, Any] = {"model": load_model, "detector": load_detector}
    cases = {
        f"{name} as a {kind}": (read, folder / name)
        for name in (*contents, "nowhere")
        for kind, read in readers.items()
    }
    cases |= {"a model as a detector": (load_detector, IF_MODEL), "a detector as a model": (load_model, DETECTOR)}
    return {
        title: _without(watched(lambda case=case: {"result": type(case[0](case[1])).__name__}), case[1].parent)
        for title, case in cases.items()
    }


def _without(answer: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {key: value.replace(str(folder), "FOLDER") for key, value in answer.items()}
