"""Read ARFF files with dense rows as Arrow tables."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from oddshot.data.tables.text_encoding import scan_text_file
from oddshot.errors import InputError, missing_package

_MAX_REASON = 200  # characters, of which some may be those of the file
_NUMERIC_TYPES = ("NUMERIC", "REAL", "INTEGER")


def read_arff(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """Read the whole file: numeric attributes as float64, nominal and string ones as text, ? as null.

    text_columns is ignored: an ARFF file declares the types of its columns.
    """
    try:
        import arff  # imported here because few users have such files
    except ModuleNotFoundError:
        raise missing_package(f"{path}: reading ARFF", "arff", "liac-arff") from None

    from oddshot.data.tables.arff_decoding import Decoder

    content = path.read_text(encoding=scan_text_file(path).encoding)
    _refuse_sparse_rows(content, path)
    try:
        document = Decoder().decode(content)
    except arff.ArffException as error:  # its str() fails where a row holds a percent sign
        reason = " ".join(error.message[:_MAX_REASON].replace("%d", str(error.line), 1).split()).rstrip(".")
        raise InputError(f"{path}: not a readable ARFF file ({reason})") from error
    except (ValueError, IndexError, TypeError) as error:
        raise InputError(f"{path}: not a readable ARFF file (a line of its header is incomplete)") from error
    columns = zip(*document["data"], strict=True) if document["data"] else [()] * len(document["attributes"])
    types = [pa.float64() if declared in _NUMERIC_TYPES else pa.string() for _, declared in document["attributes"]]
    arrays = [pa.array(cells, arrow_type) for cells, arrow_type in zip(columns, types, strict=True)]
    return pa.table(arrays, names=[name for name, _ in document["attributes"]])


def stream_arff(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Yield tables of at most chunk_rows rows. The file is read as a whole first, and kinds is ignored."""
    table = read_arff(path)
    for start in range(0, table.num_rows, chunk_rows):
        yield table.slice(start, chunk_rows)


def _refuse_sparse_rows(content: str, path: Path) -> None:
    """Refuse sparse rows, which the parser would fill with zeros where a value may be missing."""
    lines = (line.strip() for line in content.split("\n"))
    for line in lines:
        if line.upper().startswith("@DATA"):
            break
    rows = (line for line in lines if line and not line.startswith("%"))
    for i, row in enumerate(rows, start=1):
        if row.startswith("{"):
            raise InputError(f"{path}: row {i} is sparse ({row[:40]}); expected dense rows, all values with commas")
