"""Detectors in memory and on disk: limits, time to live, restarts, and a store that cannot be used."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

from oddshot import FewShotDetector
from oddshot.errors import CapacityError, FileError, ModelFileError
from oddshot.service import store as store_module
from oddshot.service.cache import DetectorCache, adapt
from oddshot.service.limits import ServiceLimits
from oddshot.service.rows import rows_from_json
from oddshot.service.store import DetectorStore, StoreError
from oddshot.service.support import make_support
from oddshot.universal.shipped import load_universal
from tests.fleets import labels, mixed, numbers, small_model
from tests.service.samples import NAMES, adapted, mixed_support, number_support, post_json, records, service, table
from tests.web.servers import running

NEW = numbers(7, 5)


def support(seed=1, n=12, limits=None):
    limits = limits or ServiceLimits()
    rows = rows_from_json(numbers(seed, n).tolist(), NAMES, limits, "rows")
    return make_support(rows, labels(n), None, limits)


def entry(detector_id, n_bytes=0):
    return SimpleNamespace(id=detector_id, last_used=0.0, n_bytes=n_bytes)


class TestCache:
    def test_the_least_recently_used_goes_first(self):
        cache = DetectorCache(ServiceLimits(max_cached_detectors=3))
        for name in "abc":
            cache.put(entry(name))
        cache.get("a")
        cache.put(entry("d"))
        assert [name for name in "abcd" if cache.get(name)] == ["a", "c", "d"]
        assert len(cache) == 3

    def test_time_to_live_counts_from_the_last_use(self):
        clock = [0.0]
        cache = DetectorCache(ServiceLimits(time_to_live_seconds=10), clock=lambda: clock[0])
        cache.put(entry("a"))
        cache.put(entry("b"))
        clock[0] = 9.0
        assert cache.get("a")
        clock[0] = 12.0
        assert cache.get("b") is None
        assert cache.get("a")
        clock[0] = 30.0
        cache.put(entry("c"))
        assert len(cache) == 1

    def test_bounded_in_bytes(self):
        cache = DetectorCache(ServiceLimits(max_cached_bytes=100))
        for name in "abc":
            cache.put(entry(name, 40))
        cache.put(entry("c", 40))
        assert [name for name in "abc" if cache.get(name)] == ["b", "c"]
        cache.put(entry("large", 1000))  # the one that is needed stays
        assert len(cache) == 1
        cache.put(entry("a", 40))
        assert [name for name in ("a", "large") if cache.get(name)] == ["a"]


class TestStore:
    def test_what_was_put_comes_back(self, tmp_path):
        first = DetectorStore(tmp_path / "s", ServiceLimits())
        one = support()
        name = one.detector_id("m")
        first.put(name, "m", one)
        second = DetectorStore(tmp_path / "s", ServiceLimits())  # two services may share it
        found = second.get(name, "m")
        assert found.table.equals(one.table)
        np.testing.assert_array_equal(found.labels, one.labels)
        assert second.get(name, "another model") is None
        assert second.get("x", "m") is None
        assert oct((tmp_path / "s").stat().st_mode)[-3:] == "600"

    def test_the_kinds_of_columns_come_back(self, tmp_path):
        limits = ServiceLimits()
        rows = rows_from_json(numbers(1, 12).tolist(), NAMES, limits, "rows")
        one = make_support(rows, labels(12), None, limits, {NAMES[0]: "ignore"})
        name = one.detector_id("m")
        assert name != support().detector_id("m")
        store = DetectorStore(tmp_path / "s", limits)
        store.put(name, "m", one)
        found = store.get(name, "m")
        assert found.columns == one.columns
        assert found.table.equals(one.table)

    def test_scores_are_the_same_bit_by_bit(self, tmp_path):
        limits, model = ServiceLimits(), load_universal()
        content = mixed_support()
        rows = rows_from_json(content["rows"], None, limits, "rows")
        one = make_support(rows, labels(20), None, limits)
        store = DetectorStore(tmp_path / "s", limits)
        store.put(one.detector_id("m"), "m", one)
        again = store.get(one.detector_id("m"), "m")
        new = rows_from_json(records(mixed(5)), None, limits, "rows").table()
        tasks = [adapt(model, part, "n").task for part in (one, again)]
        scores = [task.score_encoded(task.encode(new, "rows")) for task in tasks]
        np.testing.assert_array_equal(*scores)

    def test_only_the_unlabelled_rows_that_are_used_are_kept(self):
        y = np.where(np.arange(5000) < 6, labels(5000), -1).astype(np.int8)
        rows = rows_from_json(numbers(1, 5000).tolist(), NAMES, ServiceLimits(), "rows")
        assert len(make_support(rows, y, None, ServiceLimits()).labels) == 1006

    def test_bounded_in_number_and_time(self, tmp_path, monkeypatch):
        store = DetectorStore(tmp_path / "s", ServiceLimits(max_stored_detectors=3, time_to_live_seconds=100))
        supports = [support(seed) for seed in range(6)]
        now = [1000.0]
        monkeypatch.setattr("oddshot.service.store.time", SimpleNamespace(time=lambda: now[0]))
        for one in supports[:4]:
            now[0] += 1
            store.put(one.detector_id("m"), "m", one)
        assert len(store) == 3
        assert store.get(supports[0].detector_id("m"), "m") is None
        now[0] += 99
        store.mark_used(supports[3].detector_id("m"))
        now[0] += 50
        assert store.get(supports[2].detector_id("m"), "m") is None
        store.put(supports[4].detector_id("m"), "m", supports[4])
        assert len(store) == 2
        assert store.get(supports[3].detector_id("m"), "m") is not None

    def test_bounded_in_bytes(self, tmp_path):
        store = DetectorStore(tmp_path / "s", ServiceLimits(max_stored_bytes=300_000))
        for seed in range(60):
            one = support(seed, 400, ServiceLimits(max_labelled_rows=1000))
            store.put(one.detector_id("m"), "m", one)
        assert 5 < len(store) < 40
        assert store.get(one.detector_id("m"), "m") is not None
        assert (tmp_path / "s").stat().st_size < 500_000

    def test_an_altered_support_is_not_used(self, tmp_path):
        store, one = DetectorStore(tmp_path / "s", ServiceLimits()), support()
        store.put(one.detector_id("m"), "m", one)
        with sqlite3.connect(tmp_path / "s") as connection:
            connection.execute("UPDATE detectors SET rate = 0.5")
        assert store.get(one.detector_id("m"), "m") is None
        with sqlite3.connect(tmp_path / "s") as connection:
            connection.execute("UPDATE detectors SET rate = NULL, rows = x'00'")
        assert store.get(one.detector_id("m"), "m") is None

    def test_files_that_are_not_a_store(self, tmp_path):
        (tmp_path / "text").write_text("no database" * 100)
        with sqlite3.connect(tmp_path / "other") as connection:
            connection.execute("CREATE TABLE x (y)")
        with sqlite3.connect(tmp_path / "newer") as connection:
            connection.executescript(
                f"PRAGMA application_id = {0x0DD5E4E}; CREATE TABLE x (y); PRAGMA user_version = 9"
            )
        for name, reason, error in (
            ("text", "not a database", ModelFileError),
            ("other", "of another program", ModelFileError),
            ("newer", "has version 9", ModelFileError),
            ("no/folder", "no folder", FileError),
            (".", "Is a directory", FileError),
        ):
            with pytest.raises(error, match=reason) as caught:
                DetectorStore(tmp_path / name, ServiceLimits())
            assert "\n" not in str(caught.value)

    def test_a_full_disk(self, tmp_path, monkeypatch):
        monkeypatch.setattr(store_module, "_SCHEMA", f"PRAGMA max_page_count = 1; {store_module._SCHEMA}")
        with pytest.raises(CapacityError, match="database or disk is full"):
            DetectorStore(tmp_path / "s", ServiceLimits())

    def test_a_disk_that_fills_up(self, tmp_path):
        store = DetectorStore(tmp_path / "s", ServiceLimits())
        (n_pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {n_pages}")
        one = support(1, 400)
        with pytest.raises(StoreError, match=r"^database or disk is full$"):
            store.put(one.detector_id("m"), "m", one)

    def test_a_file_that_was_deleted_or_replaced(self, tmp_path):
        store, one = DetectorStore(tmp_path / "s", ServiceLimits()), support()
        (tmp_path / "s").unlink()
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.put(one.detector_id("m"), "m", one)
        DetectorStore(tmp_path / "s", ServiceLimits()).close()
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.put(one.detector_id("m"), "m", one)

    def test_a_lock_of_another_program(self, tmp_path):
        store, one = DetectorStore(tmp_path / "s", ServiceLimits()), support()
        store._connection.execute("PRAGMA busy_timeout = 10")
        other = sqlite3.connect(tmp_path / "s", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            store.put(one.detector_id("m"), "m", one)
        other.execute("ROLLBACK")
        store.put(one.detector_id("m"), "m", one)


def test_a_full_cache_is_refilled_from_the_store(tmp_path):
    limits = ServiceLimits(max_cached_detectors=2)
    with (
        running(service(limits=limits, store=DetectorStore(tmp_path / "s", limits))) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        ids = {adapted(client, {**number_support(), "rows": numbers(seed, 12).tolist()}): seed for seed in (1, 2, 3, 4)}
        for detector_id, seed in [*ids.items()] * 2:
            answer = post_json(client, "/v1/score", {"id": detector_id, "columns": NAMES, "rows": NEW.tolist()})
            detector = FewShotDetector(load_universal()).fit(table(numbers(seed, 12)), labels(12))
            expected = detector.score_samples(table(NEW))
            np.testing.assert_allclose(answer.json()["scores"], expected, rtol=1e-4, atol=1e-6)
        text = client.get("/metrics").text
    assert "oddshot_detectors 2" in text
    assert "oddshot_adaptations_total 4" in text
    assert "oddshot_restored_total 8" in text  # in turn, each of the four was dropped before it was used again


def test_without_a_store_a_dropped_detector_is_unknown():
    with (
        running(service(limits=ServiceLimits(max_cached_detectors=1))) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        first = adapted(client)
        adapted(client, {**number_support(), "rows": numbers(9, 12).tolist()})
        answer = post_json(client, "/v1/score", {"id": first, "columns": NAMES, "rows": [[0.1, 0.2, 0.3]]})
        assert answer.status_code == 404


def test_a_store_of_another_model_is_left_alone(tmp_path):
    limits = ServiceLimits()
    with (
        running(service(store=DetectorStore(tmp_path / "s", limits))) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        name = adapted(client)
    with (
        running(service(small_model(), store=DetectorStore(tmp_path / "s", limits))) as url,
        httpx.Client(base_url=url) as client,
    ):
        assert post_json(client, "/v1/score", {"id": name, "rows": [{"a": 1}]}).status_code == 404
    with (
        running(service(store=DetectorStore(tmp_path / "s", limits))) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        content = {"id": name, "columns": NAMES, "rows": [[0.1, 0.2, 0.3]]}
        assert post_json(client, "/v1/score", content).status_code == 200


def test_a_locked_store_is_a_503(tmp_path):
    store = DetectorStore(tmp_path / "s", ServiceLimits())
    store._connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(tmp_path / "s", isolation_level=None)
    with running(service(store=store)) as url, httpx.Client(base_url=url, timeout=30) as client:
        other.execute("BEGIN IMMEDIATE")
        answer = post_json(client, "/v1/adapt", number_support())
        assert answer.status_code == 503
        assert answer.json() == {"error": "the store cannot be used now: database is locked"}
        assert answer.headers["retry-after"] == "5"
        other.execute("ROLLBACK")
        assert post_json(client, "/v1/adapt", number_support()).status_code == 200


def start(tmp_path, port):
    command = [sys.executable, "-m", "oddshot", "serve", "--port", str(port), "--store", str(tmp_path / "s.sqlite")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    threading.Thread(target=process.stderr.read, daemon=True).start()
    line = process.stdout.readline()
    assert line.startswith("listening on http://127.0.0.1:"), line
    return process, line.split()[-1]


def test_a_restart_under_load_loses_no_detector(tmp_path):
    process, url = start(tmp_path, 0)
    known: list[str] = []
    scores: dict[str, list[float]] = {}
    stop, wrong, scored = threading.Event(), [], [0]

    def adapt_and_score(seed):
        client = httpx.Client(base_url=url, timeout=10)
        while not stop.is_set():
            seed += 10
            try:
                answer = post_json(client, "/v1/adapt", {**number_support(), "rows": numbers(seed, 12).tolist()})
                if answer.status_code == 200:
                    known.append(answer.json()["id"])
                for name in known[-5:]:
                    content = {"id": name, "columns": NAMES, "rows": [[0.1, 0.2, 0.3]]}
                    answer = post_json(client, "/v1/score", content)
                    scored[0] += 1
                    if answer.status_code == 200:
                        scores.setdefault(name, answer.json()["scores"])
                    else:
                        wrong.append(answer.text)
                time.sleep(0.1)
            except httpx.TransportError:  # the service is away
                time.sleep(0.05)

    clients = [threading.Thread(target=adapt_and_score, args=(seed,)) for seed in range(3)]
    try:
        for client in clients:
            client.start()
        while len(known) < 20:
            time.sleep(0.05)
        process.kill()
        process.wait()
        before, at_restart = scored[0], len(known)
        process, _ = start(tmp_path, int(url.rsplit(":", 1)[1]))
        while scored[0] < before + 30 and not wrong:
            time.sleep(0.05)
        stop.set()
        for client in clients:
            client.join()
        assert not wrong
        assert at_restart >= 20
        with httpx.Client(base_url=url, timeout=30) as client:
            for name in known:  # every id that was ever given still answers, with the scores that it had before
                content = {"id": name, "columns": NAMES, "rows": [[0.1, 0.2, 0.3]]}
                answer = post_json(client, "/v1/score", content)
                assert answer.status_code == 200
                assert answer.json()["scores"] == pytest.approx(scores.get(name, answer.json()["scores"]), rel=1e-4)
        assert len(scores) >= 20
    finally:
        stop.set()
        process.kill()


def test_the_log_of_a_run_holds_no_data(tmp_path):
    command = [sys.executable, "-m", "oddshot", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = process.stdout.readline().split()[-1]
    secret = "patient-4711"
    with httpx.Client(base_url=url, timeout=30) as client:
        name = adapted(client, {"rows": [{secret: 1.0}, {secret: 2.0}, {secret: 9.0}], "labels": [0, 0, 1]})
        post_json(client, "/v1/score", {"id": name, "rows": [{secret: secret}]})
        post_json(client, "/v1/score", {"id": secret, "rows": [{secret: 1e308}]})
        post_json(client, "/v1/adapt", {"rows": [{secret: 1.0, "x": secret}] * 3, "labels": [0, 0, 1]})
        client.get(f"/{secret}?{secret}={secret}")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert secret not in out + err
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["request"] * 5


def test_damaged_names_in_the_schema_are_one_line(tmp_path):
    path = tmp_path / "store.db"
    store = DetectorStore(path, ServiceLimits())
    store.put("a", "model", support())
    store.close()
    whole = path.read_bytes()
    start = whole.index(b"CREATE TABLE detectors")
    refusals = []
    for place in range(start, start + 60):
        path.write_bytes(whole[:place] + b"\x9a" + whole[place + 1 :])
        try:
            DetectorStore(path, ServiceLimits()).close()
        except (ModelFileError, FileError) as error:
            refusals.append(str(error))
    assert any("decode" in line for line in refusals)
    assert all(len(line.splitlines()) == 1 for line in refusals)


@pytest.mark.parametrize(("column", "value"), [("labels", "3"), ("rows", "3"), ("rate", "'high'")])
def test_a_stored_support_of_wrong_types_is_not_there(tmp_path, column, value):
    path = tmp_path / "store.db"
    store = DetectorStore(path, ServiceLimits())
    detector_id = support().detector_id("model")
    store.put(detector_id, "model", support())
    assert store.get(detector_id, "model") is not None
    store._connection.execute(f"UPDATE detectors SET {column} = {value}")
    assert store.get(detector_id, "model") is None
    store.close()
