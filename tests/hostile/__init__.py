"""The hostile trial: every door of the package tried with seeded, random and broken input; see docs/reliability.md.

`python -m tests.hostile` (make hostile) runs all of it in some minutes, `--short` a part in a minute.
"""
