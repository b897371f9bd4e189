"""Means, criteria, tables and comparisons of made-up numbers."""

import io

import numpy as np
import pandas as pd
import pytest

from oddshot.bench.decisions.comparison import comparison_lines
from oddshot.bench.decisions.criteria import criteria_lines
from oddshot.bench.decisions.grid import RATES, DecisionCell, all_cells
from oddshot.bench.decisions.measure import N_VALUES, MeasuredDraw
from oddshot.bench.decisions.report import copies_table, flagged_table, quality_table, write_report
from oddshot.bench.decisions.results import GRID_COLUMNS, read_grid, read_raw, summarise, to_csv, to_frame, write_raw
from oddshot.errors import FileError, InputError
from tests.bench.decisions.samples import made_up_summary

CELL = DecisionCell(5, 1, 0, 0, "as-is")
USUAL = [(5, 1, 0, 0, "as-is"), (20, 4, 80, 10, "as-is"), (100, 0, 400, 10, "twice")]


def measured(table, draw, flagged, *, p=0.1, y=0.1):
    """Every share is `flagged`, found is twice as much; the first bin has these sums."""
    values = np.zeros((1, N_VALUES), np.float32)
    values[0, :4], values[0, 4:8], values[0, 8] = flagged, 2 * flagged, 0.9
    values[0, 9], values[0, 19], values[0, 29] = 1, p, y
    return MeasuredDraw(table, table.split("/")[0], draw, values)


def test_draws_tables_and_sources_have_equal_weight():
    frame = to_frame(
        [
            *(measured("a/0", 0, 0.1), measured("a/0", 1, 0.3), measured("a/1", 0, 0.4)),
            measured("b/0", 0, 0.0),
        ],
        [CELL],
    )
    summary = summarise(frame)
    assert list(summary.columns) == GRID_COLUMNS
    assert summary["rate"].tolist() == list(RATES)
    first = summary.iloc[0]
    assert (first["tables"], first["auc"]) == (3, pytest.approx(0.9))
    assert [first["flagged"], first["found"], first["worst"]] == pytest.approx([0.15, 0.3, 0.4])


def test_calibration_error_is_of_all_tables_together():
    """What one table has too much, another may have too little: a mean over tables holds."""
    frame = to_frame([measured("a/0", 0, 0.1, p=0.1, y=0.3), measured("b/0", 0, 0.1, p=0.4, y=0.1)], [CELL])
    assert summarise(frame)["calibration_error"].iloc[0] == pytest.approx(0.05)


def test_criteria_name_the_cells_that_miss_them():
    def flagged(cell, rate):
        return {5: 0.1, 20: 0.02, 2: 0.11}.get(cell[0], rate) if rate == 0.05 else rate * (3 if cell[0] == 300 else 1)

    def worst(cell, rate):
        return 0.3 if cell[0] == 20 else 0.1

    cells = [*USUAL, (2, 0, 0, 0, "as-is"), (3, 0, 10, 0, "near"), (300, 0, 0, 0, "as-is")]
    summary = made_up_summary(cells, flagged=flagged, worst=worst, calibration_error=lambda cell, _: cell[0] / 1000)
    assert criteria_lines(summary) == [
        "- at 5 %, 5 and more normal rows: mean share outside of 2.5 to 7.5 %: 2 of 4 cells "
        "(worst: 5+1: 10.0%; 20+4, 80 unlabelled (10 %): 2.0%)",
        "- at 5 %, 2 or 3 normal rows: mean share above 10 %: 1 of 2 cells (worst: 2+0: 11.0%)",
        "- at 5 %, 50 and more normal and unlabelled rows: a table above 20 %: 1 of 3 cells "
        "(worst: 20+4, 80 unlabelled (10 %): 30.0%)",
        "- at 10 %, 5 and more normal rows: mean share outside of 5 to 15 %: 1 of 4 cells (worst: 300+0: 30.0%)",
        "- at 20 %, 5 and more normal rows: mean share outside of 10 to 30 %: 1 of 4 cells (worst: 300+0: 60.0%)",
        "- at 1 %, 100 and more normal and unlabelled rows: mean share outside of 0.5 to 2 %: 1 of 3 cells "
        "(worst: 300+0: 3.0%)",
        "- 20 and more normal and unlabelled rows: calibration error above 0.08: 2 of 3 cells "
        "(worst: 300+0: 0.300; 100+0, 400 unlabelled (10 %), twice: 0.100)",
    ]


