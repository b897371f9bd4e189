"""The app in a real browser: Chromium of the system, driven by playwright."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from tests.app.conftest import CHROMIUM
from tests.app.samples import as_csv, two_kinds

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")
ARGUMENTS = ["--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in QUIET)]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app as a user starts it, with labels saved in a temporary folder."""
    home = tmp_path_factory.mktemp("home")
    variables = {**os.environ, "XDG_STATE_HOME": str(home), "HOME": str(home)}
    command = [sys.executable, "-m", "oddshot", "app", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
    yield re.search(r"http://\S+", process.stdout.readline())[0]
    process.terminate()
    assert process.wait(30) == 0


@pytest.fixture
def open_page(chromium, address):
    """Opens pages; none of them may have errors, warnings, dialogs or requests to other hosts."""
    complaints, contexts = [], []

    def make(**settings):
        contexts.append(chromium.new_context(**{"viewport": {"width": 1440, "height": 900}, **settings}))
        page = contexts[-1].new_page()
        watch(page)
        page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith((address, "blob:")) or complaints.append(request.url))
        page.goto(address)
        page.wait_for_selector("#start:visible, #work:visible")
        page.wait_for_load_state("networkidle")  # no request for a row of the table of another test is under way
        return page

    make.complaints = complaints
    yield make
    for context in contexts:
        context.close()
    assert complaints == []


def upload(page, data, name="machines.csv"):
    if page.is_visible("#new-table"):
        page.click("#new-table")
    page.set_input_files("#table-file", {"name": name, "mimeType": "text/csv", "buffer": data})
    page.wait_for_function("name => document.title.startsWith(name)", arg=name)
    page.wait_for_selector("#grid tbody tr[data-row]")
    settle(page)


def settle(page, quiet=0.25):
    """Wait until no request is pending and none was sent for a moment."""
    page.wait_for_timeout(50)
    while page.pending or time.monotonic() - page.last < quiet:
        page.wait_for_timeout(20)


def watch(page):
    """Keep track of the pending requests."""
    page.pending, page.last = set(), time.monotonic()

    def begin(request):
        page.pending.add(request)
        page.last = time.monotonic()

    def end(request):
        page.pending.discard(request)
        page.last = time.monotonic()

    page.on("request", begin)
    page.on("requestfinished", end)
    page.on("requestfailed", end)


def selected(page):
    return int(re.sub(r"\D", "", page.inner_text("#row-title"))) - 1


def press(page, key):
    """Press a key that changes a label, and wait until the page shows the new ranking."""
    with page.expect_response(lambda response: re.search("/api/(label|undo)", response.url)):
        page.keyboard.press(key)
    settle(page)


def exported(page, name):
    page.click("#export-menu summary" if "labels" not in name else "#labels-menu summary")
    with page.expect_download() as download:
        page.click(f"[data-export='{name}']")
    return Path(download.value.path())


def auc(page, y):
    scores = pd.read_csv(exported(page, "scores.csv"))
    unknown = scores["label"].isna()
    return roc_auc_score(y[unknown], scores["score"][unknown])


def test_from_upload_over_six_labels_to_export_and_reload(open_page):
    page = open_page(accept_downloads=True)
    X, y = two_kinds()
    upload(page, as_csv(X))
    assert "300 rows" in page.inner_text("#table-facts")
    assert "5 numbers; no missing values" in page.inner_text("#columns-facts")
    before = auc(page, y)
    for _ in range(6):  # the page proposes, the person answers
        row = selected(page)
        assert page.is_visible("#row-badge")
        press(page, "a" if y[row] else "n")
        page.wait_for_function("row => document.getElementById('row-title').textContent !== row", arg=f"Row {row + 1}")
    after = auc(page, y)
    assert after > before + 0.3
    shown = page.eval_on_selector_all("#grid tbody tr", "lines => lines.slice(0, 10).map((line) => +line.dataset.row)")
    assert y[shown].mean() > 2 * y.mean()

    facts = page.inner_text("#threshold-facts")
    page.focus("#threshold")
    with page.expect_response("**/api/threshold"):
        page.keyboard.press("Home")
    page.wait_for_function("facts => document.getElementById('threshold-facts').innerText !== facts", arg=facts)
    box = page.locator("#histogram").bounding_box()
    with page.expect_response("**/api/threshold"):
        page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    settle(page)
    above = int(page.inner_text("#threshold-facts strong >> nth=0"))
    assert 0 < above < 100
    assert pd.read_csv(exported(page, "scores.csv"))["anomaly"].sum() == above
    assert len(pd.read_parquet(exported(page, "scores.parquet"))) == 300
    assert exported(page, "detector.safetensors").stat().st_size > 10_000
    assert "<svg" in exported(page, "report.html").read_text()

    facts = page.inner_text("#table-facts")
    assert re.search(r"[1-6] normal, [0-6] anomal", facts)
    page.reload()
    page.wait_for_selector("#grid tbody tr[data-row]")
    assert page.inner_text("#table-facts") == facts
    settle(page)


