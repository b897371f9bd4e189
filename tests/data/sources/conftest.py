"""A stand-in for the programs that unpack RAR."""

import stat
import sys
import textwrap

import pytest

STAND_IN = """\
    #!{python}
    # Lists and prints the members of a stored RAR 5 archive.
    import sys

    def vint(data, at):
        number = shift = 0
        while True:
            byte = data[at]
            number |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return number, at

    option, archive, *member = sys.argv[1:]
    data = open(archive, "rb").read()
    if data[:8] != b"Rar!\\x1a\\x07\\x01\\x00":
        sys.exit("Unrecognized archive format")
    at = 8
    while at < len(data):
        length, start = vint(data, at + 4)
        kind, place = vint(data, start)
        at = start + length
        if kind != 2:
            continue
        _, place = vint(data, place)
        size, place = vint(data, place)
        for _ in range(3):
            _, place = vint(data, place)
        place += 4
        for _ in range(3):
            n, place = vint(data, place)
        name, content, at = data[place : place + n].decode(), data[at : at + size], at + size
        if option == "-tf":
            print(name)
        elif name == member[0]:
            sys.stdout.buffer.write(content)
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts a program of that name first, and alone, on the PATH."""

    def install(name, text=STAND_IN):
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / name
        program.write_text(textwrap.dedent(text).replace("{python}", sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder))

    return install
