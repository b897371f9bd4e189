"""Labels saved between runs: one small JSON file per table, named by the SHA-256 of the table's file."""

import json
import os
import sys
from pathlib import Path

from oddshot.app.labels import Labels, parse_labels_file
from oddshot.data.files import write_bytes
from oddshot.errors import OddshotError


def labels_folder() -> Path:
    """The folder for these files, following the conventions of each operating system."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "oddshot" / "labels"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "oddshot" / "labels"
    return Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state") / "oddshot" / "labels"


def save_labels(folder: Path, digest: str, name: str, labels: Labels, left_out: tuple[str, ...]) -> None:
    """Write the labels and the columns left out of a table, atomically. digest: the SHA-256 of its file."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = {"table": name, "rows": labels.n_rows, "left_out": left_out, "labels": labels.to_json()}
    write_bytes(folder / f"{digest}.json", json.dumps(content, indent=1).encode())


def load_left_out_columns(folder: Path, digest: str) -> tuple[str, ...]:
    """The saved columns left out of a table; none if nothing is saved or the file is damaged."""
    try:
        columns = json.loads((folder / f"{digest}.json").read_bytes())["left_out"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(column for column in columns if isinstance(column, str)) if isinstance(columns, list) else ()


def load_labels(folder: Path, digest: str, n_rows: int) -> dict[int, int]:
    """The saved labels of a table with n_rows rows; none if nothing is saved or the file is damaged."""
    try:
        return parse_labels_file((folder / f"{digest}.json").read_bytes(), n_rows)
    except (OSError, OddshotError):
        return {}
