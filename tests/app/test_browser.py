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
    with page.expect_response(lambda response: re.search("/(label|undo|redo)$", response.url)):
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
    with page.expect_response("**/api/tables/*/threshold"):
        page.keyboard.press("Home")
    page.wait_for_function("facts => document.getElementById('threshold-facts').innerText !== facts", arg=facts)
    box = page.locator("#histogram").bounding_box()
    with page.expect_response("**/api/tables/*/threshold"):
        page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    settle(page)
    above = int(page.inner_text("#threshold-facts").split(" of 300 rows ")[0])
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_draws_the_map_as_the_page_does(open_page, chromium, scheme):
    """Rows at the edges of the report's map lie there on the page, too, and all dots have the same colours."""
    page = open_page(accept_downloads=True, color_scheme=scheme)
    upload(page, as_csv(two_kinds(seed=31)[0]))
    if "3 normal" not in page.inner_text("#table-facts"):
        for _ in range(3):
            press(page, "n")
    points = page.evaluate(
        """async () => {
          const id = new URLSearchParams(location.search).get("table");
          return (await fetch(`api/tables/${id}/map`)).json();
        }"""
    )
    colours = page.evaluate(
        """async (points) => {
          const { readPalette } = await import("./colours.js");
          const palette = readPalette();
          const dots = points.rows.map((row, index) => [`Row ${row + 1}`, palette.forPosition(points.position[index])]);
          return { ...Object.fromEntries(dots), normal: palette.forLabel(0) };
        }""",
        points,
    )
    context = chromium.new_context(color_scheme=scheme)
    report = context.new_page()
    report.set_content(exported(page, "report.html").read_text())
    dots = report.eval_on_selector_all(
        "[aria-label^='Map'] circle",
        """dots => dots.map((dot) => [dot.textContent, dot.cx.baseVal.value, dot.cy.baseVal.value,
          getComputedStyle(dot).fill, dot.classList.contains("ring") ? getComputedStyle(dot).stroke : null])""",
    )
    context.close()
    assert len(dots) == 300
    for name, _, _, fill, ring in dots:
        expected, found = (colours[name], fill) if ring is None else (colours["normal"], ring)
        np.testing.assert_allclose(channels(found), channels(expected), atol=1)
    box = page.locator("#map").bounding_box()
    for at in (1, 2):
        for name, x, y, *_ in (min(dots, key=lambda dot: dot[at]), max(dots, key=lambda dot: dot[at])):
            across, down = (x - 12) / (800 - 24), (y - 12) / (420 - 24)  # without the margins of the report
            page.mouse.move(box["x"] + 14 + across * (box["width"] - 28), box["y"] + 14 + down * (box["height"] - 28))
            assert page.get_attribute("#map", "title").split(",")[0] == name


def channels(colour):
    """Red, green and blue from 0 to 255, of any way in which the browser writes a colour."""
    if colour.startswith("#"):
        return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    numbers = [float(number) for number in re.findall(r"[\d.]+", colour)][:3]
    return [255 * number for number in numbers] if "srgb" in colour else numbers


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
    with page.expect_response("**/api/tables/*/label"):
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
    wait_for_facts(page, "1 normal")
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
    page.route(f"**/api/tables/*/{path}", lambda route: held.append((route, route.fetch())), times=1)

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
    with page.expect_request("**/api/tables/*/labels"):
        page.set_input_files("#labels-file", {"name": "l.json", "mimeType": "", "buffer": json.dumps(two).encode()})
    page.wait_for_timeout(300)  # the server has the two labels, the page does not know yet
    with page.expect_response("**/api/tables/*/label"):
        page.keyboard.press("n")
    wait_for_facts(page, "2 normal, 1 anomaly")
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
    with page.expect_request("**/api/tables/*/label"):
        page.keyboard.press("n")
    page.click("#new-table")
    release()
    settle(page)
    assert page.is_visible("#start")
    assert not page.is_visible("#work")
    page.click("[role=tab] >> text=start.csv")
    assert page.is_visible("#work")
    assert not page.is_visible("#start")
    assert "1 normal" in page.inner_text("#table-facts")


def tab(page, name):
    return page.locator("[role=tab]", has_text=name)


