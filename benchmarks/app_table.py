"""How long a person waits for the app's table: a million rows opened, sorted, filtered and searched in Chromium.

Each time is from the click, or the choice of the file, to the rows of the answer on the page. When the table is sorted
and filtered, all its rows are scored already.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from tests.app.conftest import CHROMIUM

N_ROWS, N_COLUMNS = 1_000_000, 20
MAX_SECONDS = 3.0
_DRAWN = "() => !document.querySelector('#grid.stale') && document.querySelector('#grid tbody tr[data-row]')"
_TOP_ROW = "() => document.querySelector('#grid tbody tr')?.dataset.row"


def measure_table(url: str, data: bytes) -> dict[str, float]:
    """Seconds to open the table and of each action, the first time; "another page" scrolls in what is sorted."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(data)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url)
        page.wait_for_selector("#start:visible")
        found = {"open": _time(page, lambda page: page.set_input_files("#table-file", path))}
        page.wait_for_selector("#progress", state="hidden", timeout=300_000)
        found |= {name: _time(page, act) for name, act in ACTIONS.items()}
        browser.close()
    return found


def make_table() -> bytes:
    """A CSV file with numbers, categories and dates."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=N_ROWS).round(4) for j in range(N_COLUMNS - 2)}
    columns["site"] = rng.choice(["Oslo", "Bergen", "Trondheim"], N_ROWS)
    columns["day"] = np.datetime64("2020-01-01") + rng.integers(0, 2000, N_ROWS)
    out = pa.BufferOutputStream()
    pyarrow.csv.write_csv(pa.table(columns), out)
    return bytes(out.getvalue())


def _time(page: Any, act: Callable[[Any], None]) -> float:
    top = page.evaluate(_TOP_ROW)
    started = time.perf_counter()
    act(page)
    page.wait_for_function(f"top => ({_DRAWN})() && ({_TOP_ROW})() !== top", arg=top, timeout=120_000)
    return time.perf_counter() - started


def _filter(page: Any) -> None:
    page.click("th[data-column=x1] .more")
    page.click("#floating-menu >> text=Filter…")
    page.fill("#filter-fields input >> nth=0", "0.5")
    page.click("#filter-form .primary")


ACTIONS: dict[str, Callable[[Any], None]] = {
    "sort by a number": lambda page: page.click("th[data-column=x0] .head-name"),
    "reverse": lambda page: page.click("th[data-column=x0] .head-name"),
    "another page": lambda page: page.evaluate("document.getElementById('scroll').scrollTo(0, 4e6)"),
    "filter by a range": _filter,
    "sort by a category": lambda page: page.click("th[data-column=site] .head-name"),
    "sort by a date": lambda page: page.click("th[data-column=day] .head-name"),
    "search": lambda page: (page.fill("#search", "2021-03"), page.press("#search", "Enter"))[0],
}
