"""Models are used without the packages that only training needs; what needs them says so in one line.

`make without-torch` runs the tests of all that uses a model in an environment without torch.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BLOCKED = ("torch", "pandas", "matplotlib", "arff", "pooch", "catboost", "xgboost", "onnx", "ray")
BLOCK = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
USE = f"""
import numpy as np, oddshot
from pathlib import Path
rng = np.random.default_rng(0)
X, y = rng.normal(size=(40, 3)), np.r_[1, 0, 0, 0, 0, 0, [-1] * 34]
X[y == 1] += 4
for name in ("universal", *sorted(Path({str(Path(__file__).with_name("models"))!r}).glob("*-numbers.safetensors"))):
    detector = oddshot.FewShotDetector(name).fit(X, y)
    scores, predicted = detector.score_samples(X), detector.predict(X)
    assert np.isfinite(scores).all() and set(predicted.tolist()) <= {{0, 1}}, name
    assert detector.explain(X[:2]).contributions.shape == (2, 3), name
    assert len(detector.suggest(X, 3)) == 3, name
    detector.save("detector.safetensors")
    np.testing.assert_array_equal(oddshot.load_detector("detector.safetensors").score_samples(X), scores)
    assert "torch" not in sys.modules
"""
SERVE = """
from fastapi.testclient import TestClient
import oddshot.app.routes
from oddshot.service.routes import build_service
from oddshot.universal.shipped import find_model
rows = [[0.0, 1.0], [0.1, 0.9], [0.2, 1.1], [5.0, 5.0]]
with TestClient(build_service(find_model(None)), base_url="http://127.0.0.1") as client:
    made = client.post("/v1/adapt", json={"columns": ["a", "b"], "rows": rows, "labels": [0, 0, 0, 1]})
    assert made.status_code == 200, made.text
assert "torch" not in sys.modules
"""


def run(code, folder, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", BLOCK + code, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr.splitlines()[-3:]


def oddshot(folder, *arguments):
    return run("from oddshot.cli import main\nmain()", folder, *arguments)


def test_every_model_fits_scores_explains_and_is_saved(tmp_path):
    assert run(USE, tmp_path) == (0, [])


def test_the_service_and_the_app(tmp_path):
    pytest.importorskip("httpx")
    assert run(SERVE, tmp_path) == (0, [])


def test_files_are_scored(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 3))
    pd.DataFrame(rows, columns=list("abc")).to_csv(tmp_path / "new.csv", index=False)
    pd.DataFrame(rows[:6], columns=list("abc")).assign(fault=[0, 0, 0, 0, 0, 1]).to_csv(
        tmp_path / "six.csv", index=False
    )
    code, lines = oddshot(tmp_path, "score", "--support", "six.csv", "--label", "fault", "new.csv", "--out", "out.csv")
    assert code == 0, lines
    assert len(pd.read_csv(tmp_path / "out.csv")) == 30
    assert oddshot(tmp_path, "info", "new.csv")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "module", "package"),
    [
        (("train", "x.csv", "--label", "fault", "--out", "m.safetensors"), "torch", "torch"),
        (("demo",), "torch", "torch"),
        (("info", "x.arff"), "arff", "liac-arff"),
    ],
)
def test_what_needs_more_says_so_in_one_line(tmp_path, arguments, module, package):
    (tmp_path / "x.arff").write_text("@relation x\n@attribute a numeric\n@data\n1\n")
    code, lines = oddshot(tmp_path, *arguments)
    assert code == 2
    assert len(lines) == 1
    assert lines[0].endswith(f" needs {module}: pip install {package}")


def test_python_says_so_too(tmp_path):
    code = "import oddshot\ntry:\n    oddshot.meta_train\nexcept ImportError as error:\n    sys.exit(str(error))"
    assert run(code, tmp_path) == (1, ["oddshot.meta_train needs torch: pip install torch"])
