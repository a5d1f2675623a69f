"""A browser, and a JupyterLab of its own, for each file of tests that asks for them."""

import os
import signal

import pytest

# As a kernel does. Without it nothing could interrupt an endless loop where SIGINT is ignored, as it is under nohup.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


# What these import would take a second of each run of a single file.


@pytest.fixture(scope="module")
def browser():
    from browser import HOW_TO_GET_IT, SWITCHES, chromium
    from playwright.sync_api import sync_playwright

    path = chromium()
    if path is None and os.environ.get("CI"):
        pytest.fail(f"no Chromium: {HOW_TO_GET_IT}")
    if path is None:
        pytest.skip(f"To run the browser tests, {HOW_TO_GET_IT}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    from browser import Lab

    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.stop()
