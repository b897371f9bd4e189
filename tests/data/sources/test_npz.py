import numpy as np
import pytest

from oddshot.data.sources.npz import read_npz
from oddshot.errors import FileError, InputError


def write(path, **arrays):
    np.savez(path / "a.npz", **arrays)
    return path / "a.npz"


def test_task_names_may_be_given_or_be_the_tasks_themselves(tmp_path):
    X, y = np.eye(3, dtype=np.float32), np.array([0, 1, 0], dtype=np.uint8)
    assert read_npz(write(tmp_path, X=X, y=y))[2:] == (None, ())
    _, _, task, names = read_npz(write(tmp_path, X=X, y=y, task=np.array(["b", "a", "b"])))
    assert (task.tolist(), names) == ([1, 0, 1], ("a", "b"))
    _, _, task, names = read_npz(write(tmp_path, X=X, y=y, task=[1, 0, 1], task_names=["p", "q"]))
    assert (task.tolist(), names) == ([1, 0, 1], ("p", "q"))
    got_X, got_y, task, names = read_npz(write(tmp_path, X=X, y=y, task=[7, 3, 7]))
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
def test_anything_else_is_one_line(tmp_path, arrays, line):
    with pytest.raises(InputError, match=rf"a\.npz: .*{line}") as caught:
        read_npz(write(tmp_path, **arrays))
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_one_line(tmp_path):
    path = write(tmp_path, X=np.eye(2), y=[0, 1])
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


def test_a_folder_in_the_place_of_the_file_is_a_file_error(tmp_path):
    with pytest.raises(FileError, match=r"cannot be read \(Is a directory\)"):
        read_npz(tmp_path)
