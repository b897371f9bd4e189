"""Reports of made-up numbers."""

import csv
import io

import pytest
from typer.testing import CliRunner

from oddshot.bench.field.criteria import criteria_lines
from oddshot.bench.field.report import (
    Comparison,
    compare,
    group_means,
    select_records,
    to_csv,
    to_markdown,
)
from oddshot.bench.field.runner import write_report
from oddshot.bench.field.situations import select_situations
from oddshot.bench.field.store import CellKey, CellRecord
from oddshot.bench.field.tables import FieldTable
from oddshot.cli import app
from tests.bench.field.test_situations import make_table


def made_up(values, situation="apart/5+1", metric="auc"):
    """Records and keys. values: {(table, method): value}; a table's source is what comes before the slash."""
    (chosen,) = select_situations([situation])
    records, keys = [], {}
    for (name, method), value in values.items():
        key = CellKey(situation, name, method, "hash")
        empty = make_table(1, 1)
        keys[key] = (chosen, FieldTable(name, name.split("/")[0], "reporting", empty.X, empty.y))
        records.append(CellRecord(*key, metric, value, 5, 0.1, "", "1"))
    return records, keys


VALUES = {
    **{("a/0", "oddshot"): 0.9, ("a/1", "oddshot"): 0.7, ("b/0", "oddshot"): 0.6},
    **{("a/0", "kNN"): 0.8, ("a/1", "kNN"): 0.8, ("b/0", "kNN"): 0.7},
    **{("a/0", "ExtraTrees"): 0.99, ("a/1", "ExtraTrees"): 0.99},
}


def test_sources_have_equal_weight_and_methods_the_same_tables():
    (comparison,) = compare(*made_up(VALUES))
    assert comparison.aucs == {"oddshot": pytest.approx(0.7), "kNN": pytest.approx(0.75)}  # ExtraTrees lacks a table
    assert (comparison.best_opponent, comparison.difference) == ("kNN", pytest.approx(-0.05))
    assert (comparison.n_tables, comparison.n_sources) == (3, 2)


def test_markdown_and_group_means():
    comparisons = compare(*made_up(VALUES))
    assert "| apart/5+1 | 3 | 2 | 0.700 | kNN 0.750 | -0.050 | 0.750 |" in to_markdown(comparisons)
    assert "| apart | 1 | 0.700 | 0.750 | -0.050 | -0.050 (apart/5+1) | 1 |" in group_means(comparisons)


def test_records_of_other_settings_and_failures_are_left_out():
    records, keys = made_up(VALUES)
    other = records[0]._replace(settings_hash="older", value=0.1)
    failed = records[1]._replace(error="ValueError: no", value=None)
    assert select_records([other, failed, records[0]], keys) == [records[0]]


def test_csv_has_a_row_for_every_situation_and_table_and_a_column_for_every_method():
    records = made_up(VALUES)[0]
    rows = list(csv.DictReader(io.StringIO(to_csv(records))))
    assert rows[0] | {"situation": "apart/5+1", "table": "a/0", "draws": "5", "oddshot": "0.9000"} == rows[0]
    assert [(row["situation"], row["table"]) for row in rows] == list(
        dict.fromkeys((record.situation, record.table) for record in records)
    )
    found = {(r["situation"], r["table"], m): auc for r in rows for m, auc in r.items() if auc and m not in (
        "situation", "table", "draws")}  # fmt: skip
    assert found == {(r.situation, r.table, r.method): f"{r.value:.4f}" for r in records}


def test_criteria_name_the_situations_that_miss_them():
    def situation(name, **aucs):
        (chosen,) = select_situations([name])
        return Comparison(chosen, {method.replace("_", " "): auc for method, auc in aucs.items()}, 1, 1)

    comparisons = [
        situation("apart/5+0", oddshot=0.80, kNN=0.78),
        situation("tiny/1+0", oddshot=0.70, kNN=0.71),
        situation("contamination/gaussian cluster 5+0/30%", oddshot=0.3, nearest_normal=0.9),
        situation("contamination/gaussian cluster 5+0/5%", oddshot=0.88, nearest_normal=0.9),
        situation("contamination/gaussian cluster 5+0/1%", oddshot=0.895, nearest_normal=0.9),
    ]
    assert criteria_lines(comparisons) == [
        "- apart, whole, tiny, growth: more than 0.005 below the best simple method: 1 (tiny/1+0)",
        "- mean difference of these 2 situations: +0.005 (at least +0.010 is wanted)",
        "- contamination, no anomaly labelled: more than 0.01 below the nearest normal row: 2 "
        "(contamination/gaussian cluster 5+0/30%; contamination/gaussian cluster 5+0/5%)",
        "- contamination: below 0.5 where a simple method is above 0.7: 1 (contamination/gaussian cluster 5+0/30%)",
    ]


def test_files_are_written(tmp_path):
    summary, written = write_report(*made_up(VALUES), tmp_path, "reporting")
    assert written == ["field.csv", "table.md", "field.png"]
    assert (tmp_path / "field.png").read_bytes().startswith(b"\x89PNG")
    assert "apart/5+1" in (tmp_path / "table.md").read_text()
    assert summary.startswith("| group |")


def test_the_command(tmp_path):
    options = ["bench", "field", "--only", "widths/2 columns", "--draws", "1", "--workers", "1", "--quiet"]
    options += ["--methods", "oddshot,nearest normal", "--cache-dir", str(tmp_path)]
    result = CliRunner().invoke(app, [*options, "--store", str(tmp_path / "f.db"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "| widths | 1 |" in result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"field.csv", "table.md", "field.png"}
