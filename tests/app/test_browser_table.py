"""The ranking as a table, in a real browser: sorting, filters, columns, histograms and copying."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.app import test_browser as browser
from tests.app.samples import as_csv
from tests.app.test_browser import press, selected, settle, upload

pytestmark = browser.pytestmark
address, chromium, open_page = browser.address, browser.chromium, browser.open_page

N = 240


def machines(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "machine": [f"M-{j:03}" for j in rng.permutation(N)],
            "price": [f"{value:,.2f}" for value in rng.uniform(100, 9000, N)],
            "site": rng.choice(["Oslo", "Bergen", "Trondheim"], N),
            "installed": pd.date_range("2019-01-01", periods=N, freq="6D")[rng.permutation(N)].strftime("%Y-%m-%d"),
            "pressure": rng.normal(3, 0.4, N).round(3),
            **{f"x{j}": rng.normal(size=N).round(3) for j in range(8)},
        }
    )
    frame.loc[::40, "pressure"] = None
    return frame


@pytest.fixture
def open_table(open_page):
    """A page with a table of its own for each seed: what is said about a file is kept."""

    def make(seed, **settings):
        frame, page = machines(seed), open_page(**settings)
        upload(page, frame.to_csv(index=False).encode(), f"machines-{seed}.csv")
        return page, frame

    return make


def shown_rows(page):
    return page.eval_on_selector_all("#grid tbody tr[data-row]", "lines => lines.map((line) => +line.dataset.row)")


def menu(page, column, item):
    page.click(f"th[data-column='{column}'] .more")
    page.click(f"#floating-menu >> text='{item}'")
    settle(page)


def sorting(page, column):
    return page.get_attribute(f"th[data-column='{column}']", "aria-sort")


def test_a_click_on_a_header_sorts_and_a_second_one_reverses(open_table):
    page, frame = open_table(0)
    price = frame["price"].str.replace(",", "").astype(float)
    for direction, order in (("ascending", price.argsort()), ("descending", (-price).argsort())):
        page.click("th[data-column=price] .head-name")
        settle(page)
        assert sorting(page, "price") == direction
        found = shown_rows(page)
        assert found == order.tolist()[: len(found)]  # as numbers, although they are written as text
    page.click("th[data-key=score] .head-name")
    settle(page)
    assert sorting(page, "price") is None
    assert page.get_attribute("th[data-key=score]", "aria-sort") == "descending"
    page.focus("th[data-column=price] .head-name")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#floating-menu:popover-open")
    page.keyboard.press("n")  # labels no row
    page.keyboard.press("Escape")
    assert page.is_hidden("#floating-menu")
    assert page.evaluate("document.activeElement.dataset.button") == "menu column price"
    assert "0 normal" in page.inner_text("#table-facts")


def test_filters_are_chips_that_can_be_removed_and_hold_while_the_ranking_changes(open_table):
    page, frame = open_table(1)
    menu(page, "site", "Filter…")
    page.click("#filter-fields >> text=Bergen")
    page.click("#filter-form .primary")
    settle(page)
    bergen = (frame["site"] == "Bergen").to_numpy()
    assert page.inner_text("#filter-facts") == f"{bergen.sum()} of {N} rows"
    menu(page, "pressure", "Filter…")
    page.fill("#filter-fields input >> nth=0", "3.1")
    page.keyboard.press("Enter")
    settle(page)
    both = bergen & (frame["pressure"] >= 3.1).to_numpy()
    assert page.inner_text("#filter-facts") == f"{both.sum()} of {N} rows"
    before = shown_rows(page)
    for key in "nna":
        press(page, key)
    after = shown_rows(page)
    assert before != after
    assert both[after].all()
    assert page.get_attribute("#chips button >> nth=1", "aria-label") == "Remove the filter pressure: from 3.1"
    page.click("#chips button >> nth=0")
    settle(page)
    assert page.locator("#chips button").count() == 1
    assert page.inner_text("#filter-facts") == f"{(frame['pressure'] >= 3.1).sum()} of {N} rows"
    page.click("th[data-key=label] .more")
    page.click("#floating-menu >> text=Filter…")
    page.click("#filter-fields >> text=normal")
    page.click("#filter-form .primary")
    settle(page)
    page.click("#clear-filters")
    settle(page)
    assert page.is_hidden("#filter-bar")
    menu(page, "installed", "Filter…")
    page.fill("#filter-fields input >> nth=0", "2020-01-01")
    page.fill("#filter-fields input >> nth=1", "2020-12-31")
    page.click("#filter-form .primary")
    settle(page)
    assert page.inner_text("#filter-facts") == f"{frame['installed'].str.startswith('2020').sum()} of {N} rows"


def test_a_column_with_times_of_day_is_filtered_by_them(open_page):
    page, times = open_page(), pd.date_range("2024-03-01 08:00", periods=N, freq="5min")
    frame = pd.DataFrame({"time": times, "x": np.random.default_rng(30).normal(size=N)})
    upload(page, frame.to_csv(index=False).encode(), "day.csv")
    menu(page, "time", "Filter…")
    for place, value in enumerate(["2024-03-01", "09:00", "2024-03-01", "10:30"]):
        page.fill(f"#filter-fields input >> nth={place}", value)
    page.click("#filter-form .primary")
    settle(page)
    assert page.inner_text("#filter-facts") == f"19 of {N} rows"
    assert page.inner_text("#chips button") == "time: 2024-03-01 09:00 to 2024-03-01 10:30 ✕"
    menu(page, "time", "Filter…")
    assert [page.input_value(f"#filter-fields input >> nth={place}") for place in (1, 3)] == ["09:00", "10:30"]
    page.fill("#filter-fields input >> nth=1", "")
    page.fill("#filter-fields input >> nth=3", "")
    page.click("#filter-form .primary")
    settle(page)
    assert page.inner_text("#filter-facts") == f"{(times < '2024-03-02').sum()} of {N} rows"


def test_dates_are_neither_cut_off_in_the_ranking_nor_broken_in_the_card(open_page):
    page, rng = open_page(), np.random.default_rng(31)
    times = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 10**7, N), "s")
    frame = pd.DataFrame({"time": times, "temperature": rng.normal(size=N)})
    upload(page, frame.to_csv(index=False).encode(), "times.csv")
    fits = "cell => cell.scrollWidth <= cell.clientWidth"
    assert page.eval_on_selector("#grid td[data-column=time]", fits)
    for key in "nn":  # now the card has another row to compare with
        press(page, key)
    cells = page.locator("#why-rows tr", has_text="time").locator("td").all()[:2]
    count_lines = """cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length; }"""
    assert [cell.evaluate(count_lines) for cell in cells] == [2, 2]  # the date and the time of day
    assert page.locator("#why-rows tr", has_text="temperature").locator("th").evaluate(count_lines) == 1
    assert [cell.evaluate(count_lines) for cell in page.locator(".why thead th").all()][-1] == 1
    assert "\xa0%" in page.inner_text("#threshold-facts")


def test_help_is_at_the_right_edge_with_and_without_a_table(open_table):
    page, _ = open_table(32)
    place = "document.getElementById('help').getBoundingClientRect().right"
    right = page.evaluate(place)
    page.click("#new-table")
    assert page.evaluate(place) == right


def test_a_slash_searches_in_all_columns(open_table):
    page, frame = open_table(2)
    page.focus("#grid")
    page.keyboard.press("/")
    page.keyboard.type("m-00")
    page.wait_for_function("() => document.getElementById('filter-facts').textContent.startsWith('10 of')")
    settle(page)
    assert frame["machine"][shown_rows(page)].str.startswith("M-00").all()
    assert "0 normal" in page.inner_text("#table-facts")  # the letters of the search label no row
    page.keyboard.press("Escape")
    page.wait_for_selector("#filter-bar", state="hidden")
    settle(page)


@pytest.mark.parametrize(("width", "n_columns"), [(1440, 3), (1024, 1), (390, 0)])
def test_columns_beyond_the_edge_are_announced(open_table, width, n_columns):
    page, _ = open_table(3, viewport={"width": width, "height": 844})
    right = page.evaluate("document.getElementById('scroll').getBoundingClientRect().right")
    edges = page.eval_on_selector_all(
        "th[data-key=column]", "cells => cells.map((cell) => cell.getBoundingClientRect().right)"
    )
    assert sum(edge <= right for edge in edges) >= n_columns
    assert "more-right" in page.get_attribute("#frame", "class")
    assert "more columns →" in page.inner_text("#more-columns")
    for _ in range(12):
        if page.is_visible("#more-columns"):
            page.click("#more-columns")
            page.wait_for_timeout(30)
    assert "more-right" not in page.get_attribute("#frame", "class")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_columns_of_a_wide_table_are_all_counted(open_page):
    page = open_page()
    upload(page, as_csv(np.random.default_rng(33).normal(size=(60, 150))), "wide.csv")
    is_seen = "cells => cells.filter((cell) => cell.getBoundingClientRect().right <= RIGHT + 2).length".replace(
        "RIGHT", "document.getElementById('scroll').getBoundingClientRect().right"
    )
    n_seen = page.eval_on_selector_all("th[data-key=column]", is_seen)
    assert n_seen > 0
    assert page.inner_text("#more-columns") == f"{150 - n_seen} more columns →"


def test_a_histogram_shows_labelled_rows_and_this_row(open_table):
    from axe_playwright_python.sync_playwright import Axe

    page, frame = open_table(4)
    press(page, "n")
    press(page, "a")
    row = selected(page)
    menu(page, "site", "Histogram…")
    page.wait_for_selector("#histogram-dialog[open]")
    assert f"Row {row + 1} lies at {frame['site'][row]}" in page.inner_text("#column-facts")
    page.click("#histogram-dialog summary")
    lines = page.eval_on_selector_all("#column-values tr", "lines => lines.map((line) => line.innerText.split('\\t'))")
    counts = frame["site"].value_counts()
    assert {line[0].removesuffix(" (this row)"): int(line[1]) for line in lines} == counts.to_dict()
    assert sum(int(line[2]) for line in lines) == sum(int(line[3]) for line in lines) == 1
    pixels = "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size"
    assert page.eval_on_selector("#column-canvas", pixels) > 10
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    page.keyboard.press("Escape")
    assert page.is_hidden("#histogram-dialog")


def test_a_cell_and_a_row_are_copied(open_table):
    page, frame = open_table(5, permissions=["clipboard-read", "clipboard-write"])
    page.click("#grid tbody tr >> nth=2 >> td[data-column=price]")
    settle(page)
    row = selected(page)
    page.focus("#grid")

    def copied(action):
        page.evaluate("document.getElementById('status').textContent = ''")
        action()
        page.wait_for_function("() => document.getElementById('status').textContent.endsWith('copied')")
        return page.evaluate("navigator.clipboard.readText()")

    assert copied(lambda: page.keyboard.press("Control+c")) == frame["price"][row]
    page.keyboard.press("ArrowRight")
    assert copied(lambda: page.keyboard.press("Control+c")) == frame["site"][row]
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert copied(lambda: page.keyboard.press("Control+c")).split("\t")[:3] == frame.iloc[row].tolist()[:3]
    assert copied(lambda: menu(page, "machine", f"Copy the cell of row {row + 1}")) == frame["machine"][row]
    page.evaluate("delete Clipboard.prototype.writeText")  # as on a page that is not on this computer
    page.evaluate("document.addEventListener('copy', () => { window.copied = getSelection().toString(); })")
    page.click("#copy-row")
    page.wait_for_function("value => window.copied?.startsWith(value)", arg=frame["machine"][row])


def columns_shown(page):
    return page.eval_on_selector_all("th[data-key=column]", "cells => cells.map((cell) => cell.dataset.column)")


def test_columns_are_pinned_hidden_and_brought_back(open_table):
    page, frame = open_table(6)
    menu(page, "site", "Pin to the left")
    menu(page, "machine", "Hide")
    names = [name for name in frame.columns if name not in ("machine", "site")]
    assert columns_shown(page) == ["site", *names]
    page.evaluate("document.getElementById('scroll').scrollLeft = 900")
    left = page.evaluate("document.getElementById('scroll').getBoundingClientRect().left")
    for cell in ("th[data-column=site]", "#grid tbody tr >> nth=0 >> td[data-column=site]"):
        assert page.locator(cell).bounding_box()["x"] == pytest.approx(left + 1 + 58, abs=1)  # beside the row number
    page.reload()  # both are kept
    page.wait_for_selector("#grid tbody tr[data-row]")
    settle(page)
    assert columns_shown(page) == ["site", *names]
    assert page.inner_text("#columns-summary") == "Columns (1 hidden)"
    page.click("#columns-summary")
    page.focus("[data-chooser='shown machine']")
    page.keyboard.press("Space")
    settle(page)
    assert page.evaluate("document.activeElement.dataset.chooser") == "shown machine"
    page.click("[data-chooser='pin site']")
    settle(page)
    assert columns_shown(page) == frame.columns.tolist()
    page.keyboard.press("Escape")
    press(page, "Control+z")
    assert columns_shown(page)[0] == "site"
    menu(page, "machine", "Use as row name")
    row = shown_rows(page)[0]
    assert page.inner_text(f"#row-{row} td >> nth=0").startswith(frame["machine"][row])


def test_a_column_is_left_out_and_the_page_says_what_changed(open_table):
    page, _ = open_table(7)
    for key in "nnna":
        press(page, key)
    labels, before = page.inner_text("#table-facts"), shown_rows(page)
    page.click("th[data-column=price] .head-name")
    settle(page)
    menu(page, "site", "leave out")
    page.wait_for_selector("#column-change:visible")
    assert re.fullmatch(
        r"Left out site: (no row entered or left|\d+ rows? entered) the flagged ones.*",
        page.inner_text("#column-change"),
    )
    assert page.inner_text("#table-facts") == labels
    assert sorting(page, "price") == "ascending"
    page.click(".switch >> text=By score")
    settle(page)
    assert shown_rows(page) != before
    page.click("th[data-column=site] .more")
    assert page.get_attribute("#floating-menu >> text='leave out'", "aria-checked") == "true"
    page.keyboard.press("Escape")
    press(page, "Control+z")
    assert shown_rows(page) == before
    assert page.is_hidden("#column-change")
    menu(page, "x0", "a category")
    assert page.inner_text("#column-change").startswith("x0 as category: ")


def test_a_filter_that_undo_makes_unfit_is_removed_with_a_sentence(open_table):
    page, _ = open_table(8)
    menu(page, "x0", "a category")
    menu(page, "x0", "Filter…")
    page.click("#filter-fields .choice >> nth=0")
    page.click("#filter-form .primary")
    settle(page)
    assert page.locator("#chips button").count() == 1
    press(page, "Control+z")
    assert page.locator("#chips button").count() == 0
    assert page.is_hidden("#message")
    assert page.inner_text("#column-change").startswith("The filter by x0 is removed")
    assert len(shown_rows(page)) > 5


def test_tags_of_labels_are_not_cut_off(open_table):
    page, _ = open_table(9)
    press(page, "a")
    page.click(".switch >> text=Labelled")
    settle(page)
    overflow = "cell => cell.scrollWidth - cell.clientWidth"
    assert page.eval_on_selector("#grid tbody tr >> nth=0 >> td >> nth=1", overflow) <= 0
