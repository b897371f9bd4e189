"""The README as the package index shows it: links to files of the repository lead there."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "https://github.com/oddshot/oddshot"


def absolute_links(text: str) -> str:
    """Markdown whose relative links lead to the repository, those of pictures to the files themselves."""
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\1{REPOSITORY}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!https?:|#)", rf"\1{REPOSITORY}/blob/main/", text)


class ReadmeHook(MetadataHookInterface):
    """Gives the metadata their description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, called by hatchling."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute_links(text)}
