"""Arrow IPC from anywhere: what was written comes back, everything else is one line."""

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot import InputError
from oddshot.data.tables.ipc import from_ipc, to_ipc

TABLE = pa.table(
    {
        "a": np.arange(50.0),
        "b": pa.array(["x", None] * 25),
        "c": pa.array(["p", "q"] * 25).dictionary_encode(),
        "d": pa.nulls(50),
    }
)
STREAM = to_ipc(TABLE)


def write(table, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def refusal(data):
    with pytest.raises(InputError) as caught:
        from_ipc(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_written_comes_back():
    assert from_ipc(STREAM).equals(TABLE)
    assert from_ipc(to_ipc(TABLE.slice(0, 0))).schema == TABLE.schema


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("columns", [["a"], ["c"], ["a", "b", "c", "d"]])
def test_compressed_buffers_are_refused(codec, columns):
    table = TABLE.select(columns)
    assert refusal(write(table, compression=codec)) == "body: compressed Arrow buffers; expected plain ones"
    assert from_ipc(write(table)).equals(table)


def test_files_are_told_from_streams():
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert "expected the stream format" in refusal(bytes(sink.getvalue()))


@pytest.mark.parametrize("data", [b"", b"x", b"\xff" * 8, b"{}", STREAM[:100], STREAM[: len(STREAM) // 2]])
def test_not_a_stream(data):
    assert refusal(data).startswith("body: not an Arrow IPC stream (")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_flipped_bytes_give_a_readable_table_or_one_line(data):
    damaged = bytearray(STREAM)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    table, message = TABLE, "body: "
    try:
        table = from_ipc(bytes(damaged))
    except InputError as error:
        message = str(error)
    assert message.startswith("body: ")
    assert "\n" not in message
    if table.num_rows <= 1000:  # a null column may state any number of rows
        assert [len(column.to_pylist()) for column in table.columns] == [table.num_rows] * table.num_columns
