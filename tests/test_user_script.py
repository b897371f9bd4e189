"""A user's script that imports oddshot is checked by mypy as the package is."""

import subprocess
import sys
from pathlib import Path

import oddshot

SCRIPT = """
import numpy as np
import oddshot

def main() -> None:
    tasks = [oddshot.Task("m1", np.zeros((40, 2)), np.array([0, 1] * 20, np.int8))]
    model: oddshot.Model = oddshot.meta_train(tasks, seed=0)
    detector = oddshot.FewShotDetector(model, false_positive_rate=0.1, columns=["x0"])
    detector.fit(np.zeros((6, 2)), [0, 0, 0, 0, 0, 1])
    scores = detector.score_samples(np.zeros((3, 2)))
    print(scores.mean(), oddshot.load_universal().n_weights)
"""


def test_mypy_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    source = Path(oddshot.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "script.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(source), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    own = [line for line in done.stdout.splitlines() if line.startswith("script.py")]
    assert own == [], done.stdout
    assert (Path(oddshot.__file__).parent / "py.typed").exists()
