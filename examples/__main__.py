"""Runs all examples, or those that are named, and makes docs/examples.md, its pictures and the notebooks."""

import os
import subprocess
import sys

from examples.gallery import FOLDER, NAMES, NOTEBOOKS, PAGE, PICTURES, make_notebook, make_page


def main() -> None:
    """Stop at the first script that fails."""
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or NAMES:
        print(f"== {name}", flush=True)
        command = [sys.executable, str(FOLDER / f"{name}.py"), str(PICTURES / f"{name}.png")]
        subprocess.run(command, check=True, env={**os.environ, "MPLBACKEND": "Agg"})
    PAGE.write_text(make_page(), encoding="utf-8")
    for name in NOTEBOOKS:
        (FOLDER / "notebooks" / f"{name}.ipynb").write_text(make_notebook(name), encoding="utf-8")


if __name__ == "__main__":
    main()
