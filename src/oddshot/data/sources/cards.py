"""The paper's 32 datasets, one card each: expected counts, where the data come from, and their terms of use."""

import difflib
import re
from dataclasses import dataclass

from oddshot.errors import InputError


@dataclass(frozen=True)
class ArchiveSource:
    """An archive on a public server.

    file_name: its name in the cache folder. sha256: its checksum, None if none is known. terms: the licence or terms of
    use, as far as the source states any. citation: the publication to cite.
    """

    url: str
    file_name: str
    sha256: str | None
    terms: str
    citation: str


@dataclass(frozen=True)
class Card:
    """One dataset with the counts of the paper's Table 4, and where to find it.

    title: its name in Table 1. n_normal, n_anomaly: the number of rows, of each task if `per_task`. file: its path in
    the archive. format: of that file; "arff", "mat" or "csv". sha256: of that file, None if none is known. splits: the
    number of training, validation and target tasks, None if the paper has no such row. task_names: the tasks of the
    dataset, empty for a single table that is made into many tasks by mixing (Sec. 4.1). device: the N-BaIoT folder
    whose tasks are the target. unverified: which of these facts have not been checked.
    """

    name: str
    title: str
    n_normal: int
    n_anomaly: int
    n_attributes: int
    source: ArchiveSource
    file: str
    format: str
    splits: tuple[int, int, int] | None = (400, 50, 50)
    sha256: str | None = None
    per_task: bool = False
    task_names: tuple[str, ...] = ()
    device: str = ""
    unverified: str = ""

    @property
    def rows(self) -> str | None:
        """The digest of the rows and labels of the committed runs, None if there are none."""
        return _ROWS.get(self.name)

    @property
    def cache_file(self) -> str:
        """The path in the cache folder: its own file, or the rows sampled from an archive too large to unpack."""
        return "nbaiot-tasks.npz" if self.format == "csv" else self.file

    @property
    def terms(self) -> str:
        """The licence or terms of use, as far as the source states any."""
        return self.source.terms

    @property
    def citation(self) -> str:
        """The publication to cite."""
        return self.source.citation


_DAMI = "https://www.dbs.ifi.lmu.de/research/outlier-evaluation/input"
_DAMI_TERMS = "DAMI states no licence; most of the underlying data are from the UCI repository, whose terms apply"
_DAMI_CITATION = (
    "Campos et al. (2016). On the evaluation of unsupervised outlier detection: measures, datasets, and an empirical "
    "study. Data Mining and Knowledge Discovery 30(4), 891-927."
)
LITERATURE = ArchiveSource(
    f"{_DAMI}/literature.tar.gz",
    "literature.tar.gz",
    "42a69b719f846bc03e4a6a0e5776969d4cd6b61a17675035c27753e7a6e0e256",
    _DAMI_TERMS,
    _DAMI_CITATION,
)
SEMANTIC = ArchiveSource(
    f"{_DAMI}/semantic.tar.gz",
    "semantic.tar.gz",
    "e77ad3d37baeb1e4025497496e2183d3d00c6ea2d1e603b2d388894b490fa71a",
    _DAMI_TERMS,
    _DAMI_CITATION,
)
LANDMINE = ArchiveSource(
    "http://www.ee.duke.edu/~lcarin/LandmineData.zip",
    "LandmineData.zip",
    None,
    "no licence stated; released by Duke University",
    "Xue, Liao, Carin & Krishnapuram (2007). Multi-task learning for classification with Dirichlet process priors. "
    "Journal of Machine Learning Research 8, 35-63.",
)
NBAIOT = ArchiveSource(
    "https://archive.ics.uci.edu/static/public/442/detection+of+iot+botnet+attacks+n+baiot.zip",
    "nbaiot.zip",
    "64929678b081d8e579a8d7c488cf11cc588403f282d5fb065b4156edbd55de9b",
    "CC BY 4.0 (UCI Machine Learning Repository, dataset 442)",
    "Meidan et al. (2018). N-BaIoT: network-based detection of IoT botnet attacks using deep autoencoders. "
    "IEEE Pervasive Computing 17(3), 12-22.",
)

