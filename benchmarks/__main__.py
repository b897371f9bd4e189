"""`python -m benchmarks`: every benchmark, a verdict a line, and report.json beside this file.

`python -m benchmarks NAME ...` runs only these and leaves the others' lines of the report as they are.
"""

import importlib
import json
import sys
from pathlib import Path

from benchmarks.timing import Verdict

NAMES = ("cold_start", "projection", "training_step", "training", "adaptation", "scoring", "relative", "encoding")
SLOW = ("memory",)  # only when asked for
REPORT = Path(__file__).parent / "report.json"


def main(names: list[str]) -> None:
    verdicts: list[Verdict] = []
    for name in names or NAMES:
        for verdict in importlib.import_module(f"benchmarks.{name}").run():
            verdicts.append(Verdict(*verdict))
            word = "ok    " if verdicts[-1].ok else "MISSED"
            print(f"{word} {verdicts[-1].ratio:8.2f} (target {verdicts[-1].target:g})  {verdicts[-1].name}", flush=True)
    REPORT.write_text(json.dumps([*kept(verdicts, names), *(one._asdict() for one in verdicts)], indent=2) + "\n")


def kept(verdicts: list[Verdict], names: list[str]) -> list[dict[str, object]]:
    """The lines of the last report that this run has not made anew."""
    old = json.loads(REPORT.read_text()) if REPORT.exists() else []
    if not names:
        slow = {line for name in SLOW for line in importlib.import_module(f"benchmarks.{name}").NAMES}
        old = [line for line in old if line["name"] in slow]
    return [line for line in old if line["name"] not in {verdict.name for verdict in verdicts}]


if __name__ == "__main__":
    main(sys.argv[1:])
