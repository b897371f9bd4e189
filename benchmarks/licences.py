"""Lists every package that oddshot and its tools need, with its licence, for docs/licences.md."""

import argparse
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_MAX_CHARACTERS = 60  # of a licence; some packages give its whole text in place of its name


def needed_packages(name: str = "oddshot", extras: frozenset[str] = frozenset({"dev"})) -> dict[str, Distribution]:
    """The distributions that a package needs, directly or not, by their names; those not installed are left out."""
    found: dict[str, Distribution] = {}
    pending = [(name, extras)]
    done: set[tuple[str, frozenset[str]]] = set()
    while pending:
        wanted = pending.pop()
        if wanted in done:
            continue
        done.add(wanted)
        try:
            one = distribution(wanted[0])
        except PackageNotFoundError:  # of another platform or version of Python
            continue
        found[canonicalize_name(wanted[0])] = one
        pending += _requirements(one, wanted[1])
    found.pop(canonicalize_name(name), None)
    return dict(sorted(found.items()))


def _requirements(one: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for line in one.requires or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def licence_of(one: Distribution) -> str:
    """The licence that a package declares, in the newest of the ways that there are."""
    expressions, declared, classifiers = (
        one.metadata.get_all(field) or [] for field in ("License-Expression", "License", "Classifier")
    )
    names = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License")]
    short = [" ".join(text.split()) for text in declared if len(text) <= _MAX_CHARACTERS]
    return " or ".join(expressions or names or short) or "see the package"


def to_markdown() -> str:
    """The table of docs/licences.md."""
    lines = ["# Licences of the packages that oddshot needs", ""]
    lines += ["As they declare it, in the versions of `constraints.txt`. Made by `python -m benchmarks.licences`.", ""]
    lines += ["| package | version | licence |", "| --- | --- | --- |"]
    rows = [f"| {name} | {one.version} | {licence_of(one)} |" for name, one in needed_packages().items()]
    return "\n".join([*lines, *rows]) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/licences.md"))
    parser.parse_args().out.write_text(to_markdown())
