import hashlib
import re
import socket

import numpy as np
import pytest

from oddshot.data.sources import fetch as fetch_module
from oddshot.data.sources.cards import CARDS
from oddshot.data.sources.catalogue import load_dataset
from oddshot.data.sources.fetch import cache_folder, fetch_dataset
from oddshot.errors import FileError, InputError
from tests.data.sources.samples import GLASS_FILE, arff, landmine_mat, served, serving, tar_gz, zipped

TEXT, X, Y = arff(n_normal=205, n_anomaly=9, n_attributes=7)
OTHER_TEXT, OTHER_X, _ = arff(seed=1)
ARCHIVE = tar_gz({GLASS_FILE: TEXT.encode(), CARDS["wbc"].file: OTHER_TEXT.encode(), "literature/README": b"unused"})


@pytest.fixture
def server():
    with serving({"literature.tar.gz": ARCHIVE}) as server:
        yield server


@pytest.fixture
def glass(server):
    return served(CARDS["glass"], server.url, ARCHIVE)


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_downloads_checks_and_unpacks(server, glass, tmp_path, monkeypatch):
    path = fetch_dataset(glass, tmp_path, progress=False)
    assert path == tmp_path / GLASS_FILE
    assert path.read_text() == TEXT
    assert files_in(tmp_path) == sorted(["literature.tar.gz", GLASS_FILE, CARDS["wbc"].file])
    loaded = load_dataset("Glass", cache_dir=tmp_path)
    np.testing.assert_array_equal(loaded.X, X)
    np.testing.assert_array_equal(loaded.y, Y)
    assert loaded.notes == ()


def test_one_archive_serves_several_datasets_and_is_fetched_once(server, glass, tmp_path):
    fetch_dataset(glass, tmp_path, progress=False)
    fetch_dataset(served(CARDS["wbc"], server.url, ARCHIVE), tmp_path, progress=False)
    fetch_dataset(glass, tmp_path, progress=False)
    assert [path for path, _ in server.requests] == ["/literature.tar.gz"]
    wbc = load_dataset("wbc", cache_dir=tmp_path)
    np.testing.assert_array_equal(wbc.X, OTHER_X)
    assert wbc.notes == (
        "WBC: 3 attributes here, 9 in the paper's Table 4",
        "WBC: 4 normal rows here, 444 in the paper's Table 4",
        "WBC: 2 anomalous rows here, 10 in the paper's Table 4",
    )


@pytest.mark.parametrize("resumes", [True, False])
def test_half_a_download_goes_on_where_the_server_allows(server, glass, tmp_path, resumes):
    server.resumes, server.cut = resumes, 1000
    with pytest.raises(InputError, match=r"1000 of \d+ bytes.*the first 1000 bytes are kept"):
        fetch_dataset(glass, tmp_path, progress=False)
    assert files_in(tmp_path) == ["literature.tar.gz.part"]
    assert fetch_dataset(glass, tmp_path, progress=False).read_text() == TEXT
    assert server.requests[1] == ("/literature.tar.gz", "bytes=1000-")
    assert "literature.tar.gz.part" not in files_in(tmp_path)


def test_a_part_that_lacks_only_its_renaming_is_not_fetched_again(server, glass, tmp_path):
    (tmp_path / "literature.tar.gz.part").write_bytes(ARCHIVE)
    assert fetch_dataset(glass, tmp_path, progress=False).read_text() == TEXT


def test_a_part_longer_than_the_file_is_dropped(server, glass, tmp_path):
    (tmp_path / "literature.tar.gz.part").write_bytes(ARCHIVE + b"more")
    assert fetch_dataset(glass, tmp_path, progress=False).read_text() == TEXT
    assert [asked for _, asked in server.requests] == [f"bytes={len(ARCHIVE) + 4}-", None]


def test_wrong_checksum_removes_the_download_and_nothing_else(server, glass, tmp_path):
    server.files["literature.tar.gz"] = ARCHIVE[:-1] + b"?"
    (tmp_path / "semantic.tar.gz").write_bytes(b"another archive")
    with pytest.raises(InputError, match=rf"{server.url}/literature.tar.gz: SHA-256 is not the expected"):
        fetch_dataset(glass, tmp_path, progress=False)
    assert files_in(tmp_path) == ["semantic.tar.gz"]
    server.files["literature.tar.gz"] = ARCHIVE
    assert fetch_dataset(glass, tmp_path, progress=False).read_text() == TEXT


