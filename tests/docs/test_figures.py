"""Figures of README.md and docs are those of the committed results and benchmarks."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from statistics import fmean

import pandas as pd
import pytest

from oddshot.bench.curves import SWEEPS, collect_curves
from oddshot.bench.export import read_runs
from tests.docs.pages import ROOT

RESULTS = ROOT / "results"


def lines_of(page):
    return (ROOT / page).read_text().splitlines()


def row_of(page, start):
    """The cells of the row of a table that begins with these cells."""
    (line,) = [line for line in lines_of(page) if line.startswith(f"| {start} |")]
    return [cell.strip(" *¹") for cell in line.strip("|").split("|")]


def averages(protocol, n_tables):
    """Mean AUC of each method over the outlier tables that all of them have, without InternetAds."""
    with open(RESULTS / protocol / "table1.csv") as file:
        rows = [
            row for row in csv.DictReader(file) if row["dataset"] not in ("Landmine", "N-BaIoT", "Average", "#Best")
        ]
    found = {}
    for method in rows[0]:
        cells = [row[method] for row in rows if method != "dataset" and row["dataset"] != "InternetAds"]
        if cells and len([cell for cell in cells if cell]) == n_tables:
            found[method] = fmean(float(cell) for cell in cells if cell)
    return found


def situation(name, table="table.md"):
    """What oddshot and the best simple method have in a situation of the field trial."""
    cells = row_of(f"results/field/{table}", name)
    return cells[3], cells[4]


@pytest.mark.parametrize("protocol", ["published", "resampled"])
def test_the_tables_of_the_paper(protocol):
    page = "docs/how-to/reproduce-the-paper.md"
    (header,) = [line for line in lines_of(page) if line.startswith("| | **relative**")]
    names = ["Ours" if name == "eigen" else name for name in re.sub("[ *]", "", header).strip("|").split("|")]
    shown, expected = dict(zip(names, row_of(page, f"`{protocol}`")[1:], strict=True)), averages(protocol, 21)
    assert len(expected) >= 14
    assert {name: shown[name] for name in expected} == {name: f"{auc:.3f}" for name, auc in expected.items()}
    if protocol == "resampled":
        assert row_of("README.md", "the paper's tables, rows drawn at random as its text says")[1:] == [
            f"{expected['relative']:.3f}",
            f"{expected['Ours']:.3f}, the paper's method",
        ]
    else:
        assert f"| {expected['Ours']:.3f}, the paper's method here |" in (ROOT / "README.md").read_text()


def test_the_curves_over_tasks_and_labelled_rows():
    """The AUCs that the page names are those of the committed runs, ten splits of six datasets at every point."""
    records = read_runs(RESULTS / "resampled" / "curves.csv")
    text = " ".join(lines_of("results/resampled/README.md"))
    methods = {"`relative`": "relative", "the proposed method": "eigen"}
    methods |= {"Proto": "proto", "R2D2": "r2d2", "MAML": "maml", "FT": "ft"}
    for name, last in (("tasks", "heartdisease"), ("normals", "landmine")):
        datasets = ("glass", "stamps", "pendigits", "wdbc", "ionosphere", last)
        curves, common = collect_curves(records, SWEEPS[name], "resampled", "half", None, datasets, [*methods.values()])
        assert set(common) == set(datasets)
        for title, method in methods.items():
            mean = [f"{value:.3f}" for value in curves[method].mean]
            change = rf"(?:has|grows from|from|falls from) {mean[0]}.{{0,18}} {mean[-1]}"
            assert re.search(f"{title} {change}", text), (title, mean)
    points = Counter((record.config_hash, record.dataset, record.method) for record in records)
    assert set(points.values()) == {10}


def test_the_demonstration(tmp_path):
    """The page has what the command prints. Trained models differ a little from one processor to another."""
    command = [sys.executable, "-m", "oddshot", "demo", "--json", "demo.json", "--device", "cpu"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    found = json.loads((tmp_path / "demo.json").read_text())
    rows = {
        "**`relative`, trained on 0 to 5**": "relative, trained on 0 to 5",
        "logistic regression": "logistic regression",
        "`relative`, the model that ships, without further training": "relative, as it ships",
        "distance to the nearest normal row": "nearest normal row",
        "one-class SVM": "one-class SVM",
        "`eigen`, the paper's method, trained on 0 to 5": "eigen, trained on 0 to 5",
    }
    for title, method in rows.items():
        shown = [float(cell) for cell in row_of("docs/concepts/meta-learning.md", title)[1:]]
        tolerance = 0.02 if "trained" in method else 0.002
        assert shown == pytest.approx([found["known"][method], found["new"][method]], abs=tolerance), title


def test_the_situations_of_the_field_trial():
    page, whole = "docs/concepts/when-it-helps.md", "a table of 1,000 rows"
    for name, labelled, unlabelled in (
        ("tiny/1+0", "1+0", "none"),
        ("apart/5+0", "5+0", "none"),
        ("apart/200 unlabelled/5+0", "5+0", "200"),
        ("apart/5+1", "5+1", "none"),
        ("apart/200 unlabelled/5+1", "5+1", "200"),
        ("apart/200 unlabelled/5+2", "5+2", "200"),
        ("whole/1000 rows/5+1", "5+1", whole),
        ("growth/20+4", "20+4", "none"),
        ("growth/80+16", "80+16", "none"),
        ("growth/200+40", "200+40", "none"),
    ):
        oddshot, best = situation(name)
        shown = row_of(page, f"{labelled} | {unlabelled}")
        assert shown[2:4] == [oddshot, best.replace("nearest normal", "nearest normal row")], name
    auc = row_of("docs/how-to/first-table.md", "AUC")[1:]
    names = ("tiny/200 unlabelled/1+0", "apart/200 unlabelled/5+0", "apart/200 unlabelled/5+1")
    names += ("growth/200 unlabelled/10+2", "growth/200 unlabelled/20+4")
    assert auc == [situation(name)[0] for name in names]
    text = " ".join(lines_of(page))
    for name in ("fleets/landmine/10 tasks", "fleets/nbaiot/3 tasks"):
        cells = row_of("results/field/fleets/table.md", name)
        assert re.search(rf"from {cells[-1]} to\s+{cells[3]}", text), name


def test_the_universal_model():
    with open(RESULTS / "universal" / "table.csv") as file:
        *_, average = csv.DictReader(file)
    columns = {"universal model": "relative", "ridge + nearest": "ridge+nearest", "CatBoost": "catboost"}
    for name, column in columns.items():
        expected = [f"{float(average[column + more]):.3f}" for more in ("", " + 200 unlabelled")]
        assert row_of("docs/universal.md", name)[1:] == expected


def test_the_card_of_the_universal_model():
    card = [line.strip("| ").split(" | ") for line in lines_of("src/oddshot/universal/README.md") if line[:1] == "|"]
    situations = [cells for cells in card if len(cells) == 4 and "/" in cells[0]]
    decisions = [cells for cells in card if cells[0].startswith("decisions/")]
    assert (len(situations), len(decisions)) == (10, 5)
    for name, tables, oddshot, best in situations:
        cells = row_of("results/field/table.md", name)
        assert [cells[1], *situation(name)] == [tables, oddshot, best]
    for name, flagged, found in decisions:
        assert row_of("results/field/table.md", name)[3] == f"{flagged} / {found}"


def test_the_grid_of_decisions():
    cells = pd.read_csv(ROOT / "results/decisions/grid.csv").query("rate == 0.05")
    for n_normal, some in cells.groupby("normal"):
        low, high, worst = some.flagged.min(), some.flagged.max(), some.worst.max()
        shown = row_of("docs/how-to/thresholds.md", str(n_normal))[1:3]
        assert shown == [f"{low:.1%} to {high:.1%}".replace("%", " %"), f"{worst:.0%}".replace("%", " %")]
    many = cells.query("normal + unlabelled >= 50")
    assert int((many.worst > 0.2).sum()) == 1
    assert cells.tables.max() == 37


def test_the_service():
    by_name = {verdict["name"]: verdict["ratio"] for verdict in read_json("service.json")["verdicts"]}
    models = {"the one that ships": "the model that ships", "eigen (`oddshot train --method eigen`)": "eigen"}
    loads = {"single rows, JSON": "single rows in JSON", "512 rows, Arrow": "Arrow batches of 512 rows"}
    for model, measured_model in models.items():
        for load, measured_load in loads.items():
            rate, p99 = (
                by_name[f"{measured_model}, {measured_load}: {what}"]
                for what in ("rows a second", "99 % of answers within ms")
            )
            shown = row_of("docs/service.md", f"{model} | {load}")[2:4]
            digits = 3 if rate > 10_000 else 0
            assert float(shown[0].replace(",", "")) == pytest.approx(rate, abs=0.5 * 10**digits)
            assert shown[1] == f"{p99:.0f} ms"


def test_the_app():
    for run in read_json("app.json")["runs"]:
        shown = row_of("docs/app.md", f"{run['rows']:,} | {run['columns']}")[2:]
        assert shown == [
            f"{run['megabytes']:.1f}",
            f"{run['open_s']:.1f}",
            f"{run['label_ms']:.0f}",
            f"{run['slowest_label_ms']:.0f}",
            f"{run['all_scored_s']:.1f}",
            f"{run['most_memory_mb']:.0f}",
        ]


def read_json(name):
    return json.loads((ROOT / "benchmarks" / name).read_text())


def test_the_hostile_trial():
    report = json.loads((RESULTS / "hostile" / "report.json").read_text())
    for name, door in {**report["doors"], "all": report}.items():
        assert row_of("docs/reliability.md", name)[1:] == [f"{door['tried']:,}", f"{door['failed']:,}"]
