"""Files that are no model or detector: devices, pipes, and files larger than any model."""

import os

import pytest

from oddshot import load_detector, load_model
from oddshot.errors import CapacityError, FileError
from oddshot.storage import container


@pytest.mark.parametrize("load", [load_model, load_detector])
def test_what_may_never_end_is_not_read(load, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(FileError, match=rf"^{path}: cannot be read \(it is not a regular file\)$"):
            load(path)


@pytest.mark.parametrize("load", [load_model, load_detector])
def test_a_file_that_is_too_large_is_not_read(load, tmp_path):
    path = tmp_path / "large.safetensors"
    with open(path, "wb") as file:
        file.truncate(container.MAX_FILE_BYTES + 1)
    with pytest.raises(CapacityError, match=r"large\.safetensors: 4,294,967,297 bytes; at most 4,294,967,296 are read"):
        load(path)
