"""Damaged and odd files of every format: they are read, or refused in one line."""

import json
import string
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from oddshot import FewShotDetector, load_detector, load_model
from oddshot.app.edits import Edits
from oddshot.app.example import example_sheet
from oddshot.app.saved_edits import NAME as EDITS_NAME
from oddshot.app.saved_edits import SavedEdits
from oddshot.bench.store import open_store, read_store
from oddshot.data.encoding import Encoding
from oddshot.data.tables import read_table, stream_table
from oddshot.data.tables.ipc import from_ipc, to_ipc
from oddshot.errors import OddshotError
from oddshot.service.limits import ServiceLimits
from oddshot.service.store import DetectorStore
from oddshot.service.support import Support
from oddshot.universal.names import UNIVERSAL_MODEL_FILE
from oddshot.universal.shipped import load_universal
from tests.hostile.log import TrialLog

CELLS = (
    *("", "0", "1", "-1", "1e308", "-1e400", "nan", "inf", "NA", "?", "-", "1,234.5", "1.234,5", "12 %", "$5", "3 mm"),
    *("2024-02-30", "31.12.2024", "12/31/24", "0000-00-00", "99999-01-01", "12:61", "1970-01-01T00:00:00+99:00"),
    *("true", "yes", "ja", "x" * 300, "ä", "\u202e", "日本", "=1+1", "\x1b[31m", '"', '""', "'", "\\", "\t", "9" * 400),
)
TOKENS = {
    ".csv": [b",", b";", b"\n", b"\r", b'"', b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b",,", b"\r\n\r\n", b"1e999"],
    ".jsonl": [b"{", b"}", b"[", b"null", b"NaN", b":", b'"', b"\\u0000", b"\\ud800", b"1e999", b"\n", b"{}" * 50],
    ".arff": [b"@attribute", b"@data", b"@relation", b"%", b"{", b"}", b"?", b"'", b"\n", b"numeric", b"sparse", b"\0"],
}
N_ROWS = 24


def try_files(log: TrialLog, seed: int, n: int) -> None:
    """n tries of each kind of file."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        for suffix in (".csv", ".jsonl", ".arff", ".parquet"):
            _try_tables(log, seed, n, folder, suffix)
        _try_damaged(log, seed, n, "Arrow streams", to_ipc(_table(np.random.default_rng(seed))), from_ipc)
        _try_damaged(log, seed, n, "model files", UNIVERSAL_MODEL_FILE.read_bytes(), _reader(folder / "m", load_model))
        _try_damaged(log, seed, n, "detector files", _detector_bytes(folder), _reader(folder / "d", load_detector))
        for store, content, read in _stores(folder):
            _try_damaged(log, seed, n // 2, store, content, read)


def _try_tables(log: TrialLog, seed: int, n: int, folder: Path, suffix: str) -> None:
    with log.door(f"{suffix[1:]} tables") as attempt:
        for k in range(n):
            rng = np.random.default_rng([seed, k])
            path = folder / f"table{suffix}"
            data = _write(suffix, rng)
            path.write_bytes(_damaged(data, rng, TOKENS.get(suffix, [])) if rng.random() < 0.7 else data)
            attempt(f"seed {seed}, {k}", lambda path=path: read_as_commands_do(path))


def read_as_commands_do(path: Path) -> None:
    """Read whole and in chunks; all that is not readable is an error of ours, in one line."""
    with _Refusal():
        table = read_table(path)
        encoding = Encoding.fit([table])
        rows = encoding.transform(table)
        assert np.isfinite(rows).all()
        n_streamed = sum(chunk.num_rows for chunk in stream_table(path, kinds=encoding.stored_kinds))
        assert n_streamed == table.num_rows, f"{n_streamed} of {table.num_rows} rows in chunks"


class _Refusal:
    """Our own errors, in one line, are what is wanted."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OddshotError):
            return False
        assert "\n" not in str(error), "a message of several lines"
        return True


def _try_damaged(log: TrialLog, seed: int, n: int, name: str, content: bytes, read: Callable[[bytes], object]) -> None:
    def attempt_to_read(data: bytes) -> None:
        with _Refusal():
            read(data)

    with log.door(name) as attempt:
        for k in range(n):
            data = _damaged(content, np.random.default_rng([seed, k]))
            attempt(f"seed {seed}, {k}", lambda data=data: attempt_to_read(data))


