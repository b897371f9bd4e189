"""What `make dist` checks, on good and on broken contents; the slow parts run there only."""

import re
import tomllib
from email.message import Message
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from trove_classifiers import classifiers

import oddshot
from benchmarks.distribution import (
    EXTRAS,
    IN_DIST_INFO,
    IN_WHEEL,
    URLS,
    CheckError,
    build,
    metadata_problems,
    read_sdist,
    read_wheel,
    report,
    require,
    sdist_problems,
    wheel_problems,
)

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def absolute_links(text):
    """The function of hatch_build.py, which is not in a package."""
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.absolute_links(text)


def test_the_wheel_and_the_sdist_have_what_they_should(tmp_path):
    sizes, metadata = read_wheel(build(ROOT, tmp_path, "wheel"))
    assert wheel_problems(sizes) == []
    assert metadata_problems(metadata, oddshot.__version__) == []
    names = read_sdist(build(ROOT, tmp_path, "sdist"))
    for folder in ("src/oddshot", "tests", "benchmarks", "docs", "results"):
        on_disk = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert on_disk <= set(names)
    assert {"PKG-INFO", "constraints.txt", "pyproject.toml", "hatch_build.py", "Makefile"} <= set(names)


def test_a_wheel_with_too_much_or_too_little_is_refused():
    good = dict.fromkeys([*IN_WHEEL, *(f"oddshot-1.dist-info/{name}" for name in IN_DIST_INFO)], 10)
    assert wheel_problems(good) == []
    for name in good:
        assert any("is missing" in problem for problem in wheel_problems({k: v for k, v in good.items() if k != name}))
    for name in ("tests/data.csv", "results/runs.csv", "oddshot/tests/x.py", "oddshot/a.pyc"):
        assert wheel_problems(good | {name: 1}) == [f"{name} does not belong into a wheel"]
    assert wheel_problems(good | {"oddshot/runs.csv": 2_000_000}) == ["oddshot/runs.csv has 2,000,000 bytes"]


def test_an_sdist_is_the_repository():
    assert sdist_problems(["PKG-INFO", "a", "b"], ["a", "b"]) == []
    assert sdist_problems(["a", "notes.txt"], ["a", "b"]) == ["b is missing", "notes.txt is not in the repository"]


def test_metadata_without_something_are_refused():
    metadata = Message()
    metadata["Version"] = "1.0"
    metadata.set_payload("[page](docs/page.md) and [place](#place)")
    problems = metadata_problems(metadata, "1.1")
    assert problems[0] == "version 1.0, the package has 1.1"
    assert "the link docs/page.md leads nowhere" in problems
    assert len(problems) == 2 + len(EXTRAS) + len(URLS) + 3


def test_links_of_the_readme_lead_to_the_repository():
    text = "![Plot](docs/a.png) [page](docs/a.md#part) [there](https://example.org) [here](#here)"
    assert absolute_links(text) == (
        "![Plot](https://github.com/oddshot/oddshot/raw/main/docs/a.png) "
        "[page](https://github.com/oddshot/oddshot/blob/main/docs/a.md#part) [there](https://example.org) [here](#here)"
    )


def test_a_check_is_one_line(capsys):
    def fail():
        raise CheckError("two\nlines")

    assert report("good", lambda: "fine")
    assert not report("bad", fail)
    assert capsys.readouterr().out == "ok     good: fine\nFAILED bad: two lines\n"
    with pytest.raises(CheckError, match=r"^a; b; c and 1 more$"):
        require(["a", "b", "c", "d"])


def test_what_the_package_index_shows():
    assert set(PROJECT["classifiers"]) <= classifiers
    versions = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert set(PROJECT["optional-dependencies"]) >= EXTRAS
    assert (ROOT / "src" / "oddshot" / "py.typed").is_file()
