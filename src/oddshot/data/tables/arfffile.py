"""ARFF files with dense rows become Arrow tables."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from oddshot.data.tables.textfile import scan_text
from oddshot.errors import InputError

_NUMBERS = ("NUMERIC", "REAL", "INTEGER")


def read_arff(path: Path) -> Any:
    """The whole file: numeric attributes as float64, nominal ones and strings as text, ? as null."""
    import arff  # only where there is such a file: training needs none

    encoding, _ = scan_text(path)
    content = path.read_text(encoding=encoding)
    _refuse_sparse(content, path)
    try:
        document = arff.loads(content)
    except arff.ArffException as error:
        raise InputError(f"{path}: not a readable ARFF file ({_one_line(error)})") from error
    columns = zip(*document["data"], strict=True) if document["data"] else [()] * len(document["attributes"])
    types = [pa.float64() if kind in _NUMBERS else pa.string() for _, kind in document["attributes"]]
    arrays = [pa.array(cells, kind) for cells, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, names=[name for name, _ in document["attributes"]])


def _refuse_sparse(content: str, path: Path) -> None:
    """The parser would read sparse rows, with zeros where a value may just be left out."""
    _, _, data = re.sub(r"(?im)^\s*@data\s*$", "\0", content, count=1).partition("\0")
    lines = (line.strip() for line in data.splitlines())
    rows = (line for line in lines if line and not line.startswith("%"))
    for i, row in enumerate(rows, start=1):
        if row.startswith("{"):
            raise InputError(f"{path}: row {i} is sparse ({row[:40]}); expected dense rows, all values with commas")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
