import csv
import io
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from oddshot.bench import paper
from oddshot.bench.parsing import parse_where
from oddshot.bench.render import render, to_json_dict
from oddshot.bench.selection import choose_protocol, select
from oddshot.bench.tables import ranks_table, relative_table, table1, table2, table3
from oddshot.errors import InputError
from oddshot.methods import method_names
from oddshot.methods.relative_ablations import RELATIVE_ABLATIONS
from tests.bench.samples import record


def runs(aucs, **changes):
    """aucs: (dataset, method) -> AUC a split."""
    return [
        record(dataset, method, split, auc, **changes)
        for (dataset, method), values in aucs.items()
        for split, auc in enumerate(values)
    ]


MADE_UP = runs(
    {
        ("wdbc", "eigen"): [0.95, 0.94, 0.93],
        ("wdbc", "lr"): [0.94, 0.95, 0.93],  # not different from the best
        ("wdbc", "knn"): [0.45, 0.44, 0.43],
        ("glass", "knn"): [0.47, 0.48, 0.46],
        ("glass", "lr"): [0.90, 0.91, 0.89],
        ("glass", "eigen"): [0.85, 0.84, 0.86],
        ("nbaiot", "eigen"): [1.0, 0.99, 0.98],
        ("landmine", "lr"): [0.7, 0.8],
    }
)
CHOSEN = select(MADE_UP, "published")

TEXT = """\
Test AUC on target tasks
┏━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃          ┃   Ours ┃     LR ┃    KNN ┃
┡━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│ Glass    │  0.850 │ 0.900* │  0.470 │
│ WDBC     │ 0.940* │ 0.940* │  0.440 │
│ Landmine │        │ 0.750* │        │
│ N-BaIoT  │ 0.990* │        │        │
├──────────┼────────┼────────┼────────┤
│ Average  │  0.895 │ 0.920* │  0.455 │
│ #Best    │      2 │     3* │      0 │
└──────────┴────────┴────────┴────────┘
* the best, or not different from it.
Average over 2 datasets, those with figures of all methods that were run.
In the AUC, a tie counts as an error (Eq. 8).
Means over 3 splits; 1 cell over fewer.
"""

COMPARED = """\
dataset,Ours,Ours paper,Ours difference,LR,LR paper,LR difference,KNN,KNN paper,KNN difference
Glass,0.8500,0.9520,-0.1020,0.9000,0.8810,0.0190,0.4700,0.4730,-0.0030
WDBC,0.9400,0.9410,-0.0010,0.9400,0.9150,0.0250,0.4400,0.4330,0.0070
Landmine,,0.9220,,0.7500,0.7450,0.0050,,0.2170,
N-BaIoT,0.9900,,,,,,,,
Average,0.8950,0.9465,-0.0515,0.9200,0.8980,0.0220,0.4550,0.4530,0.0020
#Best,2,,,3,,,0,,
Mean |difference|,0.0515,,,0.0163,,,0.0050,,
"""

LATEX = r"""
\begin{tabular}{lrrr}
\hline
 & Ours & LR & KNN \\
\hline
Glass & 0.850 & \textbf{0.900} & 0.470 \\
WDBC & \textbf{0.940} & \textbf{0.940} & 0.440 \\
Landmine &  & \textbf{0.750} &  \\
N-BaIoT & \textbf{0.990} &  &  \\
\hline
Average & 0.895 & \textbf{0.920} & 0.455 \\
\#Best & 2 & \textbf{3} & 0 \\
\hline
\end{tabular}
"""


def test_table_1_as_text():
    assert render(table1(CHOSEN, "strict"), "text") == TEXT


def test_table_1_as_csv_beside_the_papers():
    assert render(table1(CHOSEN, "strict", compare=True), "csv") == COMPARED


def test_table_1_as_latex():
    text = render(table1(CHOSEN, "strict"), "latex")
    assert text[text.index("\n\\begin") :] == LATEX


def test_table_1_as_html():
    page = render(table1(CHOSEN, "strict", compare=True), "html")
    assert "<tr><th>Glass</th><td>0.850<br><small>0.952 -0.102</small></td><td><strong>0.900</strong><br>" in page
    assert page.count("<tr") == 8
    assert "<script" not in page


def test_beside_the_papers_as_text_and_latex():
    text = render(table1(CHOSEN, "strict", compare=True), "text").splitlines()
    glass = next(place for place, line in enumerate(text) if "Glass" in line)
    assert [line.split("│")[2].strip() for line in text[glass : glass + 3]] == ["0.850", "0.952", "-0.102"]
    assert r"Glass & 0.850 (0.952) & \textbf{0.900} (0.881)" in render(table1(CHOSEN, "strict", compare=True), "latex")


