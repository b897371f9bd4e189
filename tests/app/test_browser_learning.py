"""The learning loop, time and groups in a real browser."""

import json
import re

import numpy as np

from oddshot.storage import model_file
from oddshot.universal.shipped import load_universal
from tests.app import test_browser as browser
from tests.app.samples import as_csv, two_kinds
from tests.app.test_browser import exported, press, selected, settle, upload
from tests.app.test_learning_routes import frame

pytestmark = browser.pytestmark
address, chromium, open_page = browser.address, browser.chromium, browser.open_page


def open_machines(page, name, seed):
    """A table of its own for each test: the labels of a file are kept."""
    table, y = frame(seed=seed)
    upload(page, table.to_csv(index=False).encode(), name)
    return y


def label_row(page, row, key):
    page.evaluate("async (row) => (await import('/row-links.js')).goToRow(row)", row)
    page.wait_for_function("title => document.getElementById('row-title').textContent === title", arg=f"Row {row + 1}")
    press(page, key)


def label_some(page, y, n_normal=6, n_anomaly=3):
    rows = [*np.flatnonzero(y == 0)[: 10 * n_normal : 10].tolist(), *np.flatnonzero(y == 1)[:n_anomaly].tolist()]
    labels = json.dumps({"labels": {row + 1: ["normal", "anomaly"][y[row]] for row in rows}}).encode()
    with page.expect_response("**/api/tables/*/labels"):
        page.set_input_files("#labels-file", {"name": "l.json", "mimeType": "", "buffer": labels})
    settle(page)


def in_sight(page, selector):
    """Scroll to an element, again where panels above it that come into sight, and are fetched then, move it away."""
    is_beyond = "node => node.getBoundingClientRect().top > window.innerHeight"
    for _ in range(5):
        page.locator(selector).scroll_into_view_if_needed()
        page.wait_for_timeout(200)  # what is in sight is fetched a moment later
        settle(page)
        if not page.eval_on_selector(selector, is_beyond):
            break


def test_a_label_says_what_it_changed_and_how_sure_the_ranking_is(open_page):
    page = open_page()
    y = open_machines(page, "learning.csv", 20)
    assert not page.is_visible("#change")
    label_some(page, y, 3, 1)
    label_row(page, 299, "n")
    page.wait_for_selector("#change:visible")
    settle(page)
    sentence = page.inner_text("#change")
    assert re.search(r"Row \d+ (rose|fell) from rank [\d,]+ to [\d,]+", sentence)
    assert re.search(r"\d+ rows? (is|are) flagged now: \d+ more, \d+ no longer\.", sentence)
    link = page.locator("#change .row-link").first
    row = int(link.get_attribute("data-row"))
    link.click()
    settle(page)
    assert selected(page) == row
    in_sight(page, "#certainty-title")
    assert (
        page.inner_text("#certainty") == "Label 1 more normal row and 1 more anomaly to see how well the ranking does."
    )
    assert page.is_disabled("#compare")
    label_row(page, 290, "n")
    label_row(page, int(np.flatnonzero(y == 1)[5]), "a")
    in_sight(page, "#certainty-title")
    assert re.fullmatch(
        r"Of 10 pairs of a normal row and an anomaly that you labelled, \d+\s% are ranked right when each is left out "
        r"\(95 % interval: \d+ to \d+\s%\)\.",
        page.inner_text("#certainty"),
    )
    page.click("#compare")
    page.wait_for_selector("#compare-table:visible", timeout=20_000)
    assert page.locator("#compare-rows tr").count() == 5
    assert re.fullmatch(r"\d+ to \d+\s%", page.inner_text("#compare-rows tr >> nth=0 >> td >> nth=1").strip())
    assert page.inner_text("#compare-verdict").endswith(".")
    label_row(page, 280, "n")
    in_sight(page, "#certainty-title")
    page.wait_for_selector("#compare-table", state="hidden")
    assert page.inner_text("#compare-verdict") == "The labels have changed since the last comparison."


def queued_rows(page):
    page.wait_for_function("() => document.getElementById('queue-progress').textContent === '0 of 10 done'")
    settle(page)
    return [int(text.replace(",", "")) - 1 for text in page.locator("#queue-rows button").all_inner_texts()]


