import errno
import gzip
import io
import struct
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddshot.data.sources import archives
from oddshot.data.sources.archives import ArchiveError, ArchiveSizeError, unpack_files
from oddshot.errors import CapacityError, FileError
from tests.data.sources.samples import tar_gz, zipped

PACKERS = {"tar.gz": tar_gz, "zip": zipped}


@pytest.fixture(params=PACKERS)
def packed(request, tmp_path):
    """Writes an archive of one or the other kind."""

    def pack(files):
        path = tmp_path / f"archive.{request.param}"
        path.write_bytes(PACKERS[request.param](files))
        return path

    return pack


def nothing_written(target):
    return not target.exists() or list(target.rglob("*")) == []


def test_only_what_is_wanted_by_its_last_name(packed, tmp_path):
    archive = packed({"top/one/a.arff": b"A", "top/b.arff": b"B", "top/c.arff": b"C"})
    found = unpack_files(archive, tmp_path / "out", ["one/a.arff", "two/b.arff", "d.arff"])
    assert found == ["one/a.arff", "two/b.arff"]
    assert (tmp_path / "out/one/a.arff").read_bytes() == b"A"
    assert (tmp_path / "out/two/b.arff").read_bytes() == b"B"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["one", "two"]


@pytest.mark.parametrize("name", ["/etc/a", "../a", "x/../../a", "..\\a", "C:\\a", "C:/a", "\\\\host\\share\\a"])
def test_names_that_point_outside_are_refused(packed, tmp_path, name):
    with pytest.raises(ArchiveError, match="points outside the archive; refused"):
        unpack_files(packed({"good": b"G", name: b"bad"}), tmp_path / "out", ["good", "a"])
    assert nothing_written(tmp_path / "out")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    archive = tmp_path / "archive.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        good = tarfile.TarInfo("good")
        good.size = 1
        tar.addfile(good, io.BytesIO(b"G"))
        bad = tarfile.TarInfo("bad")
        bad.type, bad.linkname = kind, "good"
        tar.addfile(bad)
    with pytest.raises(ArchiveError, match="'bad' is a link or a device"):
        unpack_files(archive, tmp_path / "out", ["good", "bad"])
    assert nothing_written(tmp_path / "out")


def test_a_link_in_a_zip_is_refused(tmp_path):
    link = zipfile.ZipInfo("bad")
    link.external_attr = 0o120777 << 16
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as zipped_file:
        zipped_file.writestr("good", b"G")
        zipped_file.writestr(link, "/etc/passwd")
    with pytest.raises(ArchiveError, match="'bad' is a link or a device"):
        unpack_files(archive, tmp_path / "out", ["good", "bad"])
    assert nothing_written(tmp_path / "out")


def test_folders_are_no_harm_unless_they_point_outside(tmp_path):
    for name, allowed in (("top/", True), ("../top/", False)):
        archive = tmp_path / "archive.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            folder = tarfile.TarInfo(name)
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
        if allowed:
            assert unpack_files(archive, tmp_path / "out", ["top"]) == []
        else:
            with pytest.raises(ArchiveError, match="points outside"):
                unpack_files(archive, tmp_path / "out", ["top"])


def test_more_than_the_limit_is_refused_before_it_is_written(packed, tmp_path):
    archive = packed({"good": b"G", "bomb": bytes(10**6)})
    assert archive.stat().st_size < 10**4
    with pytest.raises(ArchiveSizeError, match="more than 1000 bytes; refused"):
        unpack_files(archive, tmp_path / "out", ["good", "bomb"], limit=1000)
    assert nothing_written(tmp_path / "out")


def test_a_zip_that_declares_less_than_it_holds_is_refused(tmp_path):
    content = bytearray(zipped({"bomb": bytes(10**6)}))
    central = content.index(b"PK\x01\x02")
    struct.pack_into("<L", content, 22, 10)
    struct.pack_into("<L", content, central + 24, 10)
    archive = tmp_path / "archive.zip"
    archive.write_bytes(content)
    with pytest.raises(ArchiveError, match="damaged"):
        unpack_files(archive, tmp_path / "out", ["bomb"], limit=1000)
    assert nothing_written(tmp_path / "out")


