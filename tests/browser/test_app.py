"""The app in a real browser: a person drops a table, runs a study, looks at it, compares, and quits."""

import asyncio
import json
import os
import threading
from contextlib import contextmanager
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from geodual.app.serve import running
from geodual.funds import synthetic_universe

pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.browser_page import NARROW, WIDE, click, find, find_all, set_scheme, set_width

HOSTILE = "<img src=x onerror=alert(1)>"
PATIENCE = 120  # seconds for a study on a busy machine


@contextmanager
def served(folder):
    """Serve the app in a thread while a block runs, and return its address for a browser."""
    ready, ends = threading.Event(), []

    async def serve():
        async with running(folder) as desk:
            ends.extend([desk, asyncio.get_running_loop()])
            ready.set()
            await desk.over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    desk, loop = ends
    try:
        yield f"http://{desk.hosts[0]}/start/{desk.key}"
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(desk.over.set)
        thread.join(30)
    assert not thread.is_alive()
    assert not desk.uploads.exists()


@pytest.fixture
def opened(browser, tmp_path):
    """The first page of the app; the console must stay silent."""
    set_width(browser, WIDE)
    set_scheme(browser, "light")
    with served(tmp_path / "runs") as address:
        browser.get_log("performance")
        browser.get(address)
        yield browser
        refused = "/begin - Failed to load resource: the server responded with a status of 400"
        assert [each for each in browser.get_log("browser") if refused not in each["message"]] == []
        messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = {
            m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"
        }
        origin = address.split("/start/")[0]
        assert {url for url in asked if not url.startswith(("data:", "blob:", f"{origin}/"))} == set()


PROBLEMS = """
return [...document.querySelectorAll(".failure, .alert")].map((each) => each.innerText).filter(Boolean);
"""


def wait_for(page, selector, seconds=PATIENCE):
    """Wait until there is an element, and return it; fail at once if the page has an error instead."""

    def look(page):
        problems = page.execute_script(PROBLEMS)  # at once: the page may reload between two questions
        assert problems == [] or selector == ".failure"
        return find_all(page, selector)

    changing = [StaleElementReferenceException]  # a page reloads when its job is over
    return WebDriverWait(page, seconds, ignored_exceptions=changing).until(look)[0]


def drop(page, path):
    """Give a table to the page, and wait until it is read."""
    find(page, "#table").send_keys(str(path))
    return wait_for(page, "#settings")


def set_boxes(page, name, *chosen):
    for box in find_all(page, f"input[name={name}]"):
        if box.is_selected() != (box.get_attribute("value") in chosen):
            click(page, box)


def write(page, name, text):
    """Open the group of a field, and write into it."""
    field = find(page, f"#field-{name}")
    page.execute_script("arguments[0].closest('details').open = true", field)
    field.clear()
    field.send_keys(text)


def run_study(page, **changed):
    set_boxes(page, "metrics", "euclidean")
    for name, text in {"jobs": "1", "baselines": "universe", **changed}.items():
        write(page, name, text)
    click(page, find(page, "#settings > button"))


def assert_accessible(page):
    axe = pytest.importorskip("axe_core_python", reason="needs axe-core: pip install axe-core-python")
    page.execute_script(files(axe).joinpath("axe.min.js").read_text("utf-8"))
    found = page.execute_async_script("axe.run().then(arguments[0])")
    serious = [issue for issue in found["violations"] if issue["impact"] in ("serious", "critical")]
    assert [(issue["id"], [node["html"] for node in issue["nodes"]][:3]) for issue in serious] == []


def assert_looks_fine(page):
    """Nothing is wider than a window or a phone, and axe finds nothing serious, light or dark."""
    for width in (WIDE, NARROW):
        set_width(page, width)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert_accessible(page)
    set_scheme(page, "dark")
    assert_accessible(page)
    set_scheme(page, "light")
    set_width(page, WIDE)


@pytest.fixture
def table(tmp_path):
    """A small table whose first fund has a hostile name."""
    nav = synthetic_universe(15, "2014-01-02", "2015-09-30").panel.nav
    path = tmp_path / ("ordinary.csv" if os.name == "nt" else f"{HOSTILE}.csv")  # Windows allows no such name
    nav.rename(columns={nav.columns[0]: HOSTILE}).to_csv(path)
    return path


def test_from_a_table_to_picks_and_a_comparison(opened, table, tmp_path):
    assert_looks_fine(opened)
    drop(opened, table)
    assert find(opened, "h1").text == table.name
    assert "wide: one row per day, one column per fund" in find(opened, ".facts-list").text
    assert HOSTILE in find(opened, "table").text
    assert_looks_fine(opened)
    run_study(opened, top="none")
    alert = WebDriverWait(opened, 10).until(lambda page: find(page, "#settings .alert").text)
    assert alert.startswith("“Funds to hold” must be a whole number")
    address = opened.current_url
    run_study(opened, top="3")
    headline = wait_for(opened, "p.headline").text
    assert headline
    assert_looks_fine(opened)
    look_at_report(opened, headline)
    choose_funds(opened)
    opened.get(address)
    wait_for(opened, "#settings")
    assert find(opened, "#field-top").get_attribute("value") == "3", "settings are kept"
    make_sheet(opened)
    run_study(opened, top="5")
    wait_for(opened, "p.headline")
    click(opened, find(opened, ".kicker a"))
    for box in find_all(opened, "input[name=run]"):
        click(opened, box)
    click(opened, find(opened, "form[method=get] button"))
    WebDriverWait(opened, 20, ignored_exceptions=[StaleElementReferenceException]).until(
        lambda page: (
            ["Funds", "to", "hold", "5", "3"] in [row.text.split() for row in find_all(page, "tbody tr")]
        )
    )
    assert_looks_fine(opened)
    assert find_all(opened, "main img") == []
    click(opened, find(opened, "#quit"))
    WebDriverWait(opened, 20).until(lambda page: "The app has ended" in find(page, "main").text)