# Title, normal rows, anomalous rows and attributes (Table 4), and DAMI's normalised file with these counts, sample v01.
_OUTLIER_TABLES = (
    ("ALOI", 48492, 1508, 27, "literature/ALOI/ALOI_norm.arff"),
    ("Annthyroid", 6666, 350, 21, "semantic/Annthyroid/Annthyroid_norm_05_v01.arff"),
    ("Arrhythmia", 244, 61, 259, "semantic/Arrhythmia/Arrhythmia_withoutdupl_norm_20_v01.arff"),
    ("Cardiotocography", 1655, 413, 21, "semantic/Cardiotocography/Cardiotocography_norm_20_v01.arff"),
    ("Glass", 205, 9, 7, "literature/Glass/Glass_withoutdupl_norm.arff"),
    ("HeartDisease", 150, 37, 13, "semantic/HeartDisease/HeartDisease_withoutdupl_norm_20_v01.arff"),
    ("Hepatitis", 67, 7, 19, "semantic/Hepatitis/Hepatitis_withoutdupl_norm_10_v01.arff"),
    ("InternetAds", 1598, 177, 1555, "semantic/InternetAds/InternetAds_withoutdupl_norm_10_v01.arff"),
    ("Ionosphere", 225, 126, 32, "literature/Ionosphere/Ionosphere_withoutdupl_norm.arff"),
    ("KDDCup99", 60593, 246, 79, "literature/KDDCup99/KDDCup99_norm_1ofn.arff"),
    ("Lymphography", 142, 6, 47, "literature/Lymphography/Lymphography_withoutdupl_norm_1ofn.arff"),
    ("PageBlocks", 4913, 258, 10, "semantic/PageBlocks/PageBlocks_norm_05_v01.arff"),
    ("Parkinson", 48, 12, 22, "semantic/Parkinson/Parkinson_withoutdupl_norm_20_v01.arff"),
    ("PenDigits", 9848, 20, 16, "literature/PenDigits/PenDigits_withoutdupl_norm_v01.arff"),
    ("Pima", 500, 125, 8, "semantic/Pima/Pima_withoutdupl_norm_20_v01.arff"),
    ("Shuttle", 1000, 13, 9, "literature/Shuttle/Shuttle_withoutdupl_norm_v01.arff"),
    ("SpamBase", 2788, 697, 57, "semantic/SpamBase/SpamBase_norm_20_v01.arff"),
    ("Stamps", 309, 16, 9, "semantic/Stamps/Stamps_withoutdupl_norm_05_v01.arff"),
    ("WBC", 444, 10, 9, "literature/WBC/WBC_norm_v01.arff"),
    ("WDBC", 357, 10, 30, "literature/WDBC/WDBC_withoutdupl_norm_v01.arff"),
    ("Waveform", 3343, 100, 21, "literature/Waveform/Waveform_withoutdupl_norm_v01.arff"),
    ("Wilt", 4578, 93, 5, "semantic/Wilt/Wilt_norm_02_v01.arff"),
)
# Digests of rows and labels, `dataset_fingerprint` of the bench. ALOI, InternetAds and KDDCup99 were rebuilt from other
# sources than DAMI's archive, and N-BaIoT is a sample of six tasks.
_ROWS = {
    "aloi": "44c60dcae34db3f3",
    "annthyroid": "8876ad1491847a66",
    "arrhythmia": "755a3daabe7034ff",
    "cardiotocography": "811f3969b367ca55",
    "glass": "b71552de36d33668",
    "heartdisease": "b4bf754dae04bae4",
    "hepatitis": "561583b75028493a",
    "internetads": "298c0d438bd44999",
    "ionosphere": "b6e313b94b061681",
    "kddcup99": "3bdf337ec0f16364",
    "lymphography": "c8d264ad7486ace5",
    "pageblocks": "bda62b92aee7d642",
    "parkinson": "994b0b2b66784a4d",
    "pendigits": "3b089764397c8614",
    "pima": "a1f1dec102ba7280",
    "shuttle": "f87f6825339bb972",
    "spambase": "d9933f9bd4829a91",
    "stamps": "b6a2382b2a98d119",
    "wbc": "8548de0fe5d637ee",
    "wdbc": "42ef568c701ca167",
    "waveform": "93e17601f25c4189",
    "wilt": "f550cf33333ef969",
    "landmine": "e82fbfc0a8d01e55",
    "nbaiot": "452a5916070e71b4",
}
_UNVERIFIED_NAME = "the file's name follows from DAMI's naming and the paper's counts; not seen in the archive itself"

