import dataclasses
import os
import sqlite3
import stat
from functools import partial

import numpy as np
import pytest

from oddshot.bench.export import read_runs, write_runs
from oddshot.bench.paper import METHOD_TITLES, OUTLIER_DATASETS
from oddshot.bench.render import render
from oddshot.bench.selection import select
from oddshot.bench.store import VERSION, open_store, read_store
from oddshot.bench.tables import ranks_table, table1, table2, table3
from oddshot.errors import CapacityError, FileError, InputError
from tests.bench.samples import record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def filled(path, *records):
    with open_store(path) as store:
        store.add(records)
    return path


def test_what_goes_in_comes_out(path):
    records = [record(split=0, auc=1 / 3), record(split=1, status="failed", reason="so")]
    assert read_store(filled(path, *records)) == records


def test_sqlite_settings(path):
    with open_store(path) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert store._connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_a_finished_run_is_never_replaced(path):
    filled(path, record(auc=0.9))
    filled(path, record(auc=0.1), record(status="failed"))
    assert [found.auc_strict for found in read_store(path)] == [0.9]


def test_a_failed_run_is_replaced(path):
    filled(path, record(status="failed", reason="first"))
    filled(path, record(status="failed", reason="second"))
    assert [found.reason for found in read_store(path)] == ["second"]
    filled(path, record(auc=0.7))
    assert [(found.status, found.auc_strict, found.reason) for found in read_store(path)] == [("done", 0.7, "")]


@pytest.mark.parametrize(
    "change",
    [{"split": 1}, {"dataset": "wdbc"}, {"method": "svdd"}, {"protocol": "resampled"}, {"training__epochs": 5},
     {"method__units": 2}, {"sizes__support_normal": 3}, {"n_training": 50}, {"seed": 1}, {"data": "other"},
     {"protocol_version": 2}],
)  # fmt: skip
def test_a_run_that_differs_is_another_run(path, change):
    filled(path, record(), record(**change))
    assert len(read_store(path)) == 2


def test_all_records_of_a_job_or_none(path):
    broken = dataclasses.replace(record(split=1), status="neither")
    with pytest.raises(InputError), open_store(path) as store:
        store.add([record(split=0), broken])
    assert read_store(path) == []


def test_readers_while_a_bench_writes(path):
    with open_store(path) as store:
        store.add([record()])
        assert len(read_store(path)) == 1
        store.add([record(split=1)])
        assert len(read_store(path)) == 2


def test_a_second_bench_is_one_line(path):
    with open_store(path) as store:
        with pytest.raises(FileError, match=rf"in use by another bench \(process {os.getpid()} on "), open_store(path):
            pass
        store.add([record()])
    assert len(read_store(filled(path, record(split=1)))) == 2
    assert not path.with_name("results.db.lock").exists()


@pytest.mark.parametrize("place", [0, 30, 4096, "first row", "last row"])
def test_a_damaged_store_is_one_line_and_left_alone(path, place):
    filled(path, *(record(split=split) for split in range(40)))
    content = bytearray(path.read_bytes())
    place = {"first row": content.find(b"glass"), "last row": content.rfind(b"glass")}.get(place, place)
    content[place : place + 500] = os.urandom(500)
    path.write_bytes(content)
    for use in (open_and_close, read_store):
        with pytest.raises(InputError, match=r"results.db is (damaged|an SQLite file|locked)|has version") as caught:
            use(path)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == bytes(content)


def test_a_flipped_bit_is_noticed(path):
    filled(path, record(auc=0.25))
    content = path.read_bytes()
    for old, new in ((b"glass", b"grass"), (b"done", b"dope")):
        path.write_bytes(content.replace(old, new))
        with pytest.raises(InputError, match=r"results.db is damaged"):
            read_store(path)
    path.write_bytes(content)
    assert len(read_store(path)) == 1


def open_and_close(path):
    with open_store(path):
        pass


def test_text_is_not_a_store(path):
    path.write_text("not a store at all, but long enough to have a header" * 10)
    with pytest.raises(InputError, match=r"results.db is damaged"):
        open_and_close(path)


def test_a_newer_store_is_one_line(path):
    filled(path, record())
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    for use in (open_and_close, read_store):
        with pytest.raises(InputError, match=f"has version {VERSION + 1}, this oddshot knows versions up to {VERSION}"):
            use(path)


def test_another_programs_file_is_one_line(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (x)")
    connection.close()
    with pytest.raises(InputError, match="SQLite file of another program"):
        open_and_close(path)


def test_locked_by_another_program_is_one_line(path, monkeypatch):
    filled(path, record())
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0.01}))
    other = connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(FileError, match="locked by another program"), open_store(path) as store:
        store.add([record(split=1)])
    other.execute("ROLLBACK")
    other.close()
    assert len(read_store(path)) == 1


def test_a_full_disk_is_one_line_and_keeps_what_was_added(path):
    filled(path, record())
    with open_store(path) as store:
        (n_pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {n_pages}")  # SQLite reports its limit as a full disk
        with pytest.raises(CapacityError, match=r"results.db cannot be used: .* full; the runs in it are kept"):
            store.add([record(split=split) for split in range(1, 200)])
    assert read_store(path) == [record()]


def test_a_folder_in_the_place_of_a_store(tmp_path):
    (tmp_path / "results.db").mkdir()
    with pytest.raises(FileError, match=r"store .*results.db cannot be used: unable to open"):
        open_and_close(tmp_path / "results.db")


def test_a_csv_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"none.csv: cannot be read \(.*No such file or directory"):
        read_runs(tmp_path / "none.csv")