def test_tables_side_by_side(open_page):
    page = open_page()
    for name, seed in (("left.csv", 11), ("right.csv", 12)):
        upload(page, as_csv(two_kinds(seed=seed)[0]), name)
    for key in "nna":
        press(page, key)
    tab(page, "left.csv").click()
    page.wait_for_function("() => document.title.startsWith('left.csv')")
    settle(page)
    assert "0 normal, 0 anomalies" in page.inner_text("#table-facts")
    press(page, "n")
    page.reload()
    page.wait_for_function("() => document.title.startsWith('left.csv')")  # the tab that was on display
    assert "1 normal, 0 anomalies" in page.inner_text("#table-facts")
    settle(page)
    tab(page, "left.csv").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.title.startsWith('right.csv')")
    settle(page)
    assert "2 normal, 1 anomaly" in page.inner_text("#table-facts")
    assert tab(page, "right.csv").get_attribute("aria-selected") == "true"
    tab(page, "left.csv").click()
    settle(page)
    page.click(".switch >> text=Labelled")
    settle(page)
    tab(page, "right.csv").click()
    settle(page)
    tab(page, "left.csv").click()
    settle(page)
    assert page.is_checked("input[name=by][value=labelled]")  # a tab is found as it was left
    page.locator("[role=tab][aria-selected=true]").focus()
    page.keyboard.press("Delete")
    tab(page, "left.csv").wait_for(state="detached")
    settle(page)
    tab(page, "right.csv").locator(".close").click()
    tab(page, "right.csv").wait_for(state="detached")
    settle(page)
    upload(page, as_csv(two_kinds(seed=12)[0]), "right.csv")
    assert "2 normal, 1 anomaly" in page.inner_text("#table-facts")


def test_a_label_given_before_a_tab_is_left_stays_with_its_table(open_page):
    page = open_page()
    for name, seed in (("one.csv", 13), ("two.csv", 14)):
        upload(page, as_csv(two_kinds(seed=seed)[0]), name)
    release = hold(page, "label")
    with page.expect_request("**/api/tables/*/label"):
        page.keyboard.press("n")
    tab(page, "one.csv").click()
    page.wait_for_function("() => document.title.startsWith('one.csv')")
    release()
    settle(page)
    assert "0 normal" in page.inner_text("#table-facts")
    tab(page, "two.csv").click()
    wait_for_facts(page, "1 normal")
    settle(page)


def test_a_label_does_not_wait_for_a_poll_that_hangs(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(seed=17)[0]), "hanging.csv")
    with page.expect_request("**/api/tables"):
        page.route("**/api/tables", lambda route: None, times=1)  # never answered
    with page.expect_response("**/api/tables/*/label", timeout=15_000):
        page.keyboard.press("n")
    page.wait_for_selector("#message", state="hidden")  # the poll after it was answered
    assert "1 normal" in page.inner_text("#table-facts")
    settle(page)


def wait_for_facts(page, text):
    page.wait_for_function("text => document.getElementById('table-facts').textContent.includes(text)", arg=text)


def test_two_pages_on_one_table_show_each_others_changes(open_page):
    one = open_page()
    upload(one, as_csv(two_kinds(seed=15)[0]), "shared.csv")
    other = open_page()
    wait_for_facts(other, "0 normal")
    press(one, "n")
    press(one, "n")
    wait_for_facts(other, "2 normal")
    other.keyboard.press("s")  # the row on display is labelled by now
    other.wait_for_selector("#row-badge:visible")
    press(other, "a")
    wait_for_facts(one, "2 normal, 1 anomaly")
    other.uncheck("[aria-label='Use column x4']")
    one.wait_for_selector("[aria-label='Use column x4']:not(:checked)")
    for page in (one, other):
        assert "2 normal, 1 anomaly" in page.inner_text("#table-facts")
        settle(page)


