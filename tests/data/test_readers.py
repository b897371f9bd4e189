import io
import os
import shutil
import stat
import sys
import textwrap

import numpy as np
import pytest
import scipy.io

from oddshot.data.sources import rar
from oddshot.data.sources.cards import CARDS, DEVICES
from oddshot.data.sources.dami import read_dami
from oddshot.data.sources.landmine import read_landmine
from oddshot.data.sources.nbaiot import read_nbaiot, sample_lines
from oddshot.data.sources.npz import read_npz
from oddshot.errors import CapacityError, InputError
from tests.data.samples import arff, landmine_mat, nbaiot_tables, rar5, with_rars, zipped


class TestDami:
    def test_drops_the_id_and_keeps_the_order(self, tmp_path):
        text, X, y = arff()
        (tmp_path / "a.arff").write_text(text)
        got_X, got_y = read_dami(tmp_path / "a.arff")
        np.testing.assert_array_equal(got_X, X)
        np.testing.assert_array_equal(got_y, y)
        assert got_y.dtype == np.int8

    def test_columns_are_found_by_name(self, tmp_path):
        text = "@relation r\n% remark\n@attribute OUTLIER {no,yes}\n@attribute a integer\n@attribute ID numeric\n"
        (tmp_path / "a.arff").write_text(text + "@attribute b real\n@data\n% remark\nyes, 1, 7, 2\n\nno, 3, 8, 4\n")
        X, y = read_dami(tmp_path / "a.arff")
        np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
        np.testing.assert_array_equal(y, [1, 0])

    HEADER = "@relation r\n@attribute a real\n@attribute outlier {yes,no}\n"

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            (HEADER + "@data\n1,no\n{0 1, 1 yes}\n", "data row 2 is sparse"),
            (HEADER.replace("real", "string") + "@data\nx,no\n", "column 'a' is of type STRING; expected numbers"),
            (HEADER.replace("real", "{u,v}") + "@data\nu,no\n", "column 'a' is nominal; expected numbers"),
            (HEADER.replace("yes,no", "1,2") + "@data\n1,2\n", r"column outlier is \['1', '2'\]; expected {yes,no}"),
            (HEADER + "@data\n1,no\n1,maybe\n", "data row 2, column outlier: 'maybe'"),
            (HEADER + "@data\n?,no\n", r"data row 1, column a: '\?'; expected numbers"),
            (HEADER + "@data\n1,2,no\n", "data row 1 has 3 values for 2 columns"),
            (HEADER + "@data\n1,no\n2\n", "data row 2 has 1 values for 2 columns"),
            (HEADER + "@data\n1,no\nnan,no\n", "data row 2, column a: not a finite number"),
            (HEADER + "@data\n", "no data rows"),
            (HEADER, "no @DATA line"),
            (HEADER.replace("@attribute a real\n", "@attribute outlier real\n") + "@data\n1,no\n", "outlier"),
            (HEADER.replace("outlier", "class") + "@data\n1,no\n", "0 columns are called outlier"),
            ("@relation r\n@attribute\n@data\n1\n", "the @ATTRIBUTE lines are not as in ARFF"),
        ],
    )
    def test_anything_else_is_one_line_that_names_the_file(self, tmp_path, text, line):
        (tmp_path / "a.arff").write_text(text)
        with pytest.raises(InputError, match=rf"a\.arff: .*{line}") as caught:
            read_dami(tmp_path / "a.arff")
        assert "\n" not in str(caught.value)

    def test_bytes_are_no_arff(self, tmp_path):
        (tmp_path / "a.arff").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match="not a text file"):
            read_dami(tmp_path / "a.arff")