def test_all_columns_of_the_papers_table_and_others_behind():
    more = runs({("glass", "ridge+nearest"): [0.8], ("glass", "woproj"): [0.1]})
    asked = [*paper.TABLE1_METHODS, "ridge+nearest"]
    lines = render(table1(select(MADE_UP + more, "published", methods=asked), "strict"), "csv").splitlines()
    with Path(paper.__file__).with_name("paper_table1.csv").open() as file:
        theirs = file.readline().strip().removesuffix(",best")
    assert lines[0] == f"{theirs},ridge+nearest"
    assert lines[1] == "Glass,0.8500,,,,,,,,,,0.9000,0.4700,,0.8000"
    assert lines[-2] == "Average,0.8500,,,,,,,,,,0.9000,0.4700,,0.8000"
    assert lines[-1] == "#Best,2,,,,,,,,,,3,0,,0"
    beside = render(table1(select(MADE_UP, "published", methods=["eigen", "maml"]), "strict", compare=True), "csv")
    assert "Glass,0.8500,0.9520,-0.1020,,0.6490,\n" in beside
    assert "Mean |difference|,0.0515,,,,,\n" in beside


def test_a_dataset_asked_for_has_its_row():
    asked = select(MADE_UP, "published", datasets=["wdbc", "pima"], methods=["eigen", "lr"])
    lines = render(table1(asked, "strict"), "csv").splitlines()
    assert lines[1:4] == ["Pima,,", "WDBC,0.9400,0.9400", "Average,0.9400,0.9400"]


def test_the_papers_rows_and_names():
    with Path(paper.__file__).with_name("paper_table1.csv").open() as file:
        theirs = [row["dataset"] for row in csv.DictReader(file)]
    names = paper.order_datasets({name.lower() for name in theirs})
    assert [paper.dataset_title(name) for name in names] == theirs


def test_unknown_format():
    with pytest.raises(InputError, match="format 'pdf'; there are text, csv, latex, html"):
        render(table1(CHOSEN, "strict"), "pdf")


def test_ties_as_a_half_are_the_other_column():
    row = table1(CHOSEN, "half").rows[0]
    assert [cell.value for cell in row.cells] == pytest.approx([0.86, 0.91, 0.48])


def test_figures_are_the_numbers_themselves():
    figures = to_json_dict(table1(CHOSEN, "strict", compare=True))
    assert figures["rows"]["WDBC"]["LR"] == {"value": pytest.approx(0.94), "best": True, "paper": 0.915}


def test_the_papers_own_tables():
    """Its averages and counts of bests follow from its cells."""
    cells = paper.table1()
    assert len(cells) == 32 * 13
    averages = [np.mean([cells[name, method] for name in paper.PAPER_DATASETS]) for method in paper.TABLE1_METHODS]
    printed = [0.913, 0.751, 0.814, 0.851, 0.868, 0.727, 0.834, 0.811, 0.676, 0.654, 0.785, 0.459, 0.704]
    np.testing.assert_allclose(averages, printed, atol=6e-4)
    assert list(paper.TABLE2.values()) == [0.913, 0.880, 0.874, 0.853]
    assert tuple(paper.METHOD_TITLES)[:13] == paper.TABLE1_METHODS


def test_every_method_and_dataset_of_the_paper_has_its_name():
    assert set(paper.METHOD_TITLES) <= set(method_names())
    assert paper.OUTLIER_DATASETS[0] == "aloi"
    assert paper.OUTLIER_DATASETS[-1] == "wilt"


def test_table_2():
    values = {"glass": (0.9, 0.8, 0.7, 0.6), "wdbc": (0.8, 0.9, 0.7, 0.6), "pima": (0.1,)}
    ablation = [
        record(dataset, method, auc=auc)
        for dataset, aucs in values.items()
        for method, auc in zip(paper.TABLE2_METHODS, aucs, strict=False)
    ]
    table = table2(select(ablation, "published"), "strict", compare=True)
    assert table.columns == ("Ours", "WoNN", "WoProj", "WoAnomaly")
    assert [row.title for row in table.rows] == ["Glass", "Pima", "WDBC", "Average", "#Best"]
    found = [[cell.value for cell in row.cells] for row in table.rows]
    assert found[:3] == [[0.9, 0.8, 0.7, 0.6], [0.1, None, None, None], [0.8, 0.9, 0.7, 0.6]]
    assert found[3] == pytest.approx([0.85, 0.85, 0.7, 0.6])
    papers = [[cell.paper for cell in row.cells] for row in table.rows]
    assert papers[3] == [0.913, 0.880, 0.874, 0.853]
    assert all(value is None for row in (*papers[:3], papers[4]) for value in row)
    assert table.notes[0] == "Average over 2 datasets, those with figures of all variants."
    assert "WoNN" not in table1(select(ablation, "published"), "strict").columns
    assert not table2(select(ablation, "published"), "strict").compared


def test_relative_and_its_ablations_have_a_table_of_their_own():
    ablation = runs({("glass", "relative"): [0.9, 0.8], ("glass", "relative-pairs"): [0.7, 0.6]}) + MADE_UP
    table = relative_table(select(ablation, "published"), "strict")
    assert table.columns == ("relative", "without pairs")
    assert [row.title for row in table.rows] == ["Glass", "Average", "#Best"]
    assert [cell.value for cell in table.rows[0].cells] == pytest.approx([0.85, 0.65])
    assert table1(select(ablation, "published"), "strict").columns == ("Ours", "LR", "KNN", "relative")
    assert ("relative", *(method.name for method in RELATIVE_ABLATIONS)) == paper.RELATIVE_METHODS
    with pytest.raises(InputError, match="no figures for this table"):
        relative_table(CHOSEN, "strict")


