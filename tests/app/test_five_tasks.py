"""Five tasks in a real browser, with as many clicks and keys as docs/app.md promises."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import oddshot
from oddshot.app.example import example_sheet
from oddshot.universal.shipped import load_universal
from tests.app import test_browser as browser
from tests.app.samples import two_kinds
from tests.app.test_browser import press, selected, settle, wait_for_facts
from tests.app.test_browser_learning import in_sight

pytestmark = browser.pytestmark
address, chromium, open_page = browser.address, browser.chromium, browser.open_page

DOCS = Path(__file__).parents[2] / "docs" / "app.md"
PROMISED = {
    task: (int(clicks), int(keys))
    for task, clicks, keys in re.findall(r"^\| ([A-Z][^|]+?) \|[^|]+\| (\d+) \| (\d+) \|$", DOCS.read_text(), re.M)
}


class Person:
    """Uses a page and counts clicks and keys; what is chosen in the window of the system counts as the click before."""

    def __init__(self, page):
        self.page, self.clicks, self.keys = page, 0, 0

    def click(self, selector):
        self.page.click(selector)
        self.clicks += 1
        settle(self.page)

    def choose_file(self, selector, data, name):
        with self.page.expect_file_chooser() as chooser:
            self.click(selector)
        chooser.value.set_files({"name": name, "mimeType": "", "buffer": data})
        settle(self.page)

    def open_table(self, table, name):
        self.choose_file("label:has(#table-file)", table.to_csv(index=False).encode(), name)
        self.page.wait_for_function("name => document.title.startsWith(name)", arg=name)
        settle(self.page)

    def label_suggested(self, truth, n):
        """Answer n times as the row that is suggested deserves."""
        for _ in range(n):
            assert self.page.is_visible("#row-badge")
            press(self.page, "a" if truth[selected(self.page)] else "n")
            self.keys += 1

    def download(self, selector):
        with self.page.expect_download() as download:
            self.click(selector)
        return Path(download.value.path())


@pytest.fixture
def person(open_page):
    page = open_page(accept_downloads=True)
    if page.is_visible("#new-table"):
        page.click("#new-table")  # as at the beginning, without a table
    return Person(page)


def find_the_odd_wines(person):
    truth = example_sheet(load_universal()).truth
    person.click("#example")
    person.label_suggested(truth, 8)
    assert float(re.search(r"AUC ([\d.]+)", person.page.inner_text("#table-facts"))[1]) > 0.9


def import_labels(person):
    X, y = two_kinds(120, seed=51)
    labels = {str(row + 1): ["normal", "anomaly"][y[row]] for row in range(60)}
    person.open_table(pd.DataFrame(X, columns=list("abcde")), "labels.csv")
    person.click("#labels-menu summary")
    person.choose_file("label:has(#labels-file)", json.dumps({"labels": labels}).encode(), "labels.json")
    wait_for_facts(person.page, f"{(y[:60] == 0).sum()} normal, {y[:60].sum()} anomal")


def leave_the_id_out(person):
    table = pd.DataFrame(two_kinds(120, seed=52)[0], columns=list("abcde"))
    table.insert(0, "customer", np.random.default_rng(0).integers(1000, 1100, 120))
    person.open_table(table, "customers.csv")
    assert person.page.is_checked("[aria-label='Use column customer']")
    person.click("th[data-column=customer] .more")
    person.click("#floating-menu >> text='leave out'")
    assert not person.page.is_checked("[aria-label='Use column customer']")
    assert person.page.inner_text("#column-change").startswith("Left out customer: ")


def find_when_the_fault_began(person):
    rng, y = np.random.default_rng(54), np.arange(300) >= 220
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=["temperature", "pressure", "flow", "vibration"])
    table.loc[y, ["temperature", "vibration"]] += 6
    table.insert(0, "time", pd.date_range("2024-03-01", periods=300, freq="h"))
    person.open_table(table, "machines.csv")
    person.label_suggested(y, 8)
    in_sight(person.page, "#timeline-box")
    began = re.search(r"begins at ([\d :-]+) \(", person.page.inner_text("#timeline-beginning"))
    assert abs(pd.Timestamp(began[1]) - table["time"][220]) <= pd.Timedelta("3h")


def export_a_detector(person):
    X, y = two_kinds(240, seed=54)
    table = pd.DataFrame(X, columns=list("abcde"))
    person.open_table(table[:200], "old.csv")
    person.label_suggested(y, 8)
    person.click("#export-menu summary")
    file = person.download("[data-export='detector.safetensors']")
    new = oddshot.load_detector(file).decision_function(table[200:])
    assert roc_auc_score(y[200:], new) > 0.95


TASKS = [find_the_odd_wines, import_labels, leave_the_id_out, find_when_the_fault_began, export_a_detector]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_what_the_docs_promise(person, task):
    task(person)
    assert PROMISED[task.__name__.replace("_", " ").capitalize()] == (person.clicks, person.keys)


def test_the_docs_promise_these_tasks_and_no_others():
    assert sorted(PROMISED) == sorted(task.__name__.replace("_", " ").capitalize() for task in TASKS)