class TestLandmine:
    def test_fields_become_tasks(self, tmp_path):
        content, feature, label = landmine_mat()
        (tmp_path / "a.mat").write_bytes(content)
        X, y, task = read_landmine(tmp_path / "a.mat")
        np.testing.assert_array_equal(X, np.vstack(list(feature[0])))
        np.testing.assert_array_equal(y, np.vstack(list(label[0]))[:, 0])
        np.testing.assert_array_equal(task, [0] * 5 + [1] * 5)

    @pytest.mark.parametrize(
        ("change", "line"),
        [
            (lambda c: c.pop("label"), "no variable label"),
            (lambda c: c.update(feature=np.eye(3)), "not two rows of as many cells"),
            (lambda c: c["label"].__setitem__((0, 1), np.zeros((4, 1))), "field 1 has features"),
            (lambda c: c["feature"].__setitem__((0, 1), np.full((5, 9), np.inf)), "field 1 has features that are not"),
            (lambda c: c["label"].__setitem__((0, 1), np.full((5, 1), 2)), "field 1 has labels other than"),
        ],
    )
    def test_other_content_is_one_line(self, tmp_path, change, line):
        _, feature, label = landmine_mat()
        content = {"feature": feature, "label": label}
        change(content)
        buffer = io.BytesIO()
        scipy.io.savemat(buffer, content)
        (tmp_path / "a.mat").write_bytes(buffer.getvalue())
        with pytest.raises(InputError, match=rf"a\.mat: .*{line}"):
            read_landmine(tmp_path / "a.mat")

    @pytest.mark.parametrize("cut", [0, 10, 200, 400])
    def test_a_damaged_file_is_one_line(self, tmp_path, cut):
        (tmp_path / "a.mat").write_bytes(landmine_mat()[0][:cut])
        with pytest.raises(InputError, match=r"a\.mat: (damaged|no variable)"):
            read_landmine(tmp_path / "a.mat")


