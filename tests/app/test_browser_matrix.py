"""Every state of the page in light and dark and at three widths: accessible, without errors, not too wide."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from oddshot.storage import model_file
from oddshot.universal.shipped import load_universal
from tests.app import test_browser as browser
from tests.app.test_browser import settle
from tests.app.test_browser_learning import in_sight, label_some, open_machines

pytestmark = browser.pytestmark
address, chromium, open_page = browser.address, browser.chromium, browser.open_page

WIDTHS = (390, 1024, 1440)
SCHEMES = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}  # what else axe finds does not depend on colours
RUN_AXE = """([part, options]) =>
    axe.run(part, { resultTypes: ['violations'], ...options }).then(({ violations }) => violations)"""


class Checker:
    """Checks what a page shows. found: the defects, each with the state in which it was seen."""

    def __init__(self, page):
        self.page, self.found, self.states = page, [], []
        page.evaluate(Axe().axe_script)

    def check(self, state, part="html"):
        """part: what is new, if the rest of the page is as it was."""
        self.states.append(state)
        for scheme, options in SCHEMES.items():
            self.page.emulate_media(color_scheme=scheme)
            for violation in self.page.evaluate(RUN_AXE, [part, options]):
                nodes = [node["html"][:200] for node in violation["nodes"][:3]]
                self.found.append(f"{state}, {scheme}: {violation['id']}: {violation['help']}: {nodes}")
        width = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if width > 0:
            self.found.append(f"{state}: the page is {width} pixels too wide")


def begin_comparisons(page):
    """They go on while other states are checked."""
    in_sight(page, "#certainty-box")
    page.click("#compare")
    model = model_file.to_bytes(load_universal())
    page.set_input_files("#second-file", {"name": "m.safetensors", "mimeType": "", "buffer": model})


def check_table(page, checker):
    """The table with its menus and dialogs."""
    checker.check("table")
    for menu in ("labels-menu", "export-menu", "columns-menu"):
        page.click(f"#{menu} summary")
        checker.check(menu, f"#{menu}")
        page.keyboard.press("Escape")
    page.click("th[data-column=machine] .more")
    checker.check("column menu", "#floating-menu")
    page.click("#floating-menu >> text=Filter…")
    page.wait_for_selector("#filter-dialog[open]")
    checker.check("filter dialog")
    page.click("#filter-fields >> text=saw")
    page.click("#filter-form .primary")
    page.wait_for_selector("#chips button")
    settle(page)
    checker.check("filtered")
    page.click("th[data-column=machine] .more")
    page.click("#floating-menu >> text=Histogram…")
    page.click("#histogram-dialog summary")
    checker.check("histogram dialog")
    page.keyboard.press("Escape")
    page.click("#labels-menu summary")
    page.click("#take-labels")
    page.wait_for_selector("[aria-label='saw means']")
    checker.check("label-column dialog")
    page.keyboard.press("Escape")
    page.click("#help")
    checker.check("help dialog")
    page.keyboard.press("Escape")


def check_learning(page, checker):
    """The queue, and the panels of what labels teach."""
    page.keyboard.press("q")
    page.wait_for_selector("#queue:visible")
    checker.check("queue")
    in_sight(page, "#certainty-box")
    page.wait_for_selector("#compare-table:visible")
    page.wait_for_selector("#second-remove:visible")
    checker.check("certainty, simple methods and second detector")
    in_sight(page, "#groups-box")
    in_sight(page, "#timeline")
    page.focus("#timeline")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+PageDown")
    page.wait_for_selector("#groups-rows tr >> nth=0")
    page.wait_for_selector("#time-zoom:visible")
    checker.check("timeline and groups")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_state(open_page, width):
    page = open_page(viewport={"width": width, "height": 900}, has_touch=width < 600)
    if page.is_visible("#new-table"):
        page.click("#new-table")
    checker = Checker(page)
    checker.check("start page")
    y = open_machines(page, f"{width}.csv", 40 + WIDTHS.index(width))
    checker.check("table without labels")
    label_some(page, y)
    begin_comparisons(page)
    check_table(page, checker)
    check_learning(page, checker)
    page.click("#new-table")
    page.click("#example")
    page.wait_for_function("() => document.querySelectorAll('[role=tab]').length >= 2")
    settle(page)
    checker.check("two tabs")
    assert len(checker.states) == 16
    assert checker.found == []
