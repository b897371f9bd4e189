"""What a person has said about a table: undo and redo, and how it is saved."""

import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from oddshot.app import edits as edits_module
from oddshot.app import saved_edits, views
from oddshot.app.edits import Edits
from oddshot.app.labels_file import labels_to_csv, parse_labels_file
from oddshot.app.sheet import encode_again, make_sheet
from oddshot.app.workspace import Workspace
from oddshot.errors import InputError
from oddshot.universal.shipped import load_universal
from tests.app.samples import DIGEST, arrow, as_csv, two_kinds

X = two_kinds(60)[0]


def opened(folder):
    """A workspace of its own, as of another process, with the same table."""
    work = Workspace(load_universal(), folder)
    sheet = make_sheet(arrow(X), "t", DIGEST, work.model)
    return work.open(DIGEST, lambda edits: encode_again(sheet, work.model, edits))


CHANGES = [
    {"labels": {3: 1}},
    {"labels": {3: 0, 4: 1}},
    {"notes": {3: "a leak"}},
    {"labels": {3: None}, "left_out": {"x4": True}},
    {"kinds": {"x1": "category"}},
    {"hidden": {"x2": True}, "pinned": {"x0": True}},
    {"settings": {"id_column": "x0"}},
    {"settings": {"threshold": {"value": 1.5, "rows": 4.0, "ranking": "a"}}},
]


def content(edits):
    return replace(edits, version=0, steps=(), undone=())


def test_every_change_is_undone_and_redone():
    states = [Edits()]
    for patch in CHANGES:
        states.append(states[-1].changed(patch))
    now = states[-1]
    for before in reversed(states[:-1]):
        now, _ = now.undo()
        assert content(now) == content(before)
    with pytest.raises(InputError, match="nothing to undo"):
        now.undo()
    for after in states[1:]:
        now, _ = now.redo()
        assert content(now) == content(after)
    with pytest.raises(InputError, match="nothing to redo"):
        now.redo()
    assert now.version == 3 * len(CHANGES)
    assert now.undo()[0].changed({"labels": {1: 1}}).undone == ()


def test_edits_are_the_same_after_json():
    now = Edits()
    for patch in CHANGES:
        now = now.changed(patch)
    now, _ = now.undo()
    assert Edits.from_json(now.to_json(), now.version) == now


def test_the_parts_of_one_movement_are_undone_together():
    now = Edits().changed({"settings": {"threshold": {"value": 1.0, "rows": 20.0, "ranking": "a"}}})
    for value in (2.0, 3.0):
        now = now.changed({"settings": {"threshold": {"value": value, "rows": 4.0, "ranking": "a"}}}, continues=True)
    assert now.settings["threshold"]["value"] == 3.0
    now, _ = now.undo()
    assert now.settings == {}
    now, _ = now.redo()
    assert now.settings["threshold"]["value"] == 3.0
    labelled = now.changed({"labels": {1: 1}}).changed({"settings": {"threshold": None}}, continues=True)
    assert labelled.undo()[0].labels == {1: 1}


def test_the_history_is_bounded(monkeypatch):
    monkeypatch.setattr(edits_module, "MAX_STEPS", 10)
    now = Edits()
    for row in range(30):
        now = now.changed({"labels": {row: 1}})
    assert len(now.steps) == 10
    monkeypatch.setattr(edits_module, "MAX_STEP_ENTRIES", 5)
    assert len(now.changed({"notes": {1: "x"}}).steps) == 5
    assert len(now.changed({"labels": dict.fromkeys(range(20))}).steps) == 1


def test_everything_is_there_again_after_a_restart(tmp_path):
    work = opened(tmp_path)
    for patch in CHANGES[:4]:
        work.change(patch)
    again = opened(tmp_path)
    assert again.current.edits == work.current.edits
    assert again.current.sheet.left_out == ("x4",)
    again.undo()
    again.undo()
    assert again.current.edits.notes == {}
    assert again.current.sheet.left_out == ()