class TestNpz:
    def write(self, path, **arrays):
        np.savez(path / "a.npz", **arrays)
        return path / "a.npz"

    def test_task_names_may_be_given_or_be_the_tasks_themselves(self, tmp_path):
        X, y = np.eye(3, dtype=np.float32), np.array([0, 1, 0], dtype=np.uint8)
        assert read_npz(self.write(tmp_path, X=X, y=y))[2:] == (None, ())
        _, _, task, names = read_npz(self.write(tmp_path, X=X, y=y, task=np.array(["b", "a", "b"])))
        assert (task.tolist(), names) == ([1, 0, 1], ("a", "b"))
        _, _, task, names = read_npz(self.write(tmp_path, X=X, y=y, task=[1, 0, 1], task_names=["p", "q"]))
        assert (task.tolist(), names) == ([1, 0, 1], ("p", "q"))
        got_X, got_y, task, names = read_npz(self.write(tmp_path, X=X, y=y, task=[7, 3, 7]))
        assert (task.tolist(), names, got_X.dtype, got_y.dtype) == ([1, 0, 1], (), np.float64, np.int8)

    @pytest.mark.parametrize(
        ("arrays", "line"),
        [
            ({"y": [0, 1]}, "no array X"),
            ({"X": np.eye(2)}, "no array y"),
            ({"X": np.eye(2), "y": [0, 1, 1]}, r"X has shape \(2, 2\) and y \(3,\)"),
            ({"X": np.zeros((0, 2)), "y": []}, "X has shape"),
            ({"X": [[np.nan, 1]], "y": [0]}, "other things than finite numbers"),
            ({"X": [["a", "b"]], "y": [0]}, "other things than finite numbers"),
            ({"X": np.eye(2), "y": [0, 2]}, "labels other than 1"),
            ({"X": np.eye(2), "y": ["yes", "no"]}, "labels other than 1"),
            ({"X": np.eye(2), "y": [0, 1], "task": [[0, 1]]}, "task"),
            ({"X": np.eye(2), "y": [0, 1], "task": [0, 2], "task_names": ["a", "b"]}, "does not number the 2"),
            ({"X": np.array([[{}]], dtype=object), "y": [0]}, "no .npz file of plain arrays"),
        ],
    )
    def test_anything_else_is_one_line(self, tmp_path, arrays, line):
        with pytest.raises(InputError, match=rf"a\.npz: .*{line}") as caught:
            read_npz(self.write(tmp_path, **arrays))
        assert "\n" not in str(caught.value)

    def test_a_damaged_file_is_one_line(self, tmp_path):
        path = self.write(tmp_path, X=np.eye(2), y=[0, 1])
        content = path.read_bytes()
        for damaged in (
            b"",
            b"text",
            content[:100],
            content[: len(content) // 2],
            content[:120] + b"?" + content[121:],
        ):
            path.write_bytes(damaged)
            with pytest.raises(InputError, match=r"a\.npz: damaged"):
                read_npz(path)


TABLES = nbaiot_tables()


def check_nbaiot(tables):
    """200 + 50 different rows a task, each from its own file."""
    X, y, task, names = tables
    assert names == CARDS["nbaiot"].task_names
    assert X.shape == (80 * 250, 115)
    per_device = {device: [n for n in names if n.startswith(device)] for device in DEVICES}
    for number, name in enumerate(names):
        device = name.split("/")[0]
        place = 1 + per_device[device].index(name)
        rows, labels = X[task == number], y[task == number]
        assert (np.bincount(labels) == [200, 50]).all()
        assert set(rows[labels == 0][:, 0]) == {100 * DEVICES.index(device)}
        assert set(rows[labels == 1][:, 0]) == {100 * DEVICES.index(device) + place}
        assert len(set(rows[labels == 0][:, 1])) == 200
        assert len(set(rows[labels == 1][:, 1])) == 50


class TestNbaiot:
    def test_unpacked_files_in_the_zip(self, tmp_path):
        (tmp_path / "n.zip").write_bytes(zipped({f"top/{path}": content for path, content in TABLES.items()}))
        first = read_nbaiot(tmp_path / "n.zip", tmp_path / "none")
        check_nbaiot(first)
        again = read_nbaiot(tmp_path / "n.zip", tmp_path / "none")
        np.testing.assert_array_equal(first[0], again[0])
        other = read_nbaiot(tmp_path / "n.zip", tmp_path / "none", seed=1)
        assert (first[0] != other[0]).any()

    def test_a_folder_unpacked_by_hand(self, tmp_path):
        for path, content in TABLES.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content)
        check_nbaiot(read_nbaiot(tmp_path / "none.zip", tmp_path))

    def test_rars_without_an_unpacker_are_one_line(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        (tmp_path / "n.zip").write_bytes(zipped(with_rars(TABLES)))
        with pytest.raises(InputError, match="needs one of bsdtar, unrar, 7zz, 7z on the PATH"):
            read_nbaiot(tmp_path / "n.zip", tmp_path / "none")

    def test_rars_through_a_program_on_the_path(self, tmp_path, monkeypatch, stand_in):
        stand_in("bsdtar")
        (tmp_path / "n.zip").write_bytes(zipped(with_rars(TABLES)))
        check_nbaiot(read_nbaiot(tmp_path / "n.zip", tmp_path / "none"))

    @pytest.mark.parametrize(
        ("path", "content", "line"),
        [
            (f"{DEVICES[0]}/benign_traffic.csv", None, "holds no .*benign_traffic.csv"),
            (f"{DEVICES[0]}/gafgyt_attacks/junk.csv", None, "holds no .*gafgyt_attacks.rar"),
            (f"{DEVICES[0]}/benign_traffic.csv", b"", "0 rows"),
            (f"{DEVICES[0]}/benign_traffic.csv", b"a,b\n1,2\n", "1 rows of 2 columns; expected 115"),
            (f"{DEVICES[0]}/gafgyt_attacks/junk.csv", b"a,b\n1,x\n", "expected 115 numbers a row"),
        ],
        ids=["no benign", "no attack", "empty", "few columns", "no numbers"],
    )
    def test_a_missing_or_wrong_file_is_one_line(self, tmp_path, path, content, line):
        tables = {name: text for name, text in TABLES.items() if name != path}
        if content is not None:
            tables[path] = content
        (tmp_path / "n.zip").write_bytes(zipped(tables))
        with pytest.raises(InputError, match=line) as caught:
            read_nbaiot(tmp_path / "n.zip", tmp_path / "none")
        assert "\n" not in str(caught.value)

    def test_an_endless_line_is_refused(self, tmp_path):
        path = f"{DEVICES[0]}/gafgyt_attacks/junk.csv"
        (tmp_path / "n.zip").write_bytes(zipped(TABLES | {path: bytes(2**21)}))
        with pytest.raises(CapacityError, match=f"{path}: longer than any table expected here; refused"):
            read_nbaiot(tmp_path / "n.zip", tmp_path / "none")

    def test_a_damaged_zip_is_one_line(self, tmp_path):
        content = zipped(TABLES)
        for damaged in (b"", content[:1000], content[:100] + b"????????" + content[108:]):
            (tmp_path / "n.zip").write_bytes(damaged)
            with pytest.raises(InputError, match="damaged"):
                read_nbaiot(tmp_path / "n.zip", tmp_path / "none")

    def test_every_line_is_drawn_equally_often(self):
        rng, n_lines, n_drawn, n_trials = np.random.default_rng(0), 30, 6, 4000
        counts = np.zeros(n_lines)
        lines = [str(i).encode() for i in range(n_lines)]
        for _ in range(n_trials):
            drawn = [int(line) for line in sample_lines(iter(lines), n_drawn, rng)]
            assert drawn == sorted(set(drawn))
            assert len(drawn) == n_drawn
            counts[drawn] += 1
        expected = n_trials * n_drawn / n_lines
        assert ((counts - expected) ** 2 / expected).sum() < 60  # chi-squared, 29 degrees of freedom: p < 0.001 above

    def test_a_short_stream_is_taken_whole(self):
        assert sample_lines(iter([b"b", b"a"]), 5, np.random.default_rng(0)) == [b"b", b"a"]


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


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script with a #! line")
class TestRarThroughAStandIn:
    FILES = {"scan.csv": b"h\n1\n2\n", "gafgyt/udp.csv": b"h\n3\n"}  # noqa: RUF012

    def test_members_are_found_by_their_last_name(self, tmp_path, stand_in):
        stand_in("bsdtar")
        (tmp_path / "a.rar").write_bytes(rar5(self.FILES))
        assert list(rar.rar_lines(tmp_path / "a.rar", "udp.csv")) == [b"h\n", b"3\n"]
        with pytest.raises(InputError, match=r"a\.rar: holds no combo\.csv"):
            list(rar.rar_lines(tmp_path / "a.rar", "combo.csv"))

    def test_the_programs_complaint_is_passed_on(self, tmp_path, stand_in):
        stand_in("bsdtar")
        (tmp_path / "a.rar").write_bytes(b"not a rar")
        with pytest.raises(InputError, match=r"bsdtar cannot unpack it \(Unrecognized archive format\)"):
            list(rar.rar_lines(tmp_path / "a.rar", "udp.csv"))

    def test_failing_half_way_is_noticed(self, tmp_path, stand_in):
        stand_in("bsdtar", '#!{python}\nimport sys\nprint("scan.csv")\nsys.exit(3 if sys.argv[1] == "-xOf" else 0)\n')
        with pytest.raises(InputError, match="bsdtar cannot unpack it"):
            list(rar.rar_lines(tmp_path / "a.rar", "scan.csv"))

    @pytest.mark.parametrize("name", ["@list/scan.csv", "-x/scan.csv", "*/scan.csv"])
    def test_a_name_that_a_program_would_take_for_more_is_refused(self, tmp_path, stand_in, name):
        stand_in("bsdtar")
        (tmp_path / "a.rar").write_bytes(rar5({name: b"x"}))
        with pytest.raises(InputError, match="unexpected name; refused"):
            list(rar.rar_lines(tmp_path / "a.rar", "scan.csv"))


@pytest.mark.parametrize("unpacker", rar.UNPACKERS, ids=lambda unpacker: unpacker.program)
def test_rar_through_the_real_programs(tmp_path, monkeypatch, unpacker):
    if shutil.which(unpacker.program) is None:
        pytest.skip(f"{unpacker.program} is not installed")
    monkeypatch.setattr(rar, "UNPACKERS", (unpacker,))
    (tmp_path / "a.rar").write_bytes(rar5({"scan.csv": b"h\n1\n2\n", "udp.csv": b"h\n3\n"}))
    assert list(rar.rar_lines(tmp_path / "a.rar", "scan.csv")) == [b"h\n", b"1\n", b"2\n"]
    with pytest.raises(InputError, match=r"holds no combo\.csv"):
        list(rar.rar_lines(tmp_path / "a.rar", "combo.csv"))