def test_ten_rows_by_keys_alone(open_page):
    page = open_page()
    X, y = two_kinds(seed=21)
    upload(page, as_csv(X), "queue.csv")
    page.focus("#grid")
    page.keyboard.press("q")
    rows = queued_rows(page)
    for place, row in enumerate(rows):
        assert selected(page) == row
        if place == 3:
            page.keyboard.press("u")
            settle(page)
        else:
            press(page, "a" if y[row] else "n")
    assert page.inner_text("#queue-progress") == "All 10 rows are done"
    assert page.locator("#queue-rows .skipped").count() == 1
    assert page.evaluate("document.activeElement.id") == "queue-more"
    facts = page.inner_text("#table-facts")
    assert sum(map(int, re.findall(r"(\d+) (?:normal|anomal)", facts))) == 9
    page.keyboard.press("Enter")
    assert not set(queued_rows(page)) & (set(rows) - {rows[3]})  # ten others
    page.keyboard.press("Escape")
    assert page.is_hidden("#queue")
    page.keyboard.press("q")
    first = queued_rows(page)[0]
    page.click("#label-normal")  # the mouse goes on as well
    settle(page)
    assert selected(page) != first
    press(page, "Control+z")
    assert page.inner_text("#queue-progress") == "0 of 10 done"
    page.keyboard.press("Escape")


def test_a_second_detector(open_page):
    page = open_page(accept_downloads=True)
    y = open_machines(page, "second.csv", 22)
    label_some(page, y, 5, 2)
    own = exported(page, "detector.safetensors").read_bytes()
    in_sight(page, "#second-facts")
    file = {"name": "own.safetensors", "mimeType": "", "buffer": own}
    page.set_input_files("#second-file", file)
    page.wait_for_function("() => document.getElementById('second-facts').textContent.includes('correlate by 1.00')")
    assert "only by this page: 0, only by the other: 0" in page.inner_text("#second-facts")
    label_row(page, int(np.flatnonzero(y == 1)[4]), "n")
    in_sight(page, "#second-facts")
    page.wait_for_selector("#second-rows tr >> nth=0")
    link = page.locator("#second-rows .row-link").first
    row = int(link.get_attribute("data-row"))
    link.click()
    settle(page)
    assert selected(page) == row
    model = {"name": "model.safetensors", "mimeType": "", "buffer": model_file.to_bytes(load_universal())}
    page.set_input_files("#second-file", model)
    page.wait_for_function(
        "() => document.getElementById('second-facts').textContent.startsWith('model.safetensors, ')"
    )
    page.click("#second-remove")
    page.wait_for_selector("#second-remove", state="hidden")
    page.set_input_files("#second-file", {"name": "bad.safetensors", "mimeType": "", "buffer": b"nothing"})
    page.wait_for_selector("#message:visible")
    assert page.inner_text("#message").startswith("bad.safetensors: not an oddshot detector file")
    settle(page)
    assert any(
        "422" in complaint or "400" in complaint for complaint in open_page.complaints
    )  # Chromium reports the status
    open_page.complaints.clear()


