"""The app in a real browser: Chromium of the system, driven by playwright."""

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
    """The app as a user starts it, with labels kept in a folder of the tests."""
    home = tmp_path_factory.mktemp("home")
    variables = {**os.environ, "XDG_STATE_HOME": str(home), "HOME": str(home)}
    command = [sys.executable, "-m", "oddshot", "app", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
    yield re.search(r"http://\S+", process.stdout.readline())[0]
    process.terminate()
    assert process.wait(30) == 0


@pytest.fixture
def open_page(chromium, address):
    """Opens pages; in the end, none of them may have complained."""
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
    """Until the page has asked for nothing for a moment, and has all its answers."""
    page.wait_for_timeout(50)
    while page.pending or time.monotonic() - page.last < quiet:
        page.wait_for_timeout(20)


def watch(page):
    """Count the requests on their way."""
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
    """A key, and the answer to the label that it sets."""
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
    assert y[shown].mean() > 3 * y.mean()

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
    (complaint,) = open_page.complaints  # Chromium's own, of the status
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
