"""The package does what it did when behaviour.json was recorded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.behaviour import compare
from tests.golden.comparing import ANY_MACHINE, SAME_MACHINE, differences

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-m", "tests.golden.behaviour"]


def test_nothing_has_changed(tmp_path):
    found = tmp_path / "found.json"
    subprocess.run([*COMMAND, "record", str(found)], cwd=HERE.parents[1], check=True, timeout=600)
    expected = json.loads((HERE / "behaviour.json").read_text(encoding="utf-8"))
    lines = compare(expected, json.loads(found.read_text(encoding="utf-8")), ANY_MACHINE)
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("tolerance", [SAME_MACHINE, ANY_MACHINE])
def test_what_differs_is_told(tolerance):
    expected = {"a": [1.0, 2.0], "b": "score 0.5", "c": 1, "d": None, "e": {"f": True}}
    found = {"a": [1.0, 2.1], "b": "score 0.7", "c": 1.0, "e": {"f": True, "g": 1}}
    assert list(differences(expected, found, tolerance)) == [
        "/a[1]: 2.0 -> 2.1",
        '/b: "score 0.5" -> "score 0.7"',
        "/c: 1 -> 1.0",
        "/d: null is gone",
        "/e/g: 1 is new",
    ]
    assert list(differences([1], [1, 2], tolerance)) == [": 1 entries -> 2: [1] -> [1, 2]"]
    assert not list(differences(expected, expected, tolerance))


def test_rounding_of_other_machines_is_no_difference():
    expected = {"score": 0.5, "text": "AUC 0.8333", "file_sha256": "a"}
    found = {"score": 0.50001, "text": "AUC 0.8334", "file_sha256": "b"}
    assert not list(differences(expected, found, ANY_MACHINE))
    assert len(list(differences(expected, found, SAME_MACHINE))) == 3


def test_many_differences_are_cut():
    lines = compare(
        {"versions": {"torch": "1"}, "x": [0] * 99}, {"versions": {"torch": "2"}, "x": [1] * 99}, SAME_MACHINE
    )
    assert len(lines) == 50
    assert lines[-2:] == ["... and 51 more", "recorded with torch 1, here 2"]
