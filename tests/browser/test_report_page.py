"""The report in a real browser: Chromium, driven by selenium, without a network."""

import base64
import json
import os
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from geodual.funds import backtest, synthetic_universe
from geodual.funds.report.render import write_report
from geodual.funds.report.wording import VIEWS, format_percent
from tests.browser.hostile_study import HOSTILE, hostile_study

pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.browser_page import (
    NARROW,
    click,
    find,
    find_all,
    in_chart,
    set_scheme,
    set_width,
)

SCREENSHOTS = Path(__file__).parents[2] / "output" / "screenshots"


def save_screenshot(page, name, width):
    height = page.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    shot = page.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


@pytest.fixture
def empty_report(tmp_path):
    """One metric, and nothing is known of what came after its forecasts."""
    universe = synthetic_universe(40, "2012-01-04", "2013-06-28", seed=1)
    study = backtest(universe.panel, metrics="rpdml", top=5)
    unknown = study.holdings.assign(realized=np.nan)
    return write_report(replace(study, ic=study.ic * np.nan, holdings=unknown), tmp_path / "empty.html")


def test_a_study_without_results_opens(page, empty_report):
    page.get(empty_report.as_uri())
    assert "so no forecaster can be judged" in find(page, ".card .headline").text
    assert len(shown_picks(page)) == 5
    assert in_chart(page, "ic", "chart.data.datasets.length") == 1


@pytest.mark.skipif("GEODUAL_SCREENSHOTS" not in os.environ, reason="GEODUAL_SCREENSHOTS is not set")
def test_screenshots_of_an_ordinary_study(page, tmp_path):
    """For the eyes of people: nothing but the console is checked."""
    universe = synthetic_universe(60, "2012-01-04", "2018-12-28")
    study = backtest(universe.panel, universe.index, ("euclidean", "mahalanobis", "gmml", "rpdml"))
    page.get(write_report(study, tmp_path / "report.html").as_uri())
    for name, width in (("wide", 1400), ("tablet", 768), ("phone", NARROW)):
        for scheme in ("light", "dark"):
            set_width(page, width)
            set_scheme(page, scheme)
            save_screenshot(page, f"{name}-{scheme}", width)
    pdf = page.execute_cdp_cmd("Page.printToPDF", {})["data"]
    (SCREENSHOTS / "print.pdf").write_bytes(base64.b64decode(pdf))


def test_it_asks_the_network_for_nothing(page, report):
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} == {report.as_uri()}
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_legend_hides_a_curve_in_both_panels(page):
    button = find(page, "#performance .legend button")
    click(page, button)
    assert button.get_attribute("aria-pressed") == "false"
    assert [in_chart(page, plot, "chart.isDatasetVisible(0)") for plot in ("equity", "drawdown")] == [
        False
    ] * 2
    assert in_chart(page, "equity", "chart.isDatasetVisible(1)")
    click(page, button)
    assert in_chart(page, "drawdown", "chart.isDatasetVisible(0)")


def test_the_axis_can_be_logarithmic(page):
    assert in_chart(page, "equity", "chart.scales.y.type") == "linear"
    click(page, find(page, ".log-switch"))
    assert in_chart(page, "equity", "chart.scales.y.type") == "logarithmic"
    assert in_chart(page, "equity", "chart.scales.y.ticks.length") >= 2


def test_both_panels_have_one_axis_of_days(page):
    places = [
        in_chart(page, plot, "[chart.scales.x.left, chart.scales.x.right]") for plot in ("equity", "drawdown")
    ]
    assert places[0] == places[1]


def test_the_pointer_shows_all_curves(page):
    canvas = find(page, "[data-plot=equity]")
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
    ActionChains(page).move_to_element(canvas).perform()
    WebDriverWait(page, 5).until(lambda _: in_chart(page, "equity", "chart.tooltip.opacity") == 1)
    assert in_chart(page, "equity", "chart.tooltip.dataPoints.length") == 6  # with universe and momentum
    row = in_chart(page, "equity", "chart.tooltip.dataPoints[0].dataIndex")
    assert in_chart(page, "equity", "chart.tooltip.title") == [
        f"{hostile_study().equity.index[row]:%Y-%m-%d}"
    ]


def test_arrow_keys_read_the_values(page):
    study = hostile_study()
    find(page, "[data-plot=equity]").send_keys(Keys.END)
    spoken = find(page, "#performance .spoken").get_property("textContent")
    last = study.equity.iloc[-1]
    assert spoken.startswith(f"{last.name:%Y-%m-%d}: Euclidean {format_percent(last['euclidean'] - 1.0)}")
    find(page, "[data-plot=equity]").send_keys(Keys.ARROW_LEFT)
    assert (
        find(page, "#performance .spoken")
        .get_property("textContent")
        .startswith(f"{study.equity.index[-2]:%Y-%m-%d}: ")
    )


def shown_picks(page):
    rows = "[...document.getElementById('pick-rows').rows]"
    return page.execute_script(f"return {rows}.map(row => [...row.cells].map(cell => cell.textContent))")


def fund_cell(pick):
    """Return the text of a fund's cell: code, name, type, and the share of known factors if it is not all."""
    name, kind = hostile_study().facts.loc[pick.fund, ["name", "type"]]
    known = f" · {format_percent(pick.known, 0)} of its factors known" if pick.known < 1.0 else ""
    return f"{pick.fund}{name}{kind}{known}"


