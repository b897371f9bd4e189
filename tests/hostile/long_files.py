"""Files of many blank lines, signs or levels: they are read or refused in one line, and soon."""

import tempfile
import warnings
from pathlib import Path

import numpy as np

from tests.hostile.files import read_as_commands_do
from tests.hostile.log import TrialLog

MAX_SECONDS = 10.0  # on a busy machine
MAX_REPEATED = 200_000  # bytes of one sign
PIECES = {
    ".jsonl": [
        *(b'{"a": 1}\n', b'{"a": "x"}\n', b'{"a":', b"[", b"]", b"}", b'"', b'\\"', b"\n", b"\r", b" ", b"null", b","),
    ],
    ".arff": [
        *(
            b"@relation r\n",
            b"@attribute a numeric\n",
            b"@attribute b {u,v}\n",
            b"@attribute c {",
            b"@data\n",
            b"1,u\n",
        ),
        *(b"v,", b"}", b"{", b"'", b"\\", b"%", b"\n", b" ", b"?"),
    ],
    ".csv": [b"a,b\n", b"a;b\n", b"1,2\n", b"1;2\n", b"sep=,\n", b'"', b",", b";", b"\n", b"\r", b" ", b"\0", b"x"],
}
STARTS = {".jsonl": b'{"a": 1}\n', ".arff": b"@relation r\n@attribute a numeric\n", ".csv": b"a,b\n1,2\n"}


def try_long_files(log: TrialLog, seed: int, n: int) -> None:
    """n files of each format, of pieces that are repeated very often."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for suffix, pieces in PIECES.items():
            path = Path(name) / f"long{suffix}"
            with log.door(f"long {suffix[1:]} files", MAX_SECONDS) as attempt:
                for k in range(n):
                    rng = np.random.default_rng([seed, k])
                    start = STARTS[suffix] if rng.random() < 0.7 else b""
                    path.write_bytes(start + b"".join(_repeated(pieces, rng) for _ in range(int(rng.integers(1, 5)))))
                    attempt(f"seed {seed}, {k}", lambda path=path: read_as_commands_do(path))


def try_depth(log: TrialLog, seed: int, n: int) -> None:
    """JSON lines of values within values, with text, line breaks and damage between the brackets."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(), log.door("depth", MAX_SECONDS) as attempt:
        warnings.simplefilter("ignore")
        path = Path(name) / "deep.jsonl"
        for k in range(n):
            rng = np.random.default_rng([seed, k])
            path.write_bytes(_nested(rng))
            attempt(f"seed {seed}, {k}", lambda: read_as_commands_do(path))


def _repeated(pieces: list[bytes], rng: np.random.Generator) -> bytes:
    chosen = b"".join(pieces[j] for j in rng.integers(0, len(pieces), int(rng.integers(1, 3))))
    n_bytes = int(np.exp(rng.uniform(0, np.log(MAX_REPEATED))))
    return chosen * (1 + n_bytes // len(chosen))


def _nested(rng: np.random.Generator) -> bytes:
    """A value at a depth of up to some tens of thousands, below some lines; now and then it is closed again."""
    depth = int(np.exp(rng.uniform(0, np.log(30_000))))
    openings = [b'{"a":', b"[", b'{"b": 1, "a":', b'{"}]": "{[", "a":', b'[1, "\\"]",', b"{\n", b'"', b"]"]
    weights = np.array([8, 8, 4, 4, 4, 1, 0.01, 0.01])
    levels = rng.choice(len(openings), depth, p=weights / weights.sum())
    if rng.random() < 0.5:
        levels[:] = levels[0]
    closings = {b"{": b"}", b"[": b"]"}
    closing = b"".join(closings.get(openings[level][:1], b"") for level in levels[::-1]) if rng.random() < 0.5 else b""
    above = b'{"a": 1}\n' * int(rng.integers(0, 3)) + b'{"a": "x"}\n' * int(rng.integers(0, 2))
    return above + b"".join(openings[level] for level in levels) + b"1" + closing + b"\n"
