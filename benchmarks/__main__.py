"""`python -m benchmarks`: every benchmark, a verdict a line, and report.json beside this file."""

import importlib
import json
from pathlib import Path

from benchmarks.timing import Verdict

NAMES = ("projection", "training_step", "encoding", "training", "scoring", "adaptation")


def main() -> None:
    verdicts: list[Verdict] = []
    for name in NAMES:
        for verdict in importlib.import_module(f"benchmarks.{name}").run():
            verdicts.append(Verdict(*verdict))
            word = "ok    " if verdicts[-1].ok else "MISSED"
            print(f"{word} {verdicts[-1].ratio:8.2f} (target {verdicts[-1].target:g})  {verdicts[-1].name}", flush=True)
    report = Path(__file__).parent / "report.json"
    report.write_text(json.dumps([verdict._asdict() for verdict in verdicts], indent=2) + "\n")


if __name__ == "__main__":
    main()