def test_keys(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(seed=1)[0]), "keys.csv")
    page.focus("#grid")
    page.keyboard.press("ArrowDown")
    settle(page)
    first = selected(page)
    page.keyboard.press("ArrowDown")
    settle(page)
    second = selected(page)
    assert first != second
    press(page, "n")
    press(page, "a")
    assert page.inner_text("#row-label") == "anomaly"
    press(page, "Control+z")
    assert page.inner_text("#row-label") == "normal"
    press(page, "u")
    assert page.inner_text("#row-label") == "none"
    press(page, "Control+z")
    press(page, "Control+z")
    assert page.inner_text("#row-label") == "none"
    page.keyboard.press("s")
    page.wait_for_selector("#row-badge:visible")
    page.keyboard.press("ArrowUp")
    settle(page)


def test_the_mouse_labels_rows_and_finds_them_on_the_map(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(seed=2)[0]), "mouse.csv")
    with page.expect_response("**/api/label"):
        page.click("#grid tbody tr >> nth=2 >> [data-label=anomaly]")
    settle(page)
    assert page.inner_text("#row-label") == "anomaly"
    box = page.locator("#map").bounding_box()
    before = selected(page)
    for share in np.linspace(0.1, 0.9, 17):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + share * box["height"])
    settle(page)
    assert selected(page) != before
    page.click(".switch >> text=Labelled")
    page.wait_for_function("() => document.querySelectorAll('#grid tbody tr').length === 1")


def test_labels_are_saved_and_loaded(open_page):
    page = open_page(accept_downloads=True)
    upload(page, as_csv(two_kinds(seed=3)[0]), "saved.csv")
    press(page, "n")
    file = exported(page, "labels.json")
    press(page, "Control+z")
    assert "0 normal" in page.inner_text("#table-facts")
    page.set_input_files("#labels-file", {"name": "l.json", "mimeType": "", "buffer": file.read_bytes()})
    page.wait_for_function("() => document.getElementById('table-facts').textContent.includes('1 normal')")
    settle(page)


def test_html_in_names_and_cells_is_not_run(open_page):
    page = open_page()
    frame = pd.DataFrame({HOSTILE: np.arange(8.0), "text": [HOSTILE, *"abcdefg"], "b": np.arange(8.0)[::-1]})
    upload(page, frame.to_csv(index=False).encode(), f"{HOSTILE}.csv".replace("/", ""))
    for key in "naa":
        press(page, key)
    page.wait_for_timeout(300)
    assert HOSTILE in page.inner_text("#grid-head")
    assert page.locator("main img, main script").count() == 0


def test_a_wrong_file_is_one_sentence_on_the_page(open_page):
    page = open_page()
    if page.is_visible("#new-table"):
        page.click("#new-table")
    page.set_input_files("#table-file", {"name": "wrong.csv", "mimeType": "text/csv", "buffer": b"a,b\n"})
    page.wait_for_selector("#message:visible")
    assert page.inner_text("#message") == "wrong.csv: no rows, only a header"
    (complaint,) = open_page.complaints  # Chromium itself reports the status
    assert "422" in complaint
    open_page.complaints.clear()


def test_a_larger_table_is_scored_in_the_background_and_scrolls(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(25_000, seed=4)[0].round(3)), "large.csv")
    page.wait_for_selector("#progress", state="hidden", timeout=60_000)
    for key in "nn":
        press(page, key)
    page.wait_for_selector("#progress", state="hidden", timeout=60_000)
    page.wait_for_selector("#grid[aria-rowcount='25001']")
    page.evaluate("const box = document.getElementById('scroll'); box.scrollTo(0, box.scrollHeight)")
    page.wait_for_function("() => document.querySelector('#grid tbody tr:last-child').ariaRowIndex === '25001'")
    page.wait_for_function("() => document.querySelector('#grid tbody tr:last-child').dataset.row !== undefined")
    settle(page)


def hold(page, path):
    """Hold back the answer to the next request to a path; the page gets it when the returned function is called."""
    held = []
    page.route(f"**/api/{path}", lambda route: held.append((route, route.fetch())), times=1)

    def release():
        while not held:
            page.wait_for_timeout(20)
        route, response = held.pop()
        route.fulfill(response=response)

    return release


def test_an_answer_that_was_overtaken_is_not_shown(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(seed=5)[0]), "overtaken.csv")
    release = hold(page, "labels")
    two = {"rows": 300, "labels": {"291": "normal", "292": "anomaly"}}
    with page.expect_request("**/api/labels"):
        page.set_input_files("#labels-file", {"name": "l.json", "mimeType": "", "buffer": json.dumps(two).encode()})
    page.wait_for_timeout(300)  # the server has the two labels, the page does not know yet
    with page.expect_response("**/api/label"):
        page.keyboard.press("n")
    page.wait_for_function("() => document.getElementById('table-facts').textContent.includes('2 normal, 1 anomaly')")
    release()
    settle(page)
    assert "2 normal, 1 anomaly" in page.inner_text("#table-facts")
    page.click(".switch >> text=Labelled")
    page.wait_for_function("() => document.querySelectorAll('#grid tbody tr').length === 3")
    settle(page)


