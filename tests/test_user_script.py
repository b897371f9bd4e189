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


def test_mypy_finds_nothing_but_mistakes(tmp_path: Path) -> None:
    """What mypy --strict says of the scripts themselves; of the package it says nothing where that is installed."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mistaken.py").write_text(SCRIPT.replace("seed=0", "seed='x'"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "script.py", "mistaken.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(Path(oddshot.__file__).parents[1]), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    (mistake,) = (line for line in done.stdout.splitlines() if line.startswith(("script.py", "mistaken.py")))
    assert mistake.startswith("mistaken.py")
    assert "incompatible type" in mistake
    assert (Path(oddshot.__file__).parent / "py.typed").exists()
