import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from oddshot.data.files import atomic_path, check_writable, write_bytes
from oddshot.errors import FileError


def run(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_writes_and_replaces(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    write_bytes(target, b"one")
    write_bytes(str(target), b"two")
    assert target.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["model.bin"]


def test_temporary_is_hidden_and_beside_the_target(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "model.bin") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".")
        assert not (tmp_path / "model.bin").exists()


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "model.bin", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "model.bin").stat().st_mode & 0o777 == 0o640


def test_a_replaced_file_keeps_its_mode_and_its_attributes(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    target.write_bytes(b"old")
    target.chmod(0o640)
    os.utime(target, (0, 0))
    with suppress(OSError):  # a file system without extended attributes
        os.setxattr(target, "user.origin", b"press 1")
    named = {name: os.getxattr(target, name) for name in os.listxattr(target)}
    with atomic_path(target) as temporary:
        assert temporary.stat().st_mode & 0o777 == 0o640
        temporary.write_bytes(b"new")
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o7777 == 0o640
    assert {name: os.getxattr(target, name) for name in os.listxattr(target)} == named
    assert target.stat().st_mtime > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_replaced_file_keeps_its_owner_and_its_group(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    target.write_bytes(b"old")
    os.chown(target, 1234, 2345)
    write_bytes(target, b"new")
    assert (target.stat().st_uid, target.stat().st_gid) == (1234, 2345)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of somebody else")
def test_a_file_of_somebody_else_keeps_its_group_where_its_owner_cannot_be_kept() -> None:
    code = """
        import os, sys
        from oddshot.data.files import write_bytes
        os.setgroups([2345]), os.setgid(3456), os.setuid(3456)
        write_bytes(sys.argv[1], b"new")
    """
    with tempfile.TemporaryDirectory() as folder:  # that everybody can reach
        target = Path(folder) / "model.bin"
        target.write_bytes(b"old")
        os.chown(target, 1234, 2345)
        target.chmod(0o664)
        os.chmod(folder, 0o777)
        _, errors = run(code, target).communicate(timeout=60)
        assert (errors, target.read_bytes()) == ("", b"new")
        assert (target.stat().st_uid, target.stat().st_gid, target.stat().st_mode & 0o777) == (3456, 2345, 0o664)


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    target.write_bytes(b"old")
    target.chmod(0o444)
    for write in (write_bytes, lambda path, _: check_writable(path)):
        with pytest.raises(FileError, match=r"^cannot write .*model\.bin: it is read-only$"):
            write(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.bin"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_failure_in_the_block_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "model.bin"
    write_bytes(target, b"old")

    def write_half() -> None:
        with atomic_path(target) as temporary:
            temporary.write_bytes(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.bin"]


def test_missing_folder_fails_before_the_work(tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "model.bin"
    worked = False
    with pytest.raises(FileError) as caught, atomic_path(target):
        worked = True
    assert not worked
    assert str(caught.value) == f"cannot write {target}: No such file or directory"


def test_a_folder_or_device_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="not a regular file"):
        write_bytes(tmp_path, b"x")
    with pytest.raises(FileError, match="/dev/null: it is not a regular file"):
        write_bytes("/dev/null", b"x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match=r"cannot write .*model\.bin: Permission denied"):
            write_bytes(tmp_path / "model.bin", b"x")
    finally:
        tmp_path.chmod(0o700)


def test_an_error_about_another_file_is_not_blamed_on_the_target(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="input"), atomic_path(tmp_path / "out.bin"):
        open(tmp_path / "input.csv").close()
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.bin").write_bytes(b"old")
    (tmp_path / "link.bin").symlink_to("real.bin")
    write_bytes(tmp_path / "link.bin", b"new")
    assert (tmp_path / "link.bin").is_symlink()
    assert (tmp_path / "real.bin").read_bytes() == b"new"


def test_full_disk_is_one_line_and_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    write_bytes(target, b"old")
    code = """
        import resource, signal, sys
        from oddshot.data.files import write_bytes
        from oddshot.errors import CapacityError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)           # the write fails with an OSError instead of a signal
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        try:
            write_bytes(sys.argv[1], bytes(1 << 20))
        except CapacityError as error:
            print(error)
    """
    output, errors = run(code, target).communicate(timeout=60)
    assert output == f"cannot write {target}: File too large\n", errors
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.bin"]


def test_kill_while_writing_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    write_bytes(target, b"old")
    code = """
        import sys, time
        from oddshot.data.files import atomic_path
        with atomic_path(sys.argv[1]) as temporary:
            temporary.write_bytes(bytes(1 << 20))
            print("writing", flush=True)
            time.sleep(600)
    """
    process = run(code, target)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert target.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 2  # what a kill cannot avoid, hidden
    write_bytes(target, b"new")  # the next writer sweeps
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["model.bin"]


def test_a_living_writer_is_not_swept(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    with atomic_path(target) as first:
        first.write_bytes(b"first")
        write_bytes(target, b"second")
    assert target.read_bytes() == b"first"