def test_the_card_of_the_row_selected_last_is_shown(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(seed=6)[0]), "cards.csv")
    lines = page.locator("#grid tbody tr[data-row]")
    slow, fast = (int(lines.nth(k).get_attribute("data-row")) for k in (3, 4))
    release = hold(page, f"row/{slow}")
    page.click(f"#row-{slow} td:first-child")
    page.click(f"#row-{fast} td:first-child")
    page.wait_for_function("title => document.getElementById('row-title').textContent === title", arg=f"Row {fast + 1}")
    release()
    settle(page)
    assert selected(page) == fast
    assert page.get_attribute(f"#row-{fast}", "aria-selected") == "true"


def test_the_start_page_stays_when_a_new_ranking_arrives(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(seed=7)[0]), "start.csv")
    release = hold(page, "label")
    with page.expect_request("**/api/label"):
        page.keyboard.press("n")
    page.click("#new-table")
    release()
    settle(page)
    assert page.is_visible("#start")
    assert not page.is_visible("#work")
    page.click("#back")
    assert page.is_visible("#work")
    assert not page.is_visible("#start")
    assert "1 normal" in page.inner_text("#table-facts")


STORE = """async () => {
  const { createStore } = await import("/store.js");
  const store = createStore({ turn: 3, label: "a", other: 0 });
  const calls = [];
  %s
}"""


def test_store_update_notifies_with_both_states(open_page):
    calls = open_page().evaluate(
        STORE
        % """
        store.subscribe((now, before) => calls.push([before.label, now.label, now.other]));
        store.update({ label: "b" });
        store.update({ other: 1 });
        return [calls, store.getState()];"""
    )
    assert calls == [[["a", "b", 0], ["b", "b", 1]], {"turn": 3, "label": "b", "other": 1}]


def test_store_notifies_of_the_given_fields_only(open_page):
    calls = open_page().evaluate(
        STORE
        % """
        store.subscribe((now) => calls.push(now.other), ["label", "turn"]);
        store.update({ other: 1 });
        store.update({ other: 2, label: "b" });
        store.update({ other: 3, label: "b" });
        store.update({ other: 4, turn: 4 });
        return calls;"""
    )
    assert calls == [2, 4]


def test_store_ignores_an_older_answer(open_page):
    calls = open_page().evaluate(
        STORE
        % """
        store.subscribe((now) => calls.push([now.turn, now.label]));
        const taken = [
          store.update({ turn: 5, label: "newer" }),
          store.update({ turn: 4, label: "older" }),
          store.update({ turn: 5, label: "equal" }),
          store.update({ label: "without a turn" }),
          store.update({ turn: 0, label: "restarted" }, { evenIfOlder: true }),
        ];
        return [taken, calls];"""
    )
    taken = [[5, "newer"], [5, "equal"], [5, "without a turn"], [0, "restarted"]]
    assert calls == [[True, False, True, True, True], taken]


def test_store_reports_an_exception_and_notifies_the_other_subscribers(open_page):
    calls = open_page().evaluate(
        STORE
        % """
        store.subscribe(() => { throw new Error("broken panel"); });
        store.subscribe((now) => calls.push(now.label));
        store.update({ label: "b" });
        store.update({ label: "c" });
        return calls;"""
    )
    assert calls == ["b", "c"]
    assert open_page.complaints == ["broken panel"] * 2
    open_page.complaints.clear()


def test_store_can_be_changed_by_update_only_and_not_by_subscribers(open_page):
    state = open_page().evaluate(
        STORE
        % """
        store.subscribe(() => store.update({ label: "from a subscriber" }));
        store.update({ other: 1 });
        try {
          Object.assign(store.getState(), { label: "from outside" });
        } catch (error) {
          calls.push(error.name);
        }
        return [calls, store.getState()];"""
    )
    assert state == [["TypeError"], {"turn": 3, "label": "a", "other": 1}]
    assert open_page.complaints == ["a subscriber must not update the state"]
    open_page.complaints.clear()


LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_accessibility(open_page, look):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(**LOOKS[look])
    if page.is_visible("#new-table"):
        page.click("#new-table")
    start = Axe().run(page)
    page.click("#example")
    page.wait_for_selector("#grid tbody tr[data-row]")
    settle(page)
    for key in "nna":
        press(page, key)
    page.click("#export-menu summary")
    page.wait_for_timeout(300)
    work = Axe().run(page)
    for results in (start, work):
        assert results.violations_count == 0, results.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
