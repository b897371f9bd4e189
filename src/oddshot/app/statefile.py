"""Labels kept between runs: one small JSON file a table, named by the SHA-256 of the table's file."""

import json
import os
import sys
from pathlib import Path

from oddshot.app.labels import Labels, parse_labels_file
from oddshot.data.files import write_bytes
from oddshot.errors import OddshotError


def state_folder() -> Path:
    """The folder for such files, as each system has it."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "oddshot" / "labels"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "oddshot" / "labels"
    return Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state") / "oddshot" / "labels"


def keep(folder: Path, digest: str, name: str, labels: Labels, left_out: tuple[str, ...]) -> None:
    """Write it whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = {"table": name, "rows": labels.n_rows, "left_out": left_out, "labels": labels.to_json()}
    write_bytes(folder / f"{digest}.json", json.dumps(content, indent=1).encode())


def recall_left_out(folder: Path, digest: str) -> tuple[str, ...]:
    """The columns left out of this table before; none where nothing is known or the file is damaged."""
    try:
        columns = json.loads((folder / f"{digest}.json").read_bytes())["left_out"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(column for column in columns if isinstance(column, str)) if isinstance(columns, list) else ()


def recall_labels(folder: Path, digest: str, n_rows: int) -> dict[int, int]:
    """The labels given to this table before; none where nothing is known or the file is damaged."""
    try:
        return parse_labels_file((folder / f"{digest}.json").read_bytes(), n_rows)
    except (OSError, OddshotError):
        return {}