def test_selectors_change_the_picks(page):
    holdings = hostile_study().holdings
    days = holdings["date"].unique()
    for day, metric in ((days[-1], "rpdml"), (days[2], "rpdml"), (days[2], "euclidean")):
        Select(find(page, "#pick-day")).select_by_value(f"{day:%Y-%m-%d}")
        Select(find(page, "#pick-forecaster")).select_by_value(metric)
        picks = holdings[(holdings["date"] == day) & (holdings["forecaster"] == metric)]
        expected = [
            [fund_cell(pick), str(rank), *map(format_percent, (pick.weight, pick.forecast, pick.realized))]
            for rank, pick in enumerate(picks.itertuples(), start=1)
        ]
        assert [row[:5] for row in shown_picks(page)] == expected


def test_a_fund_is_explained_whatever_its_name(page):
    study = hostile_study()
    first = study.holdings.groupby(["date", "forecaster"])["fund"].transform("first")
    pick = study.holdings[(study.holdings["fund"] == HOSTILE) & (first != HOSTILE)].iloc[0]
    Select(find(page, "#pick-day")).select_by_value(f"{pick['date']:%Y-%m-%d}")
    Select(find(page, "#pick-forecaster")).select_by_value(pick["forecaster"])
    before = find(page, "#pick-reason").text
    button = next(button for button in find_all(page, "#pick-rows button") if button.text == HOSTILE)
    click(page, button)
    reason = find(page, "#pick-reason")
    assert reason.text != before
    assert reason.find_element(By.CSS_SELECTOR, "h4").text == f"{HOSTILE}\nname {HOSTILE}"
    assert len(reason.find_elements(By.CSS_SELECTOR, "tbody tr")) == study.config.k
    assert len(reason.find_elements(By.CSS_SELECTOR, ".factors li")) == 10
    assert [title.text for title in reason.find_elements(By.CSS_SELECTOR, "h5")] == list(VIEWS.values())
    assert button.get_attribute("aria-pressed") == "true"
    assert find(page, "h1").text == Path(study.source).name
    assert find_all(page, "img") == []


def test_tables_sort(page):
    panel = find(page, "#table1 .panel:not([hidden])")
    head = panel.find_elements(By.CSS_SELECTOR, "thead th")[1]
    for direction in ("descending", "ascending"):
        click(page, head.find_element(By.CSS_SELECTOR, "button"))
        assert head.get_attribute("aria-sort") == direction
        cells = panel.find_elements(By.CSS_SELECTOR, "tbody tr td:nth-child(2)")
        values = [cell.get_attribute("data-value") for cell in cells]
        assert values[-1] == ""
        numbers = [float(value) for value in values[:-1]]
        assert numbers == sorted(numbers, reverse=direction == "descending")


def test_tabs_follow_click_and_keys(page):
    tabs = find_all(page, "#table1 [role=tab]")
    assert [tab.text for tab in tabs] == ["Validation", "Test", "Both"]
    assert tabs[2].get_attribute("aria-selected") == "true"  # all decisions count
    tabs[2].send_keys(Keys.ARROW_LEFT)
    assert tabs[1].get_attribute("aria-selected") == "true"
    assert "test period" in find(page, "#table1 .panel:not([hidden]) caption").text


def test_long_tables_are_filled_when_opened(page):
    equity = hostile_study().equity
    click(page, find(page, "#performance summary"))
    box = find(page, "[data-fill=equity]")
    WebDriverWait(page, 5).until(lambda _: box.find_elements(By.CSS_SELECTOR, "tbody tr"))
    values = page.execute_script(
        "return [...arguments[0].querySelectorAll('tbody tr')].map(r => Number(r.cells[1].dataset.value))",
        box,
    )
    assert values == equity["euclidean"].tolist()


def test_a_csv_can_be_saved(page, tmp_path):
    behavior = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    click(page, find(page, "[data-csv=ic]"))
    saved = tmp_path / "ic.csv"
    WebDriverWait(page, 5).until(lambda _: saved.exists())
    study = hostile_study()
    assert saved.read_text("utf-8") == study.ic.to_csv(date_format="%Y-%m-%d", lineterminator="\n")


def test_dark_mode_follows_the_system_and_the_switch(page):
    color = "return getComputedStyle(document.body).backgroundColor"
    light = page.execute_script(color)
    set_scheme(page, "dark")
    dark = page.execute_script(color)
    assert light != dark
    # The page learns of the new scheme a little later.
    WebDriverWait(page, 5).until(lambda _: find(page, "#theme").get_attribute("aria-pressed") == "true")
    click(page, find(page, "#theme"))
    assert page.execute_script(color) == light
    assert in_chart(page, "equity", "chart.options.plugins.tooltip.backgroundColor") == "#ffffff"


def test_it_prints_all_periods_on_white(page):
    set_scheme(page, "dark")
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert (
        page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    )
    assert all(table.is_displayed() for table in find_all(page, "#table1 table"))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1400), ("light", NARROW)])
def test_axe_finds_nothing_serious(page, scheme, width):
    pytest.importorskip("axe_core_python", reason="needs axe-core: pip install axe-core-python")
    set_scheme(page, scheme)
    set_width(page, width)
    page.execute_script(
        "document.querySelectorAll('#annual details, #ic details').forEach(each => each.open = true)"
    )
    page.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text("utf-8"))
    found = page.execute_async_script("axe.run().then(arguments[0])")
    serious = [issue for issue in found["violations"] if issue["impact"] in ("serious", "critical")]
    assert [(issue["id"], [node["html"] for node in issue["nodes"]][:3]) for issue in serious] == []
