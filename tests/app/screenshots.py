"""Takes the screenshots in docs/app.md: `python -m tests.app.screenshots [FOLDER]`; needs Chromium."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from oddshot.app.example import example_sheet
from oddshot.storage import model_file
from oddshot.universal.shipped import load_universal
from tests.app.conftest import CHROMIUM
from tests.app.test_browser import ARGUMENTS, press, selected, settle, upload, watch
from tests.app.test_browser_learning import in_sight, label_some

DOCS = Path(__file__).parents[2] / "docs"
DESK = {"width": 1440, "height": 960}
LOOKS = {
    "light": {"color_scheme": "light", "viewport": DESK},
    "dark": {"color_scheme": "dark", "viewport": DESK},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


def label_suggested(page: Page, truth: NDArray[np.int8], n: int) -> None:
    """Label the rows that are suggested with their true labels."""
    for _ in range(n):
        press(page, "a" if truth[selected(page)] else "n")


def machines() -> tuple[pd.DataFrame, NDArray[np.int8]]:
    """Three machines, one of which fails for a while."""
    n, rng = 600, np.random.default_rng(7)
    hour = np.arange(n) // 3
    machine = np.array(["press", "saw", "lathe"])[np.arange(n) % 3]
    y = ((machine == "saw") & (hour >= 120) & (hour < 170)).astype(np.int8)
    table = pd.DataFrame(
        {
            "time": pd.Timestamp("2026-03-02") + pd.to_timedelta(hour, "h"),
            "machine": machine,
            "temperature": (61 + 2 * rng.normal(size=n) + 9 * y).round(1),
            "pressure": (4.2 + 0.15 * rng.normal(size=n)).round(2),
            "flow": (118 + 4 * rng.normal(size=n) - 14 * y).round(1),
            "vibration": (0.9 + 0.08 * rng.normal(size=n) + 0.4 * y).round(3),
        }
    )
    return table, y


def show_wines(page: Page) -> None:
    """The example with eight labels, or as another page has left it."""
    if page.is_visible("#start"):
        page.click("#example")
        page.wait_for_selector("#grid tbody tr[data-row]")
        settle(page)
        label_suggested(page, example_sheet(load_universal()).truth, 8)
    page.mouse.move(2, 2)
    page.wait_for_timeout(600)
    settle(page)


def take(page: Page, path: Path, *ids: str) -> None:
    """A picture of the part of the page that these elements take up."""
    page.wait_for_timeout(300)
    boxes = [page.locator(f"#{name}").bounding_box() for name in ids]
    left, top = (min(box[side] for box in boxes) - 8 for side in ("x", "y"))
    right = max(box["x"] + box["width"] for box in boxes) + 8
    bottom = max(box["y"] + box["height"] for box in boxes) + 8
    scroll = page.evaluate("scrollY")
    clip = {"x": left, "y": top + scroll, "width": right - left, "height": bottom - top}
    page.screenshot(path=path, clip=clip, full_page=True)


def take_panels(page: Page, folder: Path) -> None:
    """The panels of a table with a clock and with groups, each by itself."""
    table, y = machines()
    upload(page, table.to_csv(index=False).encode(), "machines.csv")
    label_suggested(page, y, 6)
    page.click("th[data-column=vibration] .more")
    page.wait_for_timeout(200)
    take(page, folder / "app-column-menu.png", "frame", "floating-menu")
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    page.wait_for_selector("#queue:visible")
    settle(page)
    label_suggested(page, y, 4)
    take(page, folder / "app-queue.png", "row-card")
    label_suggested(page, y, 6)
    page.keyboard.press("Escape")
    label_some(page, y)
    in_sight(page, "#groups-box")
    in_sight(page, "#timeline")
    take(page, folder / "app-time.png", "timeline-card", "groups-card")
    in_sight(page, "#second-box")
    page.click("#compare")
    model = model_file.to_bytes(load_universal())
    page.set_input_files("#second-file", {"name": "fleet.safetensors", "mimeType": "", "buffer": model})
    page.wait_for_selector("#compare-table:visible")
    page.wait_for_selector("#second-remove:visible")
    settle(page)
    take(page, folder / "app-learning.png", "certainty-box", "second-box")


def shrink(path: Path) -> None:
    """Write a picture with 256 colours, which is a third as large and looks the same."""
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


@contextmanager
def running_app() -> Iterator[str]:
    """The address of an app that saves nothing of the person's own."""
    command = [sys.executable, "-m", "oddshot", "app", "--no-browser", "--port", "0"]
    with tempfile.TemporaryDirectory() as home:
        variables = {**os.environ, "XDG_STATE_HOME": home, "HOME": home}
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
        try:
            yield re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.terminate()
            process.wait()


def main(folder: Path) -> None:
    """Take all pictures."""
    with running_app() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)

        def open_page(look: str) -> Page:
            page = browser.new_context(**LOOKS[look]).new_page()
            watch(page)
            page.goto(url)
            page.wait_for_selector("#start:visible, #work:visible")
            settle(page)
            return page

        for look in LOOKS:
            page = open_page(look)
            show_wines(page)
            page.screenshot(path=folder / f"app-{look}.png")
        take_panels(open_page("light"), folder)
        browser.close()
    for path in folder.glob("app-*.png"):
        shrink(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
