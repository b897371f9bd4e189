"""The documentation site, built once and opened from the disk in Chromium: every page, search, dark mode, phone."""

import subprocess
import sys

import pytest

from tests.app.conftest import CHROMIUM
from tests.app.test_browser import ARGUMENTS
from tests.docs.pages import PAGES, ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed")

MAX_SECONDS = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=MAX_SECONDS)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def chromium():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, site):
    """Opens the first page; none may have errors or warnings, or request anything beyond the site's folder."""
    complaints, contexts = [], []

    def make(**settings):
        contexts.append(chromium.new_context(**settings))
        page = contexts[-1].new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: is_aborted(request) or complaints.append(f"failed: {request.url}"))
        page.on("request", lambda request: is_here(request.url, site) or complaints.append(request.url))
        page.goto((site / "index.html").as_uri())
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


def is_aborted(request):
    """Whether the reader has gone to another page before the answer."""
    return request.failure == "net::ERR_ABORTED"


def is_here(url, site):
    return url.startswith((site.as_uri(), "data:", "blob:", "about:"))


def check(page):
    """A page has a title and all of its pictures, and is not wider than the window of a laptop or a phone."""
    assert page.inner_text("h1").strip(), page.url
    assert page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)") == []
    for width in (375, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")  # once it is laid out again


def test_a_reader_clicks_through_every_page(open_page, site):
    """By the link to the next page; pages that are not in the navigation are opened by their address."""
    page = open_page()
    check(page)
    visited = [page.url]
    while page.is_visible(".md-footer__link--next"):
        page.click(".md-footer__link--next")
        check(page)
        visited.append(page.url)
    expected = {(site / name.removeprefix("docs/")).with_suffix(".html").as_uri() for name in PAGES}
    assert expected <= set(visited)
    others = {path.as_uri() for path in site.rglob("*.html") if path.name != "404.html"} - set(visited)
    assert (site / "results/field/index.html").as_uri() in others
    for address in sorted(others):
        page.goto(address)
        check(page)


def test_search_works_from_the_disk(open_page):
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("false-positive rate")
    page.wait_for_selector(".md-search-result__item")
    assert page.locator(".md-search-result__link").count() > 3
    page.click(".md-search-result__link >> nth=0")
    page.wait_for_selector("h1")
    assert "false" in page.inner_text("article").lower()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_colours_of_the_system(open_page, scheme):
    page = open_page(color_scheme=scheme)
    page.wait_for_function(f"document.body.dataset.mdColorScheme === {'slate' if scheme == 'dark' else 'default'!r}")
    brightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    )
    assert (page.evaluate(brightness) > 384) == (scheme == "light")
    page.click("label[title^='Switch to'] >> visible=true")
    assert (page.evaluate(brightness) > 384) == (scheme == "dark")


def test_a_phone_has_a_menu(open_page):
    page = open_page(viewport={"width": 375, "height": 700}, has_touch=True, is_mobile=True)
    page.click("label.md-header__button[for='__drawer']")
    page.click("label.md-nav__link:has-text('How to')")
    page.click(".md-nav a:has-text('Export to ONNX')")
    assert page.inner_text("h1").startswith("Export to ONNX")


def test_the_reference_has_every_public_name_and_command(open_page, site):
    import typer.main

    import oddshot
    from oddshot import cli
    from tests.docs.options import options_of

    page = open_page()
    page.goto((site / "reference/api.html").as_uri())
    headings = page.eval_on_selector_all("article h2", "all => all.map(h => h.id)")
    assert {f"oddshot.{name}" for name in oddshot.__all__} <= set(headings)
    page.goto((site / "reference/commands.html").as_uri())
    text = page.inner_text("article")
    known = options_of("oddshot", typer.main.get_command(cli.app))
    for command, options in known.items():
        if not any(other.startswith(f"{command} ") for other in known):  # a group of commands has no section
            assert command in text
            assert all(option in text for option in options - {"--help"}), command
