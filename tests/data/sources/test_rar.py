import os
import shutil

import pytest

from oddshot.data.sources import rar
from oddshot.errors import InputError
from tests.data.sources.samples import rar5


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