def test_time_and_groups(open_page):
    page = open_page()
    y = open_machines(page, "time.csv", 23)
    label_some(page, y)
    in_sight(page, "#timeline-box")
    page.wait_for_selector("#timeline-card:visible")
    in_sight(page, "#timeline")
    sentence = page.inner_text("#timeline-beginning")
    assert re.match(
        r"The first run of flagged rows begins at 2024-03-07 \d\d:00 \(row 1[45]\d\): \d+ of \d+ rows until", sentence
    )
    page.focus("#timeline")
    page.keyboard.press("Home")
    settle(page)
    first = selected(page)
    page.keyboard.press("ArrowRight")
    settle(page)
    assert selected(page) > first
    assert page.get_attribute("#timeline", "aria-valuetext").startswith("2024-03-01")
    page.keyboard.press("Shift+PageDown")
    settle(page)
    assert "flagged, highest row" in page.inner_text("#timeline-range")
    page.keyboard.press("Escape")
    assert page.inner_text("#timeline-range") == ""
    box = page.locator("#timeline").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 40, steps=4)
    page.mouse.up()
    assert re.match(r"2024-03-0\d.* to 2024-03-\d\d.*: \d+ flagged", page.inner_text("#timeline-range"))
    page.click("#time-zoom")
    page.wait_for_selector("#time-all:visible")
    settle(page)
    box = page.locator("#timeline").bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 20)
    settle(page)
    assert 140 < selected(page) < 200
    page.click("#time-all")
    page.wait_for_selector("#time-all", state="hidden")

    in_sight(page, "#groups-card")
    assert page.input_value("#group-column") == "machine"
    assert page.locator("#groups-rows tr").count() == 3
    assert page.locator("#groups-rows svg rect").count() == 48
    group = page.inner_text("#groups-rows tr >> nth=1 >> th")
    page.click("#groups-rows tr >> nth=1 >> .row-link")
    settle(page)
    assert group in page.inner_text("#why")
    page.click("#groups-rows tr >> nth=1 >> th button")
    settle(page)
    assert page.locator("#chips button").all_inner_texts() == [f"machine: {group} ✕"]
    assert page.inner_text("#filter-facts") == "100 of 300 rows"
    assert set(page.locator("#grid td[data-column=machine]").all_inner_texts()) == {group}
    page.click("#groups-rows tr >> nth=2 >> th button")  # another group instead
    settle(page)
    assert page.inner_text("#filter-facts") == "100 of 300 rows"


def test_on_a_phone_groups_show_their_histograms_and_no_sentence_has_a_gap(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True)
    label_some(page, open_machines(page, "phone.csv", 25))
    in_sight(page, "#groups-box")
    is_seen = """node => {
        const [bars, box] = [node, document.getElementById("groups-table")].map((one) => one.getBoundingClientRect());
        return bars.left >= box.left && bars.right <= box.right; }"""
    assert page.eval_on_selector("#groups-rows svg", is_seen)
    assert page.inner_text("#timeline-card .small").endswith("Click a row or drag over a span.")
    assert page.inner_text("#table-facts").startswith("300 rows · 6 normal, 3 anomalies")


def test_rows_are_called_by_their_names_everywhere(open_page):
    page = open_page(accept_downloads=True)
    table, y = frame(seed=24)
    names = [f"U-{7 * row % 300:03}" for row in range(300)]
    upload(page, table.assign(serial=names).to_csv(index=False).encode(), "serials.csv")
    label_some(page, y)
    own = exported(page, "detector.safetensors").read_bytes()
    page.set_input_files("#second-file", {"name": "own.safetensors", "mimeType": "", "buffer": own})
    settle(page)
    press(page, "n")
    for box in ("#timeline-box", "#groups-box", "#second-box"):
        in_sight(page, box)
    page.keyboard.press("q")
    queued_rows(page)
    page.select_option("#id-column", "serial")
    page.wait_for_function("() => document.getElementById('queue-rows').textContent.startsWith('U-')")
    settle(page)
    links = page.eval_on_selector_all(".row-link", "links => links.map((link) => [link.textContent, link.dataset.row])")
    assert {name.split()[-1] for name, _ in links} == {names[int(row)] for _, row in links}
    for panel in ("change", "timeline-beginning", "groups-rows", "second-rows"):
        assert page.locator(f"#{panel} .row-link").count() > 0
    assert re.search(r"highest row U-\d{3},", page.get_attribute("#timeline", "aria-valuetext"))
    queued = page.locator("#queue-rows button").all_inner_texts()
    assert set(queued) <= set(names)
    page.focus("#grid")
    press(page, "n")
    assert page.inner_text("#status") == f"Row {queued[0]} labelled normal. Next: row {queued[1]}."
    page.keyboard.press("u")
    settle(page)
    assert page.inner_text("#status") == f"Row {queued[2]} selected"
    assert page.get_attribute("#queue-rows button >> nth=2", "aria-label") == f"Row {queued[2]}"
    page.select_option("#id-column", "")
    page.wait_for_function("() => !document.getElementById('queue-rows').textContent.startsWith('U-')")
    settle(page)