def test_table_3():
    timed = [
        record("glass", "eigen", 0, train_seconds=10.0),
        record("glass", "eigen", 1, train_seconds=20.0, together=2, device="GPU"),
        record("glass", "svdd", 0, train_seconds=5.0),
        record("wdbc", "eigen", 0, train_seconds=99.0),
        record("glass", "lr", 0),
        *(record("glass", method, 0, train_seconds=1.0) for method in ("woproj", "relative-pairs")),
    ]
    table = table3(select(timed, "published"), compare=True)
    assert table.columns == ("Ours", "SVDD")
    assert [cell.value for cell in table.rows[0].cells] == [15.0, 5.0]
    assert [cell.paper for cell in table.rows[0].cells] == [1527.0, 348.0]
    assert table.notes[0] == "Average over 1 dataset. Trained on: GPU, cpu."
    assert table.notes[1].startswith("Up to 2 splits trained together")


def test_ranks():
    table = ranks_table(CHOSEN, "strict")
    assert table.columns == ("LR", "Ours", "KNN")
    assert [cell.value for cell in table.rows[0].cells] == [1.25, 1.75, 3.0]
    p_value = stats.friedmanchisquare([1.5, 2], [1.5, 1], [3, 3]).pvalue  # ranks on WDBC and Glass
    distance = 2.343 * (3 * 4 / (6 * 2)) ** 0.5  # Demšar's q for three methods
    assert table.notes == (
        f"Over 2 datasets. Friedman test: p = {p_value:.2g}.",
        f"Ranks that differ by less than {distance:.2f} are not told apart (Nemenyi, 5 %).",
    )
    with pytest.raises(InputError, match="1 methods with figures on 3 common datasets"):
        ranks_table(select(MADE_UP, "published", methods=["eigen"]), "strict")


def test_failed_runs_and_versions_are_told():
    more = [record("pima", status="failed"), record("pima", split=1, code_version="2")]
    notes = table1(select(MADE_UP + more, "published"), "strict").notes
    assert "1 failed runs are left out." in notes
    assert "Runs of several versions of the code: 1, 2." in notes


def test_runs_for_figures_stay_out_of_tables():
    others = [
        record(auc=0.1, n_training=50),
        record(auc=0.1, sizes__support_anomaly=5),
        record(auc=0.1, protocol="resampled"),
    ]
    assert select([record(), *others], "published").records == (record(),)
    assert select([record(), *others], "published", {"n_training": 50}).records == (others[0],)


def test_groups_of_settings_never_mix():
    both = [record(), record(training__epochs=5), record(method="lr")]
    with pytest.raises(InputError, match=r"training.epochs = 1000 and 5.*choose with --where training.epochs=1000"):
        select(both, "published")
    assert select(both, "published", {"training.epochs": 5}).records == (both[1], both[2])
    with pytest.raises(InputError, match=r"eigen.units = 256 and 3"):
        select([record(), record(split=1, method__units=3)], "published")
    with pytest.raises(InputError, match=r"data.glass = "):
        select([record(), record(split=1, data="other rows")], "published")
    with pytest.raises(InputError, match=r"--where training.epoch: no run has such a setting; .*training.epochs"):
        select(both, "published", {"training.epoch": 5})


def test_only_the_newest_protocol_counts():
    assert select([record(), record(protocol_version=2)], "published").records == (record(protocol_version=2),)


def test_nothing_to_show_is_one_line():
    for make in (lambda chosen: table1(chosen, "strict"), lambda chosen: table2(chosen, "strict"), table3):
        with pytest.raises(InputError, match="no figures for this table: 0 finished and 1 failed runs"):
            make(select([record(status="failed")], "published"))


def test_which_protocol_and_auc():
    both = [record(), record(protocol="resampled")]
    assert choose_protocol(both[:1], None, None) == ("published", "strict")
    assert choose_protocol(both[1:], None, None) == ("resampled", "half")
    assert choose_protocol(both, "resampled", "strict") == ("resampled", "strict")
    with pytest.raises(InputError, match="has published and resampled: choose with --protocol"):
        choose_protocol(both, None, None)
    with pytest.raises(InputError, match="--auc best"):
        choose_protocol(both, "published", "best")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("training.epochs=5", ("training.epochs", 5)), ("seed=null", ("seed", None)), ("a=b", ("a", "b"))],
)
def test_where(text, parsed):
    assert parse_where(text) == parsed
    with pytest.raises(InputError, match="expected SETTING=VALUE"):
        parse_where("epochs")


def test_csv_reads_back():
    rows = list(csv.DictReader(io.StringIO(render(table1(CHOSEN, "strict"), "csv"))))
    assert rows[0] == {"dataset": "Glass", "Ours": "0.8500", "LR": "0.9000", "KNN": "0.4700"}
