"""Files for those who cite, report, contribute and run the workflows."""

import re
import tomllib
from pathlib import Path

import yaml

import oddshot

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (GITHUB / "workflows").glob("*.yml")}


def test_the_citation_has_what_the_format_requires_and_what_the_package_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["version"] == oddshot.__version__
    assert cited["license"] == PROJECT["license"]
    assert cited["authors"] == PROJECT["authors"]
    assert cited["repository-code"] == PROJECT["urls"]["Repository"]


def test_the_paper_is_cited_as_the_readme_names_it():
    (paper,) = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Iwata", "Kumagai"]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"Iwata & Kumagai, *{paper['title']}* (arXiv 2103.00684)" in readme
    assert paper["identifiers"][0]["value"] == "arXiv:2103.00684"


def test_the_tests_run_on_every_version_and_system():
    matrix = WORKFLOWS["tests"]["jobs"]["tests"]["strategy"]["matrix"]
    declared = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert matrix["python"] == declared
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_the_workflows_may_only_read_and_call_what_there_is():
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
        assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads the word on as true
        steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
        commands = "\n".join(step["run"] for step in steps if "run" in step)
        assert set(re.findall(r"make (\S+)", commands)) <= set(targets)
        assert all(set(step) & {"uses", "run"} for step in steps)


def test_issue_forms_ask_questions():
    for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        if path.stem == "config":
            assert form["contact_links"][0]["url"].startswith(PROJECT["urls"]["Repository"])
            continue
        assert {"name", "description", "body"} <= set(form)
        asked = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in asked}) == len(asked) >= 2


def test_the_versioning_page_lists_the_public_names():
    page = (ROOT / "docs" / "versioning.md").read_text()
    listed = re.search(r"docstrings describe:\n(.*?)\n- ", page, re.DOTALL)[1]
    assert re.findall(r"`(\w+)`", listed) == oddshot.__all__