def test_labels_of_earlier_versions_are_loaded(tmp_path):
    old = {"table": "t", "rows": 60, "left_out": ["x4"], "labels": {"4": "anomaly", "5": "normal"}}
    (tmp_path / f"{DIGEST}.json").write_text(json.dumps(old))
    work = opened(tmp_path)
    assert work.current.edits.labels == {3: 1, 4: 0}
    assert work.current.sheet.left_out == ("x4",)
    work.change({"labels": {3: None}})
    assert opened(tmp_path).current.edits.labels == {4: 0}
    (tmp_path / saved_edits.NAME).unlink()
    (tmp_path / f"{DIGEST}.json").write_text("{")
    assert opened(tmp_path).current.edits.labels == {}


def test_two_processes_do_not_overwrite_each_other(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    one.change({"labels": {1: 0}})
    other.change({"labels": {2: 1}, "left_out": {"x4": True}})
    one.change({"labels": {3: 0}})
    other.synchronise()
    assert one.current.edits == other.current.edits == opened(tmp_path).current.edits
    assert one.current.edits.labels == {1: 0, 2: 1, 3: 0}
    assert one.current.sheet.left_out == ("x4",)
    assert one.current.labels.rows.tolist() == [1, 2, 3]


def test_a_change_that_was_not_seen_is_not_undone(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    one.change({"labels": {1: 0}})
    seen = one.current.edits.version
    other.change({"labels": {2: 1}})
    with pytest.raises(InputError, match="changed in another window"):
        one.undo(seen)
    one.undo(one.current.edits.version)
    assert one.current.edits.labels == {1: 0}


def test_what_cannot_be_shown_is_not_kept(tmp_path):
    work = opened(tmp_path)
    with pytest.raises(InputError, match="every column is left out"):
        work.change({"left_out": dict.fromkeys([f"x{j}" for j in range(5)], True)})
    assert work.current.edits == Edits()
    assert opened(tmp_path).current.edits == Edits()


def test_with_a_full_disk_the_work_goes_on_and_is_saved_later(tmp_path, monkeypatch):
    work = opened(tmp_path)
    work.change({"labels": {1: 0}})
    connect = sqlite3.connect

    def full(*_, **__):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", full)
    for row in (2, 3):
        work.change({"labels": {row: 0}})
    assert len(work.current.labels) == 3
    state = views.state(work)
    assert state["unsaved"] is True
    assert "Changes are not saved yet" in state["notice"]
    assert "database or disk is full" in state["notice"]
    monkeypatch.setattr(sqlite3, "connect", connect)
    other = opened(tmp_path)
    assert other.current.edits.labels == {1: 0}
    other.change({"labels": {9: 1}})
    work.synchronise()
    assert views.state(work)["unsaved"] is False
    assert "not saved" not in views.state(work)["notice"]
    assert opened(tmp_path).current.edits.labels == {1: 0, 2: 0, 3: 0, 9: 1}


def test_with_a_limit_on_file_sizes_the_work_goes_on_and_is_saved_later(tmp_path):
    work = opened(tmp_path)
    work.change({"labels": {1: 0}})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (tmp_path / saved_edits.NAME).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        work.change({"notes": {2: "long " * 400}, "labels": dict.fromkeys(range(60), 0)})
        unsaved = views.state(work)["unsaved"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert unsaved
    assert opened(tmp_path).current.edits.labels == {1: 0}
    work.synchronise()
    assert opened(tmp_path).current.edits == work.current.edits


@pytest.mark.parametrize("damage", [b"no database at all" * 100, None])
def test_a_database_that_cannot_be_used_does_not_stop_the_work(tmp_path, damage):
    folder = tmp_path / "file"
    if damage is None:
        folder.write_text("")
    else:
        folder.mkdir()
        (folder / saved_edits.NAME).write_bytes(damage)
    work = opened(folder)
    work.change({"labels": {3: 1}})
    assert len(work.current.labels) == 1
    assert "Changes are not saved yet" in views.state(work)["notice"]
    if damage is not None:
        assert (folder / saved_edits.NAME).read_bytes() == damage


def keyed(n):
    """A table whose rows have names in a column that the detector does not use."""
    rows = two_kinds(80)[0][:n]
    return arrow(rows).append_column("serial", [[f"M-{7 * k % 80:03}" for k in range(n)]])


def open_keyed(folder, table, digest):
    work = Workspace(load_universal(), folder)
    sheet = make_sheet(table, "machines.csv", digest, work.model)
    return work.open(digest, lambda edits: encode_again(sheet, work.model, edits))


def test_a_column_that_names_the_rows_is_proposed(tmp_path):
    session = open_keyed(tmp_path, keyed(60), "a" * 64)
    assert views.state(session)["table"]["id_proposal"] == "serial"
    assert views.state(opened(tmp_path))["table"]["id_proposal"] is None
    session.change({"settings": {"id_column": "serial"}})
    (row,) = views.describe_rows(session.current, np.array([1]))
    assert row["name"] == "M-007"
    assert views.map_points(session.current)["names"][:2] == ["M-000", "M-007"]


def test_a_table_that_has_grown_keeps_labels_and_notes_by_name(tmp_path):
    session = open_keyed(tmp_path, keyed(60), "a" * 64)
    session.change({"settings": {"id_column": "serial"}})
    session.change({"labels": {1: 1, 2: 0, 59: 0}, "notes": {1: "a leak"}, "left_out": {"x4": True}})
    grown = keyed(70).take(np.arange(70)[::-1].copy())
    again = open_keyed(tmp_path, grown, "b" * 64)
    assert again.current.edits.labels == {68: 1, 67: 0, 10: 0}
    assert again.current.edits.notes == {68: "a leak"}
    assert again.current.sheet.left_out == ("x4",)
    assert "Taken over by serial: 3 labels and 1 note." in views.state(again)["notice"]
    again.undo()
    assert again.current.edits.labels == {}
    assert "Taken over" not in views.state(again)["notice"]
    other = grown.rename_columns(["y0", *grown.column_names[1:]])
    assert open_keyed(tmp_path, other, "c" * 64).current.edits == Edits()


def test_labels_are_exported_and_imported_by_name(tmp_path):
    session = open_keyed(tmp_path, keyed(60), "a" * 64)
    session.change({"settings": {"id_column": "serial"}, "labels": {1: 1, 2: 0}, "notes": {2: "=1+1"}})
    text = labels_to_csv(session.current)
    assert text == "row,serial,label,note\n2,M-007,anomaly,\n3,M-014,normal,'=1+1\n"
    loaded = parse_labels_file(b"serial,label\nM-014,anomaly\nM-999,normal\n", session.current)
    assert (loaded.labels, loaded.notes, loaded.n_unknown) == ({2: 1}, {}, 1)
    assert parse_labels_file(text.encode(), session.current).notes == {2: "=1+1"}
    with pytest.raises(InputError, match="no row of the table is named as in the column 'serial'"):
        parse_labels_file(b"serial,label\nM-999,normal\n", session.current)


def ask(address, path, body=None, method="POST"):
    request = urllib.request.Request(f"{address}/api/{path}", body, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@contextmanager
def killed_server(folder, *arguments):
    """The app as a user starts it, which is killed at the end."""
    variables = {**os.environ, "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
    command = [sys.executable, "-m", "oddshot", "app", *arguments, "--no-browser", "--port", "0"]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        yield re.search(r"http://\S+?(?=/? )", process.stdout.readline())[0]
        process.send_signal(signal.SIGKILL)


def test_the_command_opens_tables_with_labels_of_a_column(tmp_path):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]).assign(fault=two_kinds(60)[1])
    frame.to_csv(tmp_path / "machines.csv.gz", index=False)
    arguments = (str(tmp_path / "machines.csv.gz"), "--label", "fault")
    with killed_server(tmp_path, *arguments) as address:
        (table,) = ask(address, "tables", method="GET")["tables"]
        assert (table["name"], table["rows"], table["labelled"]) == ("machines.csv.gz", 60, 60)
        ask(address, f"tables/{table['id']}/label", b'{"row": 0, "label": null}')
    with killed_server(tmp_path, *arguments) as address:  # what was changed since stays
        state = ask(address, f"tables/{table['id']}/state", method="GET")
    assert len(state["labels"]["rows"]) == 59
    assert state["table"]["left_out"] == ["fault"]


def test_labels_survive_a_killed_server(tmp_path):
    for expected in ({}, {"0": 0, "1": 0, "2": 0}):
        with killed_server(tmp_path) as address:
            state = ask(address, "tables?name=t.csv", as_csv(X), "PUT")
            assert state["labels"]["rows"] == expected
            for row in range(3):
                ask(address, f"tables/{state['id']}/label", json.dumps({"row": row, "label": "normal"}).encode())