def test_no_store_and_no_folder(tmp_path):
    with pytest.raises(FileError, match=r"no store .*none.db; `oddshot bench run"):
        read_store(tmp_path / "none.db")
    with pytest.raises(FileError, match="no folder"):
        open_and_close(tmp_path / "missing" / "results.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_in_a_folder_that_cannot_be_written_to_is_read(path):
    filled(path, record())
    path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert len(read_store(path)) == 1
        with pytest.raises(FileError, match="cannot write store"):
            open_and_close(path)
    finally:
        path.parent.chmod(stat.S_IRWXU)


def test_export_and_back_without_loss(path, tmp_path):
    records = [
        record(split=0, auc=0.1 + 0.2, task_aucs='{"strict": [0.5, 1.0]}'),
        record(split=1, status="failed", reason='odd "reason", with commas'),
        record(method="lr", split=0),
    ]
    filled(path, *records)
    exported = tmp_path / "runs.csv"
    write_runs(exported, read_store(path))
    assert sorted(read_runs(exported), key=str) == sorted(records, key=str)
    again = filled(tmp_path / "again.db", *read_runs(exported))
    assert read_store(again) == read_store(path)


def full_grid():
    """As many runs as a protocol has, a few of them failed, with random AUCs of 50 tasks and 125 pairs."""
    rng = np.random.default_rng(0)
    usual = {"code_version": "0.1.0+0123abc", "device": "NVIDIA H200", "finished_at": "2026-01-01T00:00:00+00:00"}
    for dataset in (*OUTLIER_DATASETS, "landmine", "nbaiot", "doorbell1"):
        for method in METHOD_TITLES:
            for split in range(10):
                aucs = np.round(rng.normal(0.8, 0.05, 50).clip(0, 1) * 125) / 125
                figures = {
                    "task_aucs": str({"strict": aucs.tolist(), "half": aucs.tolist()}),
                    "train_seconds": rng.exponential(60),
                    "adapt_seconds": rng.exponential(1e-3),
                }
                failed = {"status": "failed", "reason": "so"}
                more = failed if rng.random() < 0.01 else usual | figures
                made = record(dataset, method, split, float(aucs.mean()), **more)
                yield dataclasses.replace(made, seed=int(rng.integers(2**62)))


def test_a_brief_export_is_small_and_gives_the_same_tables(path, tmp_path):
    filled(path, *full_grid())
    records = read_store(path)
    assert len(records) == 4000
    brief, full = tmp_path / "brief.csv", tmp_path / "full.csv"
    write_runs(brief, records, brief=True)
    write_runs(full, records)
    assert brief.stat().st_size < 2**20 < full.stat().st_size
    read = read_store(filled(tmp_path / "again.db", *read_runs(brief)))
    assert [(run.key, run.config, run.epochs, run.seed) for run in read] == [
        (run.key, run.config, run.epochs, run.seed) for run in records
    ]
    assert {run.task_aucs for run in read} == {""}
    before, after = select(records, "published"), select(read, "published")
    for make in (partial(table1, auc="strict", compare=True), partial(table2, auc="half"), table3):
        for form in ("text", "csv", "html"):
            assert render(make(after), form) == render(make(before), form)
    assert render(ranks_table(after, "strict"), "text") == render(ranks_table(before, "strict"), "text")


def test_a_brief_export_is_read_in_any_order_but_not_without_a_configuration(tmp_path):
    exported = tmp_path / "runs.csv"
    records = [record(split=split) for split in range(3)]
    write_runs(exported, records, brief=True)
    head, first, *others = exported.read_text().splitlines()
    exported.write_text("\n".join([head, *others, first]))
    assert sorted(run.split for run in read_runs(exported)) == [0, 1, 2]
    assert {run.config for run in read_runs(exported)} == {records[0].config}
    exported.write_text("\n".join([head, *others]))
    with pytest.raises(InputError, match=r"runs.csv, line 2: no line has the configuration of '[0-9a-f]{16}'"):
        read_runs(exported)


@pytest.mark.parametrize(
    ("text", "match"),
    [("a,b\n1,2\n", "not a file of exported runs"), ("", "not a file of exported runs"), ("LINE,x\n", "line 2: ")],
)
def test_a_wrong_csv_is_one_line(tmp_path, text, match):
    exported = tmp_path / "runs.csv"
    write_runs(exported, [])
    exported.write_text(text.replace("LINE", exported.read_text() + "x"))
    with pytest.raises(InputError, match=match):
        read_runs(exported)


def test_a_number_that_is_none(tmp_path):
    exported = tmp_path / "runs.csv"
    write_runs(exported, [record(auc=0.25)])
    exported.write_text(exported.read_text().replace("0.25,", "much,"))
    with pytest.raises(InputError, match="line 2, column auc_strict: 'much' is not a number"):
        read_runs(exported)


def test_damaged_names_in_the_schema_are_one_line(path):
    whole = filled(path, record()).read_bytes()
    start = whole.index(b"CREATE TABLE runs")
    refusals = []
    for place in range(start, start + 60):
        path.write_bytes(whole[:place] + b"\x9a" + whole[place + 1 :])
        try:
            read_store(path)
        except (InputError, FileError) as error:
            refusals.append(str(error))
    assert any("a name in it is not text" in line for line in refusals)
    assert all(len(line.splitlines()) == 1 for line in refusals)
