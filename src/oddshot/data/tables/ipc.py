"""Arrow tables as bytes in the stream format of Arrow IPC, and back from bytes that may come from anywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import error as StructError
from struct import unpack_from
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from oddshot.errors import InputError, OddshotError

_FILE_MAGIC = b"ARROW1"
_HEADER, _COMPRESSION, _DATA = 2, 3, 1  # fields of the messages' flat buffers


def to_ipc(table: Any) -> bytes:
    """The table as a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_ipc(data: bytes, where: str = "body") -> Any:
    """The table of a stream, every buffer checked. Compressed ones are refused: a few bytes could become many."""
    if data.startswith(_FILE_MAGIC):
        raise InputError(f"{where}: an Arrow file; expected the stream format of Arrow IPC")
    with _one_line(where):
        for message in _messages(data):
            if message.type in ("record batch", "dictionary") and _is_compressed(bytes(message.metadata), message.type):
                raise InputError(f"{where}: compressed Arrow buffers; expected plain ones")
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        table.validate(full=True)
    return table


def _messages(data: bytes) -> Iterator[Any]:
    yield from pa.ipc.MessageReader.open_stream(pa.BufferReader(data))


def _is_compressed(metadata: bytes, kind: str) -> bool:
    """Whether the RecordBatch in a message states a compression; pyarrow does not tell."""
    batch = _table_at(metadata, _field(metadata, _follow(metadata, 0), _HEADER))
    if kind == "dictionary":
        batch = _table_at(metadata, _field(metadata, batch, _DATA))
    return batch is not None and _field(metadata, batch, _COMPRESSION) is not None


def _field(buffer: bytes, table: int | None, number: int) -> int | None:
    """Where a field of a flat buffer's table is; None where it is left out."""
    if table is None:
        return None
    vtable = table - unpack_from("<i", buffer, table)[0]
    if vtable < 0 or 4 + 2 * number >= unpack_from("<H", buffer, vtable)[0]:
        return None
    offset = unpack_from("<H", buffer, vtable + 4 + 2 * number)[0]
    return table + int(offset) if offset else None


def _table_at(buffer: bytes, place: int | None) -> int | None:
    return None if place is None else _follow(buffer, place)


def _follow(buffer: bytes, place: int) -> int:
    return place + int(unpack_from("<I", buffer, place)[0])


@contextmanager
def _one_line(where: str) -> Iterator[None]:
    try:
        yield
    except OddshotError:
        raise
    except MemoryError:
        raise InputError(f"{where}: not enough memory for this Arrow stream") from None
    except (pa.ArrowException, OSError, ValueError, KeyError, StructError, StopIteration) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise InputError(f"{where}: not an Arrow IPC stream ({reason})") from None
