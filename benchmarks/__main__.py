"""`python -m benchmarks`: every benchmark, a verdict a line, and report.json beside this file.

`python -m benchmarks NAME ...` runs only these and leaves the others' lines of the report as they are.
"""

import importlib
import json
import sys
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.timing import Verdict

NAMES = (
    *("cold_start", "projection", "training_step", "training", "adaptation"),
    *("scoring", "relative", "shipped", "growth", "encoding", "csv_to_scores", "training_command"),
)
SLOW = {  # only when asked for; with what the names of their lines begin
    "memory": "scoring a Parquet file of ",
    "service": "service: ",
    "app": "app: ",
}
REPORT = Path(__file__).parent / "report.json"


def main(names: list[str]) -> None:
    verdicts: list[Verdict] = []
    old = json.loads(REPORT.read_text()) if REPORT.exists() else []
    for name in names or NAMES:
        for verdict in importlib.import_module(f"benchmarks.{name}").run():
            verdicts.append(Verdict(*verdict))
            print(as_line(verdicts[-1]), flush=True)
        write_report(old, verdicts, is_whole=not names and name == NAMES[-1])


def write_report(old: list[dict[str, object]], verdicts: list[Verdict], is_whole: bool) -> None:
    """The new lines after those of the old report that they do not replace; after a whole run only slow ones of it."""
    if is_whole:
        old = [line for line in old if str(line["name"]).startswith(tuple(SLOW.values()))]
    new = [verdict._asdict() | {"machine": describe_machine()} for verdict in verdicts]
    kept = [line for line in old if line["name"] not in {verdict.name for verdict in verdicts}]
    REPORT.write_text(json.dumps([*kept, *new], indent=2) + "\n")


def as_line(verdict: Verdict) -> str:
    """What is printed of a verdict."""
    if verdict.ratio is None:
        return f"none            (target {verdict.target:g})  {verdict.name}: {verdict.note}"
    word = "ok    " if verdict.ok else "MISSED"
    return f"{word} {verdict.ratio:8.2f} (target {verdict.target:g})  {verdict.name}"


if __name__ == "__main__":
    main(sys.argv[1:])
