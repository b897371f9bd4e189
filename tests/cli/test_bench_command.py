import json

import pytest
from typer.testing import CliRunner

from oddshot.bench.export import read_runs
from oddshot.bench.store import open_store
from oddshot.cli.bench import bench_app
from oddshot.errors import FileError, InputError, OddshotError
from tests.bench.samples import record, restored_registries, write_plugin


def run(*arguments, code=0):
    result = CliRunner().invoke(bench_app, [str(argument) for argument in arguments])
    if isinstance(result.exception, OddshotError):  # what the main command prints as one line
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "results.db"
    with open_store(path) as opened:
        opened.add(
            record(dataset, method, split, auc=0.8 + 0.01 * split + 0.05 * (method == "eigen"))
            for dataset in ("glass", "wdbc", "pima")
            for method in ("eigen", "lr", "knn")
            for split in range(3)
        )
    return path


@pytest.fixture
def tiny(tmp_path):
    """Arguments of a bench that takes no time."""
    with restored_registries():
        yield ["--store", tmp_path / "mine.db", "--plugin", write_plugin(tmp_path), "--workers", 1, "--device", "cpu"]


def test_run_then_run_again(tiny, tmp_path):
    arguments = ["run", "--protocol", "resampled", "--datasets", "toy", "--methods", "quick,learner", "--splits", 2]
    result = run(*arguments, *tiny, "--epochs", 2, "--json", tmp_path / "run.json")
    assert result.stdout == f"4 of 4 runs are done, 0 failed: {tmp_path / 'mine.db'}\n"
    assert "toy split 1 learner: AUC" in result.stderr
    assert json.loads((tmp_path / "run.json").read_text()) == {"total": 4, "done": 4, "failed": 0, "failures": []}
    again = run(*arguments, *tiny, "--epochs", 2)
    assert again.stdout == result.stdout
    assert again.stderr == "4 of 4 done, 0 failed, 0 left\n"
    table = run("table", "--store", tmp_path / "mine.db", "--plugin", tmp_path / "mine.py", "--format", "csv")
    assert table.stdout.splitlines()[0] == "dataset,learner ‡,quick"
    assert table.stdout.splitlines()[1].startswith("Toy,")


def test_failed_runs_end_with_code_1_and_their_reason(tiny, tmp_path):
    arguments = ["run", "--protocol", "resampled", "--datasets", "toy", "--methods", "nan,quick", "--splits", 1, *tiny]
    result = run(*arguments, "--quiet", "--json", tmp_path / "run.json", code=1)
    assert "1 of 2 runs are done, 1 failed" in result.stdout
    assert result.stderr.startswith("failed: toy split 0 nan: FloatingPointError: the scores of 51 of 51")
    assert json.loads((tmp_path / "run.json").read_text())["failures"][0]["method"] == "nan"


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--protocol", "other"], "protocol 'other'"),
        (["--engine", "cluster"], "engine 'cluster'; there are local and ray"),
        (["--address", "here:1"], "--address is for --engine ray"),
        (["--datasets", "nothing"], "no dataset is called 'nothing'"),
        (["--device", "qpu"], "device 'qpu' cannot be used"),
        (["--set", "quick.colour=1"], "no setting 'colour'"),
    ],
)
def test_wrong_words_are_one_line(tiny, more, match):
    usual = ["--protocol", "resampled", "--datasets", "toy", "--methods", "quick"]
    with pytest.raises(InputError, match=match):
        run("run", *usual, *tiny, *more)


def test_datasets_that_are_not_here(tmp_path, monkeypatch):
    monkeypatch.setenv("ODDSHOT_DATA", str(tmp_path / "empty"))
    with pytest.raises(InputError, match="Glass is not here"):
        run("run", "--protocol", "published", "--store", tmp_path / "r.db", "--datasets", "glass", "--methods", "lr")


def test_tables(store, tmp_path):
    shown = run("table", "--store", store, "--compare", "paper", "--json", tmp_path / "t.json").stdout
    assert "Mean |difference|" in shown
    figures = json.loads((tmp_path / "t.json").read_text())
    assert figures["protocol"] == "published"
    assert figures["rows"]["Glass"]["Ours"] == {"value": pytest.approx(0.86), "best": True, "paper": 0.952}
    only = run("table", "--store", store, "--datasets", "glass,pima", "--methods", "lr", "--format", "csv").stdout
    assert [line.split(",")[0] for line in only.splitlines()] == ["dataset", "Glass", "Pima", "Average", "#Best"]
    for which, word in (("3", "Seconds"), ("ranks", "Friedman")):
        assert word in run("table", which, "--store", store).stdout
    for name, word in (("t.tex", r"\begin{tabular}"), ("t.html", "<table>"), ("t.csv", "dataset,"), ("t.txt", "┏")):
        assert run("table", "--store", store, "--out", tmp_path / name).stdout == f"written: {tmp_path / name}\n"
        assert word in (tmp_path / name).read_text()