# Title in Table 1, folder in the dataset, number of training, validation and target tasks in Table 4.
_DEVICES = (
    ("Doorbell1", "Danmini_Doorbell", (66, 4, 10)),
    ("Thermostat", "Ecobee_Thermostat", (64, 6, 10)),
    ("Doorbell2", "Ennio_Doorbell", (60, 15, 5)),
    ("Monitor", "Philips_B120N10_Baby_Monitor", (61, 9, 10)),
    ("Camera1", "Provision_PT_737E_Security_Camera", (63, 7, 10)),
    ("Camera2", "Provision_PT_838_Security_Camera", (64, 6, 10)),
    ("Webcam", "Samsung_SNH_1011_N_Webcam", (68, 7, 5)),
    ("Camera3", "SimpleHome_XCS7_1002_WHT_Security_Camera", (61, 9, 10)),
    ("Camera4", "SimpleHome_XCS7_1003_WHT_Security_Camera", (61, 9, 10)),
)
DEVICES = tuple(folder for _, folder, _ in _DEVICES)
ATTACKS = {"gafgyt": ("combo", "junk", "scan", "tcp", "udp"), "mirai": ("ack", "scan", "syn", "udp", "udpplain")}
DEVICES_WITHOUT_MIRAI = ("Ennio_Doorbell", "Samsung_SNH_1011_N_Webcam")
_NBAIOT_TASKS = tuple(
    f"{device}/{botnet}_{attack}"
    for device in DEVICES
    for botnet, attacks in ATTACKS.items()
    if botnet == "gafgyt" or device not in DEVICES_WITHOUT_MIRAI
    for attack in attacks
)


def _outlier_card(title: str, n_normal: int, n_anomaly: int, n_attributes: int, file: str) -> Card:
    source = LITERATURE if file.startswith("literature/") else SEMANTIC
    unverified = _UNVERIFIED_NAME if title in ("ALOI", "InternetAds", "KDDCup99") else ""
    return Card(
        title.lower(), title, n_normal, n_anomaly, n_attributes, source, file, "arff", unverified=unverified
    )  # fmt: skip


def _nbaiot_card(title: str, folder: str, splits: tuple[int, int, int] | None) -> Card:
    unverified = "which of the paper's four cameras and two doorbells is which: the dataset's own order is assumed"
    return Card(
        title.lower().replace("-", ""), title, 200, 50, 115, NBAIOT, folder or "*", "csv",
        splits, per_task=True, task_names=_NBAIOT_TASKS, device=folder, unverified=unverified if folder else "",
    )  # fmt: skip


_LANDMINE_CARD = Card(
    "landmine", "Landmine", 651, 38, 9, LANDMINE, "LandmineData.mat", "mat", (23, 2, 4),
    "2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea", per_task=True,
    task_names=tuple(f"field {i}" for i in range(29)),
    unverified="whether the address still answers; Table 4 gives the rows of one of the 29 fields (field 10)",
)  # fmt: skip

_PAPER = (*(_outlier_card(*row) for row in _OUTLIER_TABLES), _LANDMINE_CARD, *(_nbaiot_card(*row) for row in _DEVICES))
PAPER_DATASETS = tuple(card.name for card in _PAPER)  # in Table 1's order
CARDS = {card.name: card for card in (*_PAPER, _nbaiot_card("N-BaIoT", "", None))}

ALIASES = {
    "ads": "internetads",
    "cardio": "cardiotocography",
    "cardiotoco": "cardiotocography",
    "heart": "heartdisease",
    "kdd": "kddcup99",
    "kdd99": "kddcup99",
    "kddcup": "kddcup99",
    "landminedata": "landmine",
    "lympho": "lymphography",
    "pageblock": "pageblocks",
    "pendigit": "pendigits",
    "spam": "spambase",
    "stamp": "stamps",
    **{re.sub(r"[^a-z0-9]", "", folder.lower()): title.lower() for title, folder, _ in _DEVICES},
}


def find_card(name: str) -> Card:
    """Return the card of a dataset by its name or an alias, in any case, with or without dashes."""
    key = re.sub(r"[^a-z0-9]", "", name.lower())
    key = ALIASES.get(key, key)
    if key in CARDS:
        return CARDS[key]
    near = difflib.get_close_matches(key, [*CARDS, *ALIASES], n=3)
    names = list(dict.fromkeys(ALIASES.get(match, match) for match in near))
    hint = f"did you mean {' or '.join(names)}?" if names else "see `oddshot data list`"
    raise InputError(f"no dataset is called {name!r}; {hint}")
