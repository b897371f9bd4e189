import csv
import json

import pytest

from oddshot.data.sources.cards import ALIASES, CARDS, PAPER_DATASETS, find_card
from oddshot.data.sources.catalogue import load_dataset
from oddshot.errors import InputError
from tests.data.sources.samples import SHARED


class TestCards:
    def test_the_papers_32_and_the_whole_of_n_baiot(self):
        assert len(PAPER_DATASETS) == 32
        assert list(CARDS) == [*PAPER_DATASETS, "nbaiot"]
        assert all(card.terms and card.citation and card.source.url for card in CARDS.values())

    def test_the_splits_add_up_to_the_tasks(self):
        for name in PAPER_DATASETS:
            assert sum(CARDS[name].splits) == (len(CARDS[name].task_names) or 500)

    def test_target_tasks_are_the_devices_own(self):
        for card in CARDS.values():
            if card.device:
                assert card.splits[2] == sum(name.startswith(f"{card.device}/") for name in card.task_names)

    @pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared")
    def test_the_names_are_those_of_table_1(self):
        with (SHARED / "paper" / "table1_auc.csv").open() as file:
            assert [CARDS[name].title for name in PAPER_DATASETS] == [row["dataset"] for row in csv.DictReader(file)]

    @pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared")
    def test_exact_files_are_those_of_the_manifest(self):
        manifest = json.loads((SHARED / "data" / "MANIFEST.json").read_text())["datasets"]
        for name, entry in manifest.items():
            assert entry["paper"] == {
                "normal": CARDS[name].n_normal,
                "anomaly": CARDS[name].n_anomaly,
                "attributes": CARDS[name].n_attributes,
            }
            if CARDS[name].format == "arff" and entry["match"] == "exact":
                assert entry["source_path"] == f"datasets/{CARDS[name].file}"
                assert CARDS[name].unverified == ""


class TestNames:
    @pytest.mark.parametrize(
        ("given", "name"),
        [
            ("GLASS", "glass"),
            ("Heart-Disease", "heartdisease"),
            ("cardiotoco", "cardiotocography"),
            ("lympho", "lymphography"),
            ("Internet Ads", "internetads"),
            ("N-BaIoT", "nbaiot"),
            ("Danmini_Doorbell", "doorbell1"),
            ("SimpleHome_XCS7_1003_WHT_Security_Camera", "camera4"),
        ],
    )
    def test_any_case_dashes_and_aliases(self, given, name):
        assert find_card(given) is CARDS[name]

    def test_every_alias_leads_somewhere_and_hides_no_name(self):
        assert set(ALIASES.values()) <= set(CARDS)
        assert not set(ALIASES) & set(CARDS)

    @pytest.mark.parametrize(
        ("given", "hint"), [("glas", "glass"), ("lymphograpy", "lymphography"), ("camera", "camer")]
    )
    def test_an_unknown_name_is_answered_with_the_nearest(self, given, hint):
        with pytest.raises(InputError, match=f"no dataset is called '{given}'; did you mean .*{hint}"):
            load_dataset(given)

    def test_a_name_like_no_other_is_answered_with_the_list(self):
        with pytest.raises(InputError, match="oddshot data list"):
            load_dataset("xyzzyqwv")