def test_only_the_worst_cells_are_named():
    cells = [(5, anomalies, 0, 0, "as-is") for anomalies in range(30)]
    line = criteria_lines(made_up_summary(cells, flagged=lambda cell, _: cell[1] / 29))[0]
    assert "(worst: 5+29: 100.0%; 5+28: 96.6%; " in line
    assert line.count(";") == 9


def test_comparison_counts_cells_that_held_and_find_less_now():
    held = made_up_summary(USUAL, flagged=lambda cell, rate: 0.2 if cell[0] == 100 else 0.05)
    now = made_up_summary(USUAL, found=lambda cell, _: 0.47 if cell[0] > 5 else 0.49, auc=0.81)
    assert comparison_lines(now, held) == [
        "- cells whose mean share at 5 % was within 2.5 to 7.5 % in the earlier grid: anomalies found fell by over 2 "
        "%: 1 of 2 cells (worst: 20+4, 80 unlabelled (10 %): -3.0%)",
        "- beside the earlier grid: mean difference of the anomalies found there -0.020, of the AUC over all 3 cells "
        "+0.0100",
    ]
    assert comparison_lines(now, made_up_summary([(2, 0, 0, 0, "near")])) == [
        "- the earlier grid has none of these cells"
    ]


def test_tables():
    summary = made_up_summary([*USUAL, (20, 4, 80, 0, "as-is"), (5, 2, 0, 0, "as-is")], worst=0.123)
    assert flagged_table(summary).splitlines() == [
        "| labelled anomalies, unlabelled rows | 5 normal | 20 |",
        "| --- | --- | --- |",
        "| 1, 0 | 5 / 12 |  |",
        "| 2, 0 | 5 / 12 |  |",
        "| 4, 80 |  | 5 / 12 |",
    ]
    assert "| every row twice, 20% |  |  | 20 / 20 |" in copies_table(summary)
    assert "near" not in copies_table(summary)
    assert "| anomalies found, as is | 0.500 | 0.500 |  |" in quality_table(summary)


def test_files_are_written(tmp_path):
    cells = all_cells()[::50]
    draws = [MeasuredDraw("a/0", "a", 0, np.full((len(cells), N_VALUES), 0.05, np.float32))]
    text, written = write_report(to_frame(draws, cells), tmp_path, "tables for reporting", made_up_summary(USUAL))
    assert written == ["grid.csv", "table.md", "grid.png"]
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")
    assert text in (tmp_path / "table.md").read_text()
    assert "48 cells, 1 tables of 1 sources, 1 draws" in (tmp_path / "table.md").read_text()


def test_raw_results_and_grids_are_read_again(tmp_path):
    frame = to_frame([measured("a/0", 0, 0.123456), measured("b/0", 0, 0.1)], [CELL])
    write_raw(tmp_path / "raw.csv.gz", frame)
    again = read_raw(tmp_path / "raw.csv.gz")
    pd.testing.assert_frame_equal(again, frame, check_dtype=False, rtol=1e-4)
    text = to_csv(summarise(frame))
    (tmp_path / "grid.csv").write_text(text)
    pd.testing.assert_frame_equal(read_grid(tmp_path / "grid.csv"), pd.read_csv(io.StringIO(text)))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        read_grid(tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column 'anomalies'"):
        read_grid(tmp_path / "other.csv")
    with pytest.raises((InputError, FileError), match=r"other\.csv"):
        read_raw(tmp_path / "other.csv")


def test_the_whole_grid_is_a_small_file():
    cells = all_cells()
    draws = [MeasuredDraw("a/0", "a", 0, np.random.default_rng(0).random((len(cells), N_VALUES)).astype(np.float32))]
    text = to_csv(summarise(to_frame(draws, cells)))
    assert text.count("\n") == 1 + 4 * 2376
    assert len(text) < 1 << 20