def test_tables_mark_what_is_not_comparable(tmp_path):
    with open_store(tmp_path / "results.db") as opened:
        opened.add([record("glass", auc=0.9, data="own file", training__epochs=3), record("wdbc", training__epochs=3)])
    shown = run("table", "--store", tmp_path / "results.db", "--compare", "paper", "--json", tmp_path / "t.json").stdout
    assert "Ours ‡" in shown
    assert "Glass †" in shown
    assert "WDBC †" not in shown
    assert "‡ Other settings than the usual ones, training.epochs = 3: not comparable." in shown
    assert "† Other rows than those whose digest the catalogue has: not comparable." in shown
    figures = json.loads((tmp_path / "t.json").read_text())
    assert figures["not_comparable"] == {"rows": ["glass"], "settings": {"eigen": ["training.epochs = 3"]}}
    assert set(figures["rows"]) == {"Glass", "WDBC", "Average", "#Best", "Mean |difference|"}


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["4"], "table '4'; there are 1, 2, 3, relative, ranks"),
        (["--compare", "us"], "only the paper"),
        (["--format", "pdf"], "format 'pdf'"),
        (["--protocol", "resampled"], "no figures for this table"),
        (["--where", "x=1"], "no run has such a setting"),
    ],
)
def test_wrong_tables_are_one_line(store, more, match):
    with pytest.raises(InputError, match=match):
        run("table", "--store", store, *more)


def test_resampled_beside_the_paper_says_what_it_is(tmp_path):
    with open_store(tmp_path / "results.db") as opened:
        opened.add([record(protocol="resampled")])
    assert "only `published` compares" in run("table", "--store", tmp_path / "results.db", "--compare", "paper").stderr


def test_export_and_import(store, tmp_path):
    assert run("export", "--store", store, "--out", tmp_path / "runs.csv").stdout.startswith("27 runs")
    imported = run("import", tmp_path / "runs.csv", store, "--store", tmp_path / "new.db").stdout
    assert imported.startswith("27 new runs of 54")
    assert read_runs(tmp_path / "new.db") == read_runs(store)
    from_csv = run("table", "--store", tmp_path / "runs.csv").stdout
    assert from_csv == run("table", "--store", store).stdout


def test_export_of_some_runs_briefly(store, tmp_path):
    with open_store(store) as opened:
        opened.add([record(protocol="resampled", task_aucs="[1.0]")])
    some = ["--protocol", "published", "--datasets", "glass,wdbc", "--methods", "eigen,lr", "--brief"]
    assert run("export", "--store", store, "--out", tmp_path / "runs.csv", *some).stdout.startswith("12 runs")
    chosen = {(found.protocol, found.dataset, found.method) for found in read_runs(tmp_path / "runs.csv")}
    assert chosen == {("published", dataset, method) for dataset in ("glass", "wdbc") for method in ("eigen", "lr")}
    for which in ("1", "ranks"):
        table = ["table", which, "--protocol", "published", "--datasets", "glass,wdbc", "--methods", "eigen,lr"]
        assert run(*table, "--store", tmp_path / "runs.csv").stdout == run(*table, "--store", store).stdout
    with pytest.raises(InputError, match="has no such runs; nothing is written"):
        run("export", "--store", store, "--out", tmp_path / "runs.csv", "--protocol", "other")


def test_figures(store, tmp_path):
    result = run(
        "figures",
        "--store",
        store,
        "--out",
        tmp_path / "f",
        "--only",
        "ranks,tasks,spaces",
        "--json",
        tmp_path / "f.json",
    )
    assert result.stdout == f"drawn: {tmp_path / 'f' / 'ranks.png'}\n"
    assert "tasks: not drawn: no dataset has runs at two values and more; add --run" in result.stderr
    assert "spaces: not drawn: " in result.stderr
    assert json.loads((tmp_path / "f.json").read_text())["ranks"]["ranks"]["eigen"] == 1.0
    with pytest.raises(InputError, match="no figure could be drawn"):
        run("figures", "--store", store, "--out", tmp_path / "g", "--only", "normals")
    with pytest.raises(FileError, match=r"cannot make the folder .*: File exists"):
        run("figures", "--store", store, "--out", store)


def test_figures_run_what_is_missing(tiny, tmp_path):
    small = ["--set", "sizes.query_normal=5", "--set", "sizes.query_anomaly=2", "--epochs", 1, "--splits", 2, "--quiet"]
    where = ["--where", "sizes.query_normal=5", "--where", "sizes.query_anomaly=2"]
    arguments = ["--only", "normals", "--datasets", "toy", "--methods", "quick,learner", "--protocol", "resampled"]
    run("figures", *arguments, *tiny, *small, *where, "--out", tmp_path / "f", "--run")
    assert (tmp_path / "f" / "normals.png").exists()
    assert len(read_runs(tmp_path / "mine.db")) == 4 * 2 * 2


def test_figures_say_why_a_point_is_missing(tiny, tmp_path):
    small = ["--set", "sizes.query_normal=5", "--set", "sizes.query_anomaly=12", "--splits", 2, "--quiet"]
    where = ["--where", "sizes.query_normal=5", "--where", "sizes.query_anomaly=12"]
    arguments = ["--only", "anomalies", "--datasets", "toy", "--methods", "quick", "--protocol", "resampled"]
    result = run("figures", *arguments, *tiny, *small, *where, "--out", tmp_path / "f", "--run")
    assert result.stderr == (
        "failed: toy, 2 runs: InputError: toy: a task has 20 anomalous rows; an episode needs 22\n"
    )
    assert (tmp_path / "f" / "anomalies.png").exists()


def test_help_teaches():
    for command in ("run", "table", "figures"):
        assert "Examples:" in run(command, "--help").stdout


def test_tables_and_runs_are_printed_on_request(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("table", "--store", store, "--out", "table.csv")
    printed = run("table", "--store", store, "--format", "csv", "--out", "-")
    assert printed.stdout == (tmp_path / "table.csv").read_text()
    run("export", "--store", store, "--out", "runs.csv")
    printed = run("export", "--store", store, "--out", "-")
    assert printed.stdout == (tmp_path / "runs.csv").read_text()
    assert "27 runs" in printed.stderr
    printed = run("table", "--store", store, "--json", "-")
    assert json.loads(printed.stdout)["protocol"]