def test_everything_is_undone_and_redone(open_page):
    page = open_page()
    upload(page, as_csv(two_kinds(seed=16)[0]), "history.csv")
    assert page.is_disabled("#undo")
    for key in "nna":
        press(page, key)
    page.uncheck("[aria-label='Use column x3']")
    settle(page)
    page.locator("#histogram").scroll_into_view_if_needed()
    box = page.locator("#histogram").bounding_box()
    with page.expect_response("**/api/tables/*/threshold"):
        page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2)
    settle(page)
    moved = page.inner_text("#threshold-facts")
    press(page, "Control+z")
    assert page.inner_text("#threshold-facts") != moved
    press(page, "Control+z")
    assert page.is_checked("[aria-label='Use column x3']")
    press(page, "Control+z")
    assert "2 normal, 0 anomalies" in page.inner_text("#table-facts")
    page.reload()  # the history is on the server
    page.wait_for_selector("#redo:enabled")
    settle(page)
    press(page, "Control+Shift+z")
    assert "2 normal, 1 anomaly" in page.inner_text("#table-facts")
    page.click("#redo")
    page.wait_for_selector("[aria-label='Use column x3']:not(:checked)")
    settle(page)
    press(page, "Control+y")
    assert page.inner_text("#threshold-facts") == moved
    assert page.is_disabled("#redo")


def test_help_shows_the_keys(open_page):
    page = open_page()
    page.keyboard.press("?")
    page.wait_for_selector("#help-dialog[open]")
    page.keyboard.press("n")  # labels nothing behind the dialog
    page.keyboard.press("Escape")
    page.wait_for_selector("#help-dialog:not([open])", state="hidden")
    page.click("#help")
    page.wait_for_selector("#help-dialog[open]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#help-dialog:not([open])", state="hidden")


def test_labels_are_taken_from_a_column(open_page):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page()
    X, y = two_kinds(80, seed=17)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(fault=np.where(y == 1, "yes", "no"))
    upload(page, frame.to_csv(index=False).encode(), "column.csv")
    page.click("#labels-menu summary")
    page.click("#take-labels")
    page.wait_for_selector("[aria-label='no means']")
    assert page.input_value("#label-column-name") == "fault"
    assert page.input_value("[aria-label='no means']") == "normal"
    assert Axe().run(page).violations_count == 0
    page.select_option("#label-column-name", "a")
    page.wait_for_selector("#label-column-apply:disabled")
    page.wait_for_function("() => document.getElementById('label-column-note').textContent.includes('different')")
    assert len(open_page.complaints) == 1  # Chromium reports the status of the refused request
    open_page.complaints.clear()
    page.select_option("#label-column-name", "fault")
    page.wait_for_selector("#label-column-apply:enabled")
    page.click("#label-column-apply")
    wait_for_facts(page, f"{(y == 0).sum()} normal, {y.sum()} anomal")
    settle(page)
    assert not page.is_checked("[aria-label='Use column fault']")


def test_notes_and_names_of_rows(open_page):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(accept_downloads=True)
    frame = pd.DataFrame(two_kinds(80, seed=18)[0], columns=list("abcde"))
    frame.insert(0, "serial", [f"M-{7 * k % 80:03}" for k in range(80)])
    upload(page, frame.to_csv(index=False).encode(), "names.csv")
    page.click(".switch >> text=As in the table")
    settle(page)
    row = selected(page)
    page.fill("#row-note", "a leak, n and a")  # letters in a note label nothing
    with page.expect_response("**/api/tables/*/note"):
        page.keyboard.press("Tab")
    settle(page)
    assert page.get_attribute(f"#row-{row} .noted", "title") == "a leak, n and a"
    page.click("#id-proposal")
    name = frame["serial"][row]
    page.wait_for_function("name => document.getElementById('row-title').textContent === name", arg=name)
    settle(page)
    assert page.inner_text(f"#row-{row} td >> nth=0").startswith(name)
    assert page.input_value("#id-column") == "serial"
    page.focus("#grid")
    press(page, "n")
    assert Axe().run(page).violations_count == 0
    exported_labels = pd.read_csv(exported(page, "labels.csv"))
    assert exported_labels.columns.tolist() == ["row", "serial", "label", "note"]
    assert exported_labels.values.tolist() == [[row + 1, name, "normal", "a leak, n and a"]]
    more = b"serial,label\nM-007,anomaly\nM-999,normal\n"
    page.set_input_files("#labels-file", {"name": "l.csv", "mimeType": "", "buffer": more})
    page.wait_for_selector("#message:visible")
    assert "1 of their rows are not in the table" in page.inner_text("#message")
    wait_for_facts(page, "0 normal, 1 anomaly")
    settle(page)


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
