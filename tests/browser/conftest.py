"""Chromium without a window, a network or a past; tests are skipped where it is not installed."""

import shutil

import pytest

from geodual.funds.report.render import write_report
from tests.browser.hostile_study import hostile_study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


@pytest.fixture(scope="package")
def browser(tmp_path_factory):
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """The file of a report."""
    return write_report(hostile_study(), tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def page(browser, report):
    """The report, wide and light; what the console says at the end of a test is an error."""
    from tests.browser.browser_page import WIDE, set_scheme, set_width

    set_width(browser, WIDE)
    set_scheme(browser, "light")
    browser.get_log("performance")
    browser.get(report.as_uri())
    yield browser
    assert browser.get_log("browser") == []