def test_a_bad_archive_in_the_cache_stays_until_a_good_one_has_come(server, glass, tmp_path):
    (tmp_path / "literature.tar.gz").write_bytes(b"bad")
    server.files.clear()
    with pytest.raises(InputError, match="answers 404"):
        fetch_dataset(glass, tmp_path, progress=False)
    assert (tmp_path / "literature.tar.gz").read_bytes() == b"bad"
    server.files["literature.tar.gz"] = ARCHIVE
    assert fetch_dataset(glass, tmp_path, progress=False).read_text() == TEXT


def test_offline_is_one_line(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"cannot reach {url}/literature.tar.gz .*offline\?") as caught:
            fetch_dataset("glass", tmp_path, progress=False, base_url=url)
    assert "\n" not in str(caught.value)
    assert files_in(tmp_path) == []


def test_a_mirror_must_be_http(tmp_path):
    with pytest.raises(InputError, match="not an http or https address"):
        fetch_dataset("glass", tmp_path, progress=False, base_url="file:///tmp")


def test_a_cache_that_cannot_be_written_is_one_line(server, glass, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FileError, match=re.escape(f"cannot write to the cache folder {tmp_path / 'file'}: ")):
        fetch_dataset(glass, tmp_path / "file", progress=False)


def test_an_archive_without_the_file_says_so(server, tmp_path):
    with pytest.raises(InputError, match=r"holds no Ionosphere_withoutdupl_norm\.arff"):
        fetch_dataset(served(CARDS["ionosphere"], server.url, ARCHIVE), tmp_path, progress=False)


def test_progress_goes_to_standard_error(server, glass, tmp_path, capsys):
    fetch_dataset(glass, tmp_path, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "literature.tar.gz" in captured.err


class TestLandmine:
    """The zip has no known checksum; the file in it has."""

    MAT = landmine_mat()[0]
    DIGEST = hashlib.sha256(MAT).hexdigest()

    def test_checks_the_file_inside(self, tmp_path, monkeypatch):
        archive = zipped({"LandmineData/LandmineData.mat": self.MAT, "LandmineData/readme.txt": b""})
        with serving({"LandmineData.zip": archive}) as server:
            card = served(CARDS["landmine"], server.url, archive, sha256=self.DIGEST)
            assert fetch_dataset(card, tmp_path, progress=False).read_bytes() == self.MAT
        monkeypatch.setitem(CARDS, "landmine", card)
        loaded = load_dataset("landmine", cache_dir=tmp_path)
        assert loaded.task_names == ("task 0", "task 1")
        assert "Landmine: 2 tasks here, 29 in the paper" in loaded.notes

    @pytest.mark.parametrize(
        "archive",
        [zipped({"LandmineData.mat": b"other"}), zipped({"a": b""}), b"<html>moved"],
        ids=["another file", "empty", "page"],  # an archive holds the time, which would be another in each process
    )
    def test_what_is_not_the_archive_is_removed(self, archive, tmp_path):
        with serving({"LandmineData.zip": archive}) as server:
            card = served(CARDS["landmine"], server.url, archive, sha256=self.DIGEST)
            with pytest.raises(InputError, match=r"SHA-256|holds no|damaged"):
                fetch_dataset(card, tmp_path, progress=False)
        assert files_in(tmp_path) == []

    def test_a_damaged_file_never_reaches_the_reader(self, tmp_path):
        (tmp_path / "LandmineData.mat").write_bytes(self.MAT[:-1])
        with pytest.raises(InputError, match=r"LandmineData\.mat: SHA-256 .* instead of 2163ab20"):
            load_dataset("landmine", cache_dir=tmp_path)
        assert files_in(tmp_path) == ["LandmineData.mat"]


def test_the_cache_folder_is_given_or_set_or_the_systems(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch_module.CACHE_VARIABLE, str(tmp_path / "set"))
    assert cache_folder(tmp_path / "given") == tmp_path / "given"
    assert cache_folder() == tmp_path / "set"
    monkeypatch.delenv(fetch_module.CACHE_VARIABLE)
    assert cache_folder().name == "oddshot"