def _damaged(data: bytes, rng: np.random.Generator, tokens: list[bytes] | None = None) -> bytes:
    """Bytes changed, removed, repeated or put in at a few places, or the end cut off."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, len(out) + 1))
        choice = rng.integers(6)
        if choice == 0 and out:
            out[min(at, len(out) - 1)] = int(rng.integers(256))
        elif choice == 1:
            del out[at : at + int(rng.integers(1, 64))]
        elif choice == 2:
            out[at:at] = out[at : at + int(rng.integers(1, 256))]
        elif choice == 3:
            del out[at:]
        elif choice == 4 and tokens:
            out[at:at] = tokens[rng.integers(len(tokens))]
        else:
            out[at:at] = rng.integers(0, 256, int(rng.integers(1, 9)), np.uint8).tobytes()
    return bytes(out)


def _table(rng: np.random.Generator) -> pa.Table:
    columns = {f"x{j}": rng.normal(size=N_ROWS) for j in range(3)}
    return pa.table({**columns, "kind": [("a", "b", None)[v] for v in rng.integers(0, 3, N_ROWS)]})


def _write(suffix: str, rng: np.random.Generator) -> bytes:
    """A small table of odd cells in this format."""
    names = [f"{string.ascii_lowercase[j]}{rng.choice(['', ' ', 'é', '=x'])}" for j in range(int(rng.integers(1, 6)))]
    rows = [[_cell(rng, j) for j in range(len(names))] for _ in range(int(rng.integers(0, N_ROWS)))]
    if suffix == ".csv":
        delimiter = str(rng.choice([",", ";", "\t", "|"]))
        lines = [names, *rows]
        return "\n".join(delimiter.join(_quoted(cell, delimiter) for cell in line) for line in lines).encode()
    if suffix == ".jsonl":
        return "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows).encode()
    if suffix == ".arff":
        kinds = [str(rng.choice(["numeric", "{a,b}", "string", "date"])) for _ in names]
        head = [
            "@relation r",
            *(f"@attribute '{name}' {kind}" for name, kind in zip(names, kinds, strict=True)),
            "@data",
        ]
        return "\n".join([*head, *(",".join(row) for row in rows)]).encode()
    sink = pa.BufferOutputStream()
    columns = [pa.array([row[j] for row in rows], pa.string()) for j in range(len(names))]
    pyarrow.parquet.write_table(pa.table([*columns], names=names), sink)
    return sink.getvalue().to_pybytes()


def _cell(rng: np.random.Generator, column: int) -> str:
    return str(CELLS[rng.integers(len(CELLS))]) if rng.random() < 0.2 else f"{rng.normal() * 10**column:.4g}"


def _quoted(cell: str, delimiter: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in (delimiter, '"', "\n")) else cell


def _reader(path: Path, load: Callable[[Path], object]) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        path.write_bytes(data)
        return load(path)

    return read


def _detector_bytes(folder: Path) -> bytes:
    rng = np.random.default_rng(0)
    FewShotDetector().fit(rng.normal(size=(20, 3)), np.array([0] * 6 + [1] + [-1] * 13)).save(folder / "saved")
    return (folder / "saved").read_bytes()


def _stores(folder: Path) -> list[tuple[str, bytes, Callable[[bytes], object]]]:
    """The stores of the service, the app and the bench, with how each is read."""
    service, bench, limits = folder / "service.sqlite", folder / "bench.db", ServiceLimits()
    store = DetectorStore(service, limits)
    rows = _table(np.random.default_rng(0))
    store.put("a" * 16, "digest", Support(rows, np.array([0] * 20 + [1] * 4, np.int8), None))
    store.close()
    sheet = example_sheet(load_universal())
    edits = folder / "edits"
    SavedEdits(edits, sheet.digest).write(Edits(), 0, [{"labels": {1: 0, 5: 1}}], sheet)
    with open_store(bench):
        pass

    def read_service(data: bytes) -> object:
        service.write_bytes(data)
        opened = DetectorStore(service, limits)
        try:
            return opened.get("a" * 16, "digest")
        finally:
            opened.close()

    def read_edits(data: bytes) -> object:
        (edits / EDITS_NAME).write_bytes(data)
        return SavedEdits(edits, sheet.digest).load()

    def read_bench(data: bytes) -> object:
        bench.write_bytes(data)
        return read_store(bench)

    return [
        ("service stores", service.read_bytes(), read_service),
        ("saved edits", (edits / EDITS_NAME).read_bytes(), read_edits),
        ("bench stores", bench.read_bytes(), read_bench),
    ]