@contextmanager
def in_tab(page, link):
    """Follow a link into its tab, and close it at the end; its page cannot reach the app."""
    first = page.current_window_handle
    click(page, link)
    WebDriverWait(page, 10).until(lambda page: len(page.window_handles) == 2)
    page.switch_to.window(next(handle for handle in page.window_handles if handle != first))
    WebDriverWait(page, 20).until(lambda page: find_all(page, "main h2, main h3"))
    assert page.execute_script("return window.origin") == "null"
    yield
    page.close()
    page.switch_to.window(first)


def look_at_report(page, headline):
    """Open the report in its tab: its charts are drawn."""
    with in_tab(page, find(page, "a[href$='report.html']")):
        WebDriverWait(page, 20).until(lambda page: find_all(page, "canvas"))
        assert headline.split(".")[0] in find(page, ".headline").text
        assert page.execute_script("return Object.keys(Chart.instances).length") > 0


DROP = """
    const files = new DataTransfer();
    files.items.add(new File([arguments[1]], arguments[2]));
    const given = { dataTransfer: files, bubbles: true, cancelable: true };
    for (const name of ["dragover", "drop"]) arguments[0].dispatchEvent(new DragEvent(name, given));
"""


def choose_funds(page):
    """Go on from a run to orders and the committee's page, with holdings dropped on the form."""
    click(page, find(page, "a[href$='/choose']"))
    held = wait_for(page, "[data-holdings]")
    page.execute_script(DROP, held, f"code,value\n{HOSTILE},1000\nM00002,2000\nNOWHERE,5\n", "<b>mine.csv")
    rows = wait_for(page, "[aria-label='What you hold']").text
    assert HOSTILE in rows
    assert "NOWHERE – – 5.00 Can change an order: not in the table" in " ".join(rows.split())
    assert_looks_fine(page)
    find(page, "#cash").send_keys("500" + Keys.ENTER)
    orders = wait_for(page, "[aria-label=Orders]").text
    assert "unknown" in orders
    assert len(find_all(page, "[aria-label=Picks] tbody tr")) == 3
    assert "3,500.00, of which 500.00 in cash" in find(page, ".facts-list").text
    assert_looks_fine(page)
    with in_tab(page, find(page, "a[href$='picks.html']")):
        fund = find(page, "#picks a")
        name = fund.text
        click(page, fund)
        WebDriverWait(page, 20).until(lambda page: name in find(page, "h1").text)
        page.back()
        WebDriverWait(page, 20).until(lambda page: find_all(page, "#orders"))
    click(page, find(page, ".kicker a:last-child"))
    wait_for(page, "a[href$='picks.html']")


def make_sheet(page):
    """Make the fact sheet of the fund with the hostile name, and come back to the table."""
    click(page, find(page, "a[href$='/sheets']"))
    field = wait_for(page, "#fund")
    known = [option.get_attribute("value") for option in find_all(page, "#funds option")]
    assert known[0] == HOSTILE
    assert len(known) == 15
    field.send_keys(HOSTILE + Keys.ENTER)
    made = wait_for(page, "a[href$='fact-sheet.html']")
    assert made.text == HOSTILE
    assert_looks_fine(page)
    with in_tab(page, made):
        assert find(page, "h1").text == HOSTILE
    page.back()
    wait_for(page, "#settings")


def test_cancel_and_resume_with_the_keyboard(opened, table):
    drop(opened, table)
    set_boxes(opened, "metrics", "euclidean", "rpdml", "lmnn")
    write(opened, "jobs", "1")
    write(opened, "k", "5" + Keys.ENTER)
    button = wait_for(opened, "[data-job] button")
    button.send_keys(Keys.ENTER)
    resume = wait_for(opened, "[data-post*=resume]")
    assert find(opened, "h2").text == "The run was canceled"
    assert_looks_fine(opened)
    resume.send_keys(Keys.SPACE)
    wait_for(opened, "p.headline")


def test_what_is_no_table_is_told_in_one_line(opened, tmp_path):
    path = tmp_path / "letter.csv"
    path.write_text("Dear Sir,\nthis is no table.\n")
    find(opened, "#table").send_keys(str(path))
    told = wait_for(opened, ".failure").text
    assert "letter.csv" in told
    assert str(tmp_path) not in told
    assert_looks_fine(opened)


def test_a_table_of_50_megabytes(opened, tmp_path):
    rng = np.random.default_rng(0)
    days = pd.bdate_range("2006-01-02", periods=3000, name="date")
    nav = np.exp(rng.normal(0.0, 0.01, (3000, 950)).cumsum(axis=0))
    path = tmp_path / "large.csv"
    pd.DataFrame(nav, days, [f"F{i:04}" for i in range(950)]).to_csv(path)
    assert path.stat().st_size > 50e6
    drop(opened, path)
    assert "950" in find(opened, ".facts-list").text
    assert "3,000 from 2006-01-02" in find(opened, ".facts-list").text
    click(opened, find(opened, "#quit"))
