"""Hooks of mkdocs: pages of the repository outside docs, and the reference of the commands, become parts of the site.

A file outside docs is part of the site where a page links to it, under its path in the repository.
"""

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

from benchmarks.command_reference import to_markdown

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COMMANDS = "<!-- the commands -->"  # replaced by their reference
LISTED = ("CHANGELOG.md", "CONTRIBUTING.md")  # pages outside docs that the navigation names
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs that pages link to, directly or through each other."""
    pending = [*DOCS.rglob("*.md"), *(ROOT / name for name in LISTED)]
    found = set(pending)
    while pending:
        page = pending.pop()
        for target in set(_links(page)) - found:
            found.add(target)
            if target.suffix == ".md":
                pending.append(target)
    for path in sorted(found):
        if not path.is_relative_to(DOCS):
            level = InclusionLevel.INCLUDED if path.name in LISTED else InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, _address(path), abs_src_path=str(path), inclusion=level))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files of the repository into links within the site, and insert the reference of the commands."""
    here = Path(page.file.abs_src_path)
    folder = posixpath.dirname(page.file.src_uri)

    def rewritten(link: re.Match[str]) -> str:
        target = _resolve(here, link[1])
        return link[0] if target is None else posixpath.relpath(_address(target), folder or ".") + (link[2] or "")

    parts = CODE.split(markdown)
    codes = [*(found[0] for found in CODE.finditer(markdown)), ""]
    text = "".join(LINK.sub(rewritten, part) + code for part, code in zip(parts, codes, strict=True))
    return text.replace(COMMANDS, to_markdown()) if COMMANDS in text else text


def _links(page: Path) -> Iterator[Path]:
    """The files of the repository that a page links to or shows."""
    for link in LINK.finditer(CODE.sub("", page.read_text())):
        target = _resolve(page, link[1])
        if target is not None:
            yield target


def _resolve(page: Path, link: str) -> Path | None:
    """The file of the repository that a link of a page leads to; None for other hosts and for what does not exist."""
    if re.match(r"\w+:", link):
        return None
    path = Path(os.path.normpath(page.parent / link))
    path = path / "README.md" if path.is_dir() else path
    return path if path.is_file() else None


def _address(path: Path) -> str:
    """Where a file of the repository lies in the site."""
    if path == ROOT / "README.md":
        return "index.md"
    return path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT).as_posix()
