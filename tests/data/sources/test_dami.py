import numpy as np
import pytest

from oddshot.data.sources.dami import read_dami
from oddshot.errors import FileError, InputError
from tests.data.sources.samples import arff


def test_drops_the_id_and_keeps_the_order(tmp_path):
    text, X, y = arff()
    (tmp_path / "a.arff").write_text(text)
    got_X, got_y = read_dami(tmp_path / "a.arff")
    np.testing.assert_array_equal(got_X, X)
    np.testing.assert_array_equal(got_y, y)
    assert got_y.dtype == np.int8


def test_columns_are_found_by_name(tmp_path):
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
def test_anything_else_is_one_line_that_names_the_file(tmp_path, text, line):
    (tmp_path / "a.arff").write_text(text)
    with pytest.raises(InputError, match=rf"a\.arff: .*{line}") as caught:
        read_dami(tmp_path / "a.arff")
    assert "\n" not in str(caught.value)


def test_bytes_are_no_arff(tmp_path):
    (tmp_path / "a.arff").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_dami(tmp_path / "a.arff")


def test_an_absent_file_is_a_file_error(tmp_path):
    with pytest.raises(FileError, match=r"none\.arff: cannot be read \(No such file or directory\)"):
        read_dami(tmp_path / "none.arff")
