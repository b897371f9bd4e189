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
    for name in names or NAMES:
        for verdict in importlib.import_module(f"benchmarks.{name}").run():
            verdicts.append(Verdict(*verdict))
            print(as_line(verdicts[-1]), flush=True)
    lines = [one._asdict() | {"machine": describe_machine()} for one in verdicts]
    REPORT.write_text(json.dumps([*kept(verdicts, names), *lines], indent=2) + "\n")


def as_line(verdict: Verdict) -> str:
    """What is printed of a verdict."""
    if verdict.ratio is None:
        return f"none            (target {verdict.target:g})  {verdict.name}: {verdict.note}"
    word = "ok    " if verdict.ok else "MISSED"
    return f"{word} {verdict.ratio:8.2f} (target {verdict.target:g})  {verdict.name}"


def kept(verdicts: list[Verdict], names: list[str]) -> list[dict[str, object]]:
    """The lines of the last report that this run has not made anew."""
    old = json.loads(REPORT.read_text()) if REPORT.exists() else []
    if not names:
        old = [line for line in old if line["name"].startswith(tuple(SLOW.values()))]
    return [line for line in old if line["name"] not in {verdict.name for verdict in verdicts}]


if __name__ == "__main__":
    main(sys.argv[1:])
