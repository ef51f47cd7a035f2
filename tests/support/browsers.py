"""The Chromium of the machine, for tests that look at pages as a reader does."""

import os
import shutil
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium():
    """A headless Chromium; the test is skipped where there is none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="requirements-dev.txt is not installed"
    )
    # In a sandbox Chromium will not run as root.
    options = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@contextmanager
def opened(browser, url, size):
    """A page in a window of some size, which must neither complain nor want anything elsewhere."""
    page = browser.new_page(viewport=size)
    page.set_default_timeout(20_000)
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: line.type == "error" and faults.append(line.text))
    page.on("requestfailed", lambda wanted: faults.append(f"not loaded: {wanted.url[:200]}"))
    page.on("request", lambda wanted: local(wanted.url) or faults.append(wanted.url))
    visit(page, url)
    yield page
    page.close()
    assert not faults, faults


def visit(page, url):
    """Open a page and all that it loads; what is still on its way counts as failed later."""
    page.goto(url, wait_until="networkidle")


def local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))