def test_an_encrypted_zip_is_refused(tmp_path):
    content = bytearray(zipped({"a": b"A"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    archive = tmp_path / "archive.zip"
    archive.write_bytes(content)
    with pytest.raises(ArchiveError, match="encrypted"):
        unpack_files(archive, tmp_path / "out", ["a"])


@pytest.mark.parametrize("harm", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"<html>Not found</html>"])
def test_a_corrupt_archive_is_one_line(packed, tmp_path, harm):
    archive = packed({"a": bytes(range(256)) * 100, "b": b"B"})
    archive.write_bytes(harm(archive.read_bytes()))
    with pytest.raises(ArchiveError, match=r"damaged, or no (zip|tar\.gz) archive .*; fetch it again") as caught:
        unpack_files(archive, tmp_path / "out", ["a", "b"])
    assert "\n" not in str(caught.value)
    assert nothing_written(tmp_path / "out")


@given(kind=st.sampled_from(sorted(PACKERS)), place=st.integers(0, 10**6), value=st.integers(0, 255))
def test_a_flipped_byte_is_the_old_content_or_one_line(tmp_path_factory, kind, place, value):
    folder = tmp_path_factory.mktemp("flip")
    files = {"a": b"content of a", "b": b"content of b"}
    content = bytearray(PACKERS[kind](files))
    content[place % len(content)] = value
    (folder / f"archive.{kind}").write_bytes(content)
    found, complaint = [], ""
    try:
        found = unpack_files(folder / f"archive.{kind}", folder / "out", ["a", "b"])
    except ArchiveError as error:
        complaint = str(error)
    assert "\n" not in complaint
    assert nothing_written(folder / "out") or not complaint
    assert {name: (folder / "out" / name).read_bytes() for name in found} == {name: files[name] for name in found}


def test_a_full_disk_is_not_taken_for_a_damaged_archive(packed, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archives, "copy_member", full)
    with pytest.raises(CapacityError, match=r"archive\..*: cannot be unpacked: No space left on device") as caught:
        unpack_files(packed({"a": b"A"}), tmp_path / "out", ["a"])
    assert not isinstance(caught.value, ArchiveError)
    assert nothing_written(tmp_path / "out")


def test_a_target_that_cannot_be_written_is_a_file_error(packed, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FileError, match=r"archive\..*: cannot be unpacked: File exists"):
        unpack_files(packed({"a": b"A"}), tmp_path / "file", ["a"])


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_long_headers_are_not_read(tmp_path, kind):
    header = tarfile.TarInfo("long")
    header.type, header.size = kind, 2**28
    archive = tmp_path / "archive.tar.gz"
    archive.write_bytes(gzip.compress(header.tobuf() + bytes(2**20)))
    with pytest.raises(ArchiveError, match=r"\(a header of 268435456 bytes; at most 65536 are read\)"):
        unpack_files(archive, tmp_path / "out", ["good"])
    assert nothing_written(tmp_path / "out")


def test_names_of_any_usual_length_are_read(tmp_path):
    archive = tmp_path / "archive.tar.gz"
    archive.write_bytes(tar_gz({f"{'folder/' * 100}a": b"A"}))
    assert unpack_files(archive, tmp_path / "out", ["a"]) == ["a"]


def test_very_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_TAR_MEMBERS", 3)
    archive = tmp_path / "archive.tar.gz"
    archive.write_bytes(tar_gz(dict.fromkeys("abcd", b"")))
    with pytest.raises(ArchiveSizeError, match="holds more than 3 files; refused"):
        unpack_files(archive, tmp_path / "out", ["a"])
    assert nothing_written(tmp_path / "out")
