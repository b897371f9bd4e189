"""Read Parquet files as Arrow tables."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

_BUFFER_BYTES = 1 << 20  # of a column that are read at once


def read_parquet(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """Read the whole file. text_columns is ignored: a Parquet file declares the types of its columns."""
    with _open_parquet(path) as file:
        return _checked(file.read())


def stream_parquet(path: Path, chunk_rows: int, kinds: Mapping[str, str]) -> Iterator[Any]:
    """Yield tables of at most chunk_rows rows in constant memory; kinds is ignored."""
    with _open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=chunk_rows):
            yield _checked(pa.Table.from_batches([batch]))


def _checked(table: Any) -> Any:
    """Refuse what Arrow itself does not check while it reads, such as text that is not UTF-8."""
    table.validate(full=True)
    return table


def _open_parquet(path: Path) -> Any:
    return pyarrow.parquet.ParquetFile(
        path, pre_buffer=False, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
    )
