import numpy as np
import pytest

from oddshot.data.sources import catalogue
from oddshot.data.sources.cards import CARDS, PAPER_DATASETS
from oddshot.data.sources.catalogue import device_tasks, load_dataset, locate_dataset
from oddshot.errors import FileError, InputError
from tests.data.sources.samples import GLASS_FILE, SHARED, arff, nbaiot_tables, tar_gz, zipped


class TestLocations:
    def write(self, folder, **arrays):
        folder.mkdir(exist_ok=True)
        np.savez(folder / "glass.npz", **arrays)

    def test_the_data_folder_goes_first(self, tmp_path):
        (tmp_path / "literature.tar.gz").write_bytes(tar_gz({GLASS_FILE: arff()[0].encode()}))
        self.write(tmp_path / "data", X=np.eye(2), y=[0, 1])
        assert len(load_dataset("glass", tmp_path / "data", tmp_path).X) == 2
        assert len(load_dataset("glass", None, tmp_path).X) == 6

    def test_an_archive_put_into_the_cache_by_hand_is_unpacked(self, tmp_path):
        text, X, _ = arff()
        (tmp_path / "literature.tar.gz").write_bytes(tar_gz({f"./{GLASS_FILE}": text.encode()}))
        assert locate_dataset(CARDS["glass"], None, tmp_path) == tmp_path / "literature.tar.gz"
        dataset = load_dataset("glass", None, tmp_path)
        np.testing.assert_array_equal(dataset.X, X)
        assert (dataset.task, dataset.task_names, dataset.card) == (None, (), CARDS["glass"])
        assert locate_dataset(CARDS["glass"], None, tmp_path) == tmp_path / GLASS_FILE

    def test_what_is_nowhere_says_how_to_get_it(self, tmp_path):
        with pytest.raises(InputError, match=r"Glass is not here \(neither in .* nor in the cache\)") as caught:
            load_dataset("glass", tmp_path, tmp_path)
        assert "`oddshot data fetch glass`" in str(caught.value)
        assert "--data-dir" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_data_folder_that_is_none(self, tmp_path):
        with pytest.raises(FileError, match="no such folder"):
            load_dataset("glass", tmp_path / "none", tmp_path)

    def test_a_damaged_archive_in_the_cache_is_one_line(self, tmp_path):
        (tmp_path / "literature.tar.gz").write_bytes(b"half")
        with pytest.raises(InputError, match=r"literature\.tar\.gz: damaged"):
            load_dataset("glass", None, tmp_path)
        assert (tmp_path / "literature.tar.gz").exists()

    def test_other_counts_are_told_with_the_papers(self, tmp_path):
        self.write(tmp_path, X=np.eye(7), y=[1] * 5 + [0] * 2)
        assert load_dataset("glass", tmp_path, tmp_path).notes == (
            "Glass: 2 normal rows here, 205 in the paper's Table 4",
            "Glass: 5 anomalous rows here, 9 in the paper's Table 4",
        )

    def test_tasks_without_names_are_numbered(self, tmp_path):
        self.write(tmp_path, X=np.eye(4), y=[1, 0, 1, 0], task=[3, 3, 8, 8])
        dataset = load_dataset("glass", tmp_path, tmp_path)
        assert dataset.task.tolist() == [0, 0, 1, 1]
        assert dataset.task_names == ("task 0", "task 1")


class TestDevices:
    def test_a_device_comes_with_all_80_tasks_and_is_drawn_once(self, tmp_path, monkeypatch):
        (tmp_path / "nbaiot.zip").write_bytes(zipped(nbaiot_tables()))
        doorbell = load_dataset("Doorbell2", None, tmp_path)
        assert doorbell.notes == ()
        assert len(doorbell.task_names) == 80
        assert [doorbell.task_names[i] for i in device_tasks(doorbell)] == [
            f"Ennio_Doorbell/gafgyt_{attack}" for attack in ("combo", "junk", "scan", "tcp", "udp")
        ]
        assert len(device_tasks(doorbell, "camera4")) == 10
        monkeypatch.setattr(catalogue, "read_nbaiot", None)  # a second reading of the archive would fail
        again = load_dataset("camera1", None, tmp_path)
        np.testing.assert_array_equal(again.X, doorbell.X)
        np.testing.assert_array_equal(again.task, doorbell.task)
        assert again.task_names == doorbell.task_names

    def test_a_folder_unpacked_by_hand_needs_no_archive(self, tmp_path):
        for path, content in nbaiot_tables(n_normal=30, n_anomaly=8).items():
            (tmp_path / "nbaiot" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "nbaiot" / path).write_bytes(content)
        assert load_dataset("nbaiot", None, tmp_path).notes == (
            "N-BaIoT: 30 normal rows a task here, 200 in the paper's Table 4",
            "N-BaIoT: 8 anomalous rows a task here, 50 in the paper's Table 4",
        )


@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="no ../shared/data")
class TestSharedData:
    """Every file of the folder, against Table 4."""

    NAMES = sorted(path.stem for path in (SHARED / "data").glob("*.npz"))

    def load(self, name, tmp_path):
        return load_dataset(name, SHARED / "data", tmp_path)

    def test_the_folder_holds_the_outlier_datasets_landmine_and_the_sample(self):
        assert set(self.NAMES) == {n for n in PAPER_DATASETS if not CARDS[n].device} | {"nbaiot"}

    @pytest.mark.parametrize("name", [name for name in NAMES if CARDS[name].format == "arff"])
    def test_an_outlier_dataset_has_the_papers_counts(self, name, tmp_path):
        dataset, card = self.load(name, tmp_path), CARDS[name]
        assert np.bincount(dataset.y).tolist() == [card.n_normal, card.n_anomaly]
        assert dataset.X.shape == (card.n_normal + card.n_anomaly, card.n_attributes)
        assert (dataset.X.dtype, dataset.y.dtype, dataset.task) == (np.float64, np.int8, None)
        assert dataset.notes == ()

    def test_landmine_has_29_fields_one_with_the_papers_counts(self, tmp_path):
        dataset = self.load("landmine", tmp_path)
        assert dataset.X.shape[1] == CARDS["landmine"].n_attributes
        assert dataset.task_names == CARDS["landmine"].task_names
        counts = [np.bincount(dataset.y[dataset.task == field]).tolist() for field in range(29)]
        assert [field for field in range(29) if counts[field] == [651, 38]] == [10]
        assert dataset.notes == (
            "Landmine: 407 to 653 normal rows a task here, 651 in the paper's Table 4",
            "Landmine: 15 to 48 anomalous rows a task here, 38 in the paper's Table 4",
        )

    def test_the_n_baiot_sample_says_what_it_lacks(self, tmp_path):
        dataset = self.load("nbaiot", tmp_path)
        assert dataset.X.shape == (1800, CARDS["nbaiot"].n_attributes)
        assert set(dataset.task_names) < set(CARDS["nbaiot"].task_names)
        assert device_tasks(dataset, "thermostat").tolist() == [2, 3]
        assert dataset.notes == (
            "N-BaIoT: 6 tasks here, 80 in the paper",
            "N-BaIoT: 150 normal rows a task here, 200 in the paper's Table 4",
            "N-BaIoT: 150 anomalous rows a task here, 50 in the paper's Table 4",
        )
