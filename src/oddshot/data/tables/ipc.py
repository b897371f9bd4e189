"""Convert Arrow tables to bytes in the stream format of Arrow IPC, and untrusted bytes back to tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import error as StructError
from struct import unpack_from
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from oddshot.errors import InputError, OddshotError

_FILE_MAGIC = b"ARROW1"
# Numbers of the fields in Arrow's flatbuffer schema (Message.fbs).
_MESSAGE_HEADER, _DICTIONARY_BATCH_DATA, _RECORD_BATCH_COMPRESSION = 2, 1, 3


def to_ipc(table: Any) -> bytes:
    """Write a table as an IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_ipc(data: bytes, where: str = "body") -> Any:
    """Read the table of an IPC stream and validate every buffer; where: names the stream in error messages.

    Compressed buffers are refused: a few bytes could decompress to very many.
    """
    if data.startswith(_FILE_MAGIC):
        raise InputError(f"{where}: an Arrow file; expected the stream format of Arrow IPC")
    with _errors_naming(where):
        for message in _messages(data):
            if message.type in ("record batch", "dictionary") and _is_compressed(bytes(message.metadata), message.type):
                raise InputError(f"{where}: compressed Arrow buffers; expected plain ones")
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        table.validate(full=True)
    return table


def _messages(data: bytes) -> Iterator[Any]:
    yield from pa.ipc.MessageReader.open_stream(pa.BufferReader(data))


def _is_compressed(metadata: bytes, message_type: str) -> bool:
    """Return whether the record batch of a message declares a compression, which pyarrow does not expose."""
    batch = _follow_if_present(metadata, _field_position(metadata, _follow(metadata, 0), _MESSAGE_HEADER))
    if message_type == "dictionary":
        batch = _follow_if_present(metadata, _field_position(metadata, batch, _DICTIONARY_BATCH_DATA))
    return batch is not None and _field_position(metadata, batch, _RECORD_BATCH_COMPRESSION) is not None


def _field_position(buffer: bytes, table: int | None, number: int) -> int | None:
    """Return the position of a field in the flatbuffer table at position `table`; None if it is absent."""
    if table is None:
        return None
    vtable = table - unpack_from("<i", buffer, table)[0]
    if vtable < 0 or 4 + 2 * number >= unpack_from("<H", buffer, vtable)[0]:
        return None
    offset = unpack_from("<H", buffer, vtable + 4 + 2 * number)[0]
    return table + int(offset) if offset else None


def _follow_if_present(buffer: bytes, position: int | None) -> int | None:
    return None if position is None else _follow(buffer, position)


def _follow(buffer: bytes, position: int) -> int:
    """Return the position that the relative offset stored at `position` points to."""
    return position + int(unpack_from("<I", buffer, position)[0])


@contextmanager
def _errors_naming(where: str) -> Iterator[None]:
    """Convert whatever malformed bytes make Arrow raise to an InputError of one line."""
    try:
        yield
    except OddshotError:
        raise
    except MemoryError:  # the stream declares sizes that no sender would: its mistake, not this machine's
        raise InputError(f"{where}: not enough memory for this Arrow stream") from None
    except (pa.ArrowException, OSError, ValueError, KeyError, StructError, StopIteration) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise InputError(f"{where}: not an Arrow IPC stream ({reason})") from None
