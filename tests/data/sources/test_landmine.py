import io

import numpy as np
import pytest
import scipy.io

from oddshot.data.sources.landmine import read_landmine
from oddshot.errors import InputError
from tests.data.sources.samples import landmine_mat


def test_fields_become_tasks(tmp_path):
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
def test_other_content_is_one_line(tmp_path, change, line):
    _, feature, label = landmine_mat()
    content = {"feature": feature, "label": label}
    change(content)
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, content)
    (tmp_path / "a.mat").write_bytes(buffer.getvalue())
    with pytest.raises(InputError, match=rf"a\.mat: .*{line}"):
        read_landmine(tmp_path / "a.mat")


@pytest.mark.parametrize("cut", [0, 10, 200, 400])
def test_a_damaged_file_is_one_line(tmp_path, cut):
    (tmp_path / "a.mat").write_bytes(landmine_mat()[0][:cut])
    with pytest.raises(InputError, match=r"a\.mat: (damaged|no variable)"):
        read_landmine(tmp_path / "a.mat")
