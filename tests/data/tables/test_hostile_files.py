"""Small files that would crash a reader, or keep it busy for ever."""

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from oddshot.data.tables import read_table
from oddshot.data.tables.json_structure import MAX_DEPTH
from oddshot.errors import InputError

Write = Callable[..., Path]

ARFF = "@relation r\n@attribute a numeric\n"
REPEATED: dict[str, tuple[str, Callable[[int], str]]] = {  # a suffix, and a text with n hostile parts
    "blank lines": (".jsonl", lambda n: '{"a": 1}\n' + "\n" * n),
    "old line ends": (".jsonl", lambda n: '{"a": 1}\n' + "\r" * n),
    "spaces": (".jsonl", lambda n: '{"a": 1}\n' + " " * n + "x"),
    "escaped quotes": (".jsonl", lambda n: '{"a": "' + '\\"' * n),
    "opened quotes": (".jsonl", lambda n: '{"a": [' + '"\n' * n),
    "brackets": (".jsonl", lambda n: '{"a": 1}\n' + "]}" * n),
    "empty lists": (".jsonl", lambda n: '{"a": [' + "[]," * n + "[]]}\n"),
    "names in one line": (".jsonl", lambda n: "{" + ", ".join(f'"k{i}": 1' for i in range(n // 10)) + "}\n"),
    "names in many lines": (".jsonl", lambda n: "".join(f'{{"k{i}": 1}}\n' for i in range(n // 4))),
    "numbers and text": (".jsonl", lambda n: '{"a": 1}\n{"a": "x"}\n' * (n // 8)),
    "blank lines without data": (".arff", lambda n: ARFF + "\n" * n),
    "spaces without data": (".arff", lambda n: ARFF + " " * n),
    "comments": (".arff", lambda n: ARFF + "@data\n" + "%\n" * n),
    "quotes": (".arff", lambda n: ARFF + "@data\n" + "'" * n),
    "backslashes": (".arff", lambda n: ARFF + "@data\n'" + "\\" * n),
    "commas": (".arff", lambda n: ARFF + "@data\n" + ", " * n),
    "spaces in a declaration": (".arff", lambda n: "@relation r\n@attribute a " + " " * n + "x\n@data\n1"),
    "declared values": (".arff", lambda n: "@relation r\n@attribute a {" + "v, " * n + "}\n@data\nv\n"),
    "declared values without an end": (".arff", lambda n: "@relation r\n@attribute a {" + "v," * n + "\n@data\nv\n"),
    "declared values with a wrong one": (".arff", lambda n: "@relation r\n@attribute a {" + "v," * n + " v v}\n@data"),
    "blank lines below": (".csv", lambda n: "a,b\n1,2\n" + "\n" * n),
    "blank lines above": (".csv", lambda n: "\n" * n + "a,b\n1,2\n"),
    "one line": (".csv", lambda n: "a,b\n1,2\n" + "x" * n),
    "an open quote": (".csv", lambda n: 'a,b\n1,2\n"' + "x\n" * n),
    "columns": (".csv", lambda n: ",".join(f"c{i}" for i in range(n // 10)) + "\n" + ",".join(["1"] * (n // 10))),
    "separators": (".csv", lambda n: "a" + "," * n + "\n1\n"),
    "lines that name a separator": (".csv", lambda n: "a,b\n" + "sep=,\n" * n),
    "a long number": (".csv", lambda n: "a;b\n" + "1" * n + ";2\n"),
}


@pytest.mark.parametrize("name", REPEATED)
def test_the_time_of_every_reader_is_proportional_to_the_file(write: Write, name: str) -> None:
    suffix, text = REPEATED[name]
    seconds = []
    for n in (25_000, 50_000, 100_000):
        path = write(f"{n}{suffix}", text(n))
        seconds.append(min(_seconds_to_read(path) for _ in range(2)))
    assert seconds[2] < 3 * seconds[1] + 0.2, seconds
    assert seconds[1] < 3 * seconds[0] + 0.2, seconds


def _seconds_to_read(path: Path) -> float:
    """Of all threads; neither other programs nor a search for garbage among all that the tests have left counts."""
    gc.disable()
    started = time.process_time()
    try:
        with suppress(InputError, UserWarning):
            read_table(path)
        return time.process_time() - started
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"a":' * 20_000, 1),
        ("[" * 200_000, 1),
        ('{"a": 1}\n{"a": "x"}\n' + "[" * 200_000, 3),
        ('{"a":\n' * 20_000, 101),
        ('{"a": "}}"}\n' + '{"a": [' * 20_000, 2),
        ('{"a": "\n' + "}" * 30_000 + "\n" + '{"a":' * 20_000, 3),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), 1),
    ],
    ids=["objects", "lists", "below text", "over lines", "below brackets in text", "below a damaged line", "limit"],
)
def test_values_that_are_nested_too_deep_are_refused_before_a_parser_sees_them(
    write: Write, content: str, line: int
) -> None:
    path = write("a.jsonl", content)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value) == f"{path}: line {line}: values are nested deeper than 100 levels"


@pytest.mark.parametrize("text", ['"' + "{" * 500 + '"', '"\\"' + "[" * 500 + '"', '"' + "}{" * 500 + "\\\\" + '"'])
def test_brackets_within_text_are_not_nested(write: Write, text: str) -> None:
    assert read_table(write("a.jsonl", f'{{"a": {text}, "b": [1]}}\n' * 3)).num_rows == 3


def test_values_within_values_up_to_the_limit_are_columns(write: Write) -> None:
    content = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    assert read_table(write("a.jsonl", content)).column_names == [".".join("a" * MAX_DEPTH)]


def test_objects_of_other_names_in_every_line_are_refused(write: Write) -> None:
    path = write("a.jsonl", "".join(f'{{"k{i}": 1}}\n' for i in range(30_000)))
    with pytest.raises(InputError, match=r"nearly every line has other names; expected objects with the same names$"):
        read_table(path)
    assert read_table(write("b.jsonl", '{"a": 1}\n' * 300_000)).num_rows == 300_000


def test_values_that_an_attribute_declares(write: Write) -> None:
    header = "@relation r\n@attribute 'a {b' { 'c, \"d', e , f}\n@attribute\tg\treal\n@data\n"
    path = write("a.arff", header + "'c, \"d',1\ne,2\n")
    assert read_table(path).to_pydict() == {"a {b": ['c, "d', "e"], "g": [1, 2]}
    with pytest.raises(InputError, match="Data value x not found"):
        read_table(write("b.arff", header + "x,1\n"))
