import numpy as np
import pytest

from oddshot.data.sources.cards import CARDS, DEVICES
from oddshot.data.sources.nbaiot import read_nbaiot, sample_lines
from oddshot.errors import CapacityError, InputError
from tests.data.sources.samples import nbaiot_tables, with_rars, zipped

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


def test_unpacked_files_in_the_zip(tmp_path):
    (tmp_path / "n.zip").write_bytes(zipped({f"top/{path}": content for path, content in TABLES.items()}))
    first = read_nbaiot(tmp_path / "n.zip", tmp_path / "none")
    check_nbaiot(first)
    again = read_nbaiot(tmp_path / "n.zip", tmp_path / "none")
    np.testing.assert_array_equal(first[0], again[0])
    other = read_nbaiot(tmp_path / "n.zip", tmp_path / "none", seed=1)
    assert (first[0] != other[0]).any()


def test_a_folder_unpacked_by_hand(tmp_path):
    for path, content in TABLES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    check_nbaiot(read_nbaiot(tmp_path / "none.zip", tmp_path))


def test_rars_without_an_unpacker_are_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "n.zip").write_bytes(zipped(with_rars(TABLES)))
    with pytest.raises(InputError, match="needs one of bsdtar, unrar, 7zz, 7z on the PATH"):
        read_nbaiot(tmp_path / "n.zip", tmp_path / "none")


def test_rars_through_a_program_on_the_path(tmp_path, monkeypatch, stand_in):
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
def test_a_missing_or_wrong_file_is_one_line(tmp_path, path, content, line):
    tables = {name: text for name, text in TABLES.items() if name != path}
    if content is not None:
        tables[path] = content
    (tmp_path / "n.zip").write_bytes(zipped(tables))
    with pytest.raises(InputError, match=line) as caught:
        read_nbaiot(tmp_path / "n.zip", tmp_path / "none")
    assert "\n" not in str(caught.value)


def test_an_endless_line_is_refused(tmp_path):
    path = f"{DEVICES[0]}/gafgyt_attacks/junk.csv"
    (tmp_path / "n.zip").write_bytes(zipped(TABLES | {path: bytes(2**21)}))
    with pytest.raises(CapacityError, match=f"{path}: longer than any table expected here; refused"):
        read_nbaiot(tmp_path / "n.zip", tmp_path / "none")


def test_a_damaged_zip_is_one_line(tmp_path):
    content = zipped(TABLES)
    for damaged in (b"", content[:1000], content[:100] + b"????????" + content[108:]):
        (tmp_path / "n.zip").write_bytes(damaged)
        with pytest.raises(InputError, match="damaged"):
            read_nbaiot(tmp_path / "n.zip", tmp_path / "none")


def test_every_line_is_drawn_equally_often():
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


def test_a_short_stream_is_taken_whole():
    assert sample_lines(iter([b"b", b"a"]), 5, np.random.default_rng(0)) == [b"b", b"a"]
