"""The layout of the report and of the page of picks, from wide screens to phones, and without scripts."""

from dataclasses import replace

import pytest

from geodual.funds import select, synthetic_universe
from geodual.funds.report.picks_page import render_selection, write_selection
from geodual.funds.report.render import write_report
from tests.browser.hostile_study import QUOTED, hostile_study
from tests.funds.report_page import reworded

pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.browser_page import NARROW, WIDE, click, find, find_all, in_chart, set_width

OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true)"
SMALL = """return [...document.querySelectorAll('a, button, select, summary, .switch')]
    .filter(each => each.checkVisibility() && !each.matches('.skip'))
    .map(each => [each.outerHTML.slice(0, 80), each.getBoundingClientRect()])
    .filter(([, box]) => Math.min(box.width, box.height) < 23.9).map(([text]) => text)"""


@pytest.fixture(scope="module")
def picks(tmp_path_factory):
    universe = synthetic_universe(40, "2012-01-04", "2014-12-31", seed=1)
    found = select(universe.panel, metric="euclidean", top=5)
    named = found.picks.assign(name=QUOTED, type="bond", known=0.7, finding="It stands still for long.")
    folder = tmp_path_factory.mktemp("picks")
    return write_selection(replace(found, picks=named), folder / "picks.html")


@pytest.mark.parametrize("width", [768, NARROW])
def test_no_page_needs_sideways_scrolling(page, picks, width):
    set_width(page, width)
    page.execute_script(OPEN_ALL)
    WebDriverWait(page, 5).until(lambda _: find_all(page, "[data-fill=findings] td"))
    wide = "return document.documentElement.scrollWidth"
    # The charts follow the width of the window in their own time.
    WebDriverWait(page, 5).until(lambda _: page.execute_script(wide) <= width)
    page.get(picks.as_uri())
    page.execute_script(OPEN_ALL)
    assert page.execute_script(wide) <= width


def test_fingers_find_what_they_can_touch(page):
    set_width(page, NARROW)
    page.execute_script(OPEN_ALL)
    WebDriverWait(page, 5).until(lambda _: find_all(page, "[data-fill=findings] td"))
    assert page.execute_script(SMALL) == []


def test_a_table_that_goes_on_is_shaded_and_keeps_its_first_column(page):
    set_width(page, NARROW)
    box = find(page, "#table1 .panel:not([hidden]) .scroll")
    widths = page.execute_script("return [arguments[0].scrollWidth, arguments[0].clientWidth]", box)
    assert widths[0] > widths[1]
    style = page.execute_script("return {...getComputedStyle(arguments[0])}", box)
    assert style["backgroundAttachment"] == "local, scroll", (
        "the cover moves with the table, the shade does not"
    )
    left = "return arguments[0].querySelector('tbody th').getBoundingClientRect().left"
    before = page.execute_script(left, box)
    page.execute_script("arguments[0].scrollLeft = 200", box)
    assert page.execute_script(left, box) == before


@pytest.mark.parametrize(
    "name", ["in_funds_2006_2015-adjusted_values.parquet", "a very long name of a file.csv"]
)
def test_the_title_breaks_between_words(page, tmp_path, name):
    study = reworded(hostile_study(), source=f"folder/{name}")
    page.get(write_report(study, tmp_path / "report.html").as_uri())
    set_width(page, NARROW)
    lines = page.execute_script(
        """const nodes = [...document.querySelector('h1').childNodes].filter(node => node.data);
        return nodes.flatMap(node => [...node.data.matchAll(/\\\\w+/g)].map(word => {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            return [word[0], new Set([...range.getClientRects()].map(box => box.top)).size];
        }))"""
    )
    assert [n_lines for _, n_lines in lines] == [1] * len(lines)
    assert find(page, "h1").size["height"] > 40, "it takes more than one line"
    assert find(page, "h1").text.replace("\n", " ").replace(" ", "") == name.replace(" ", "")


def test_the_contents_stand_beside_a_wide_page_and_mark_the_section_in_view(page):
    rail = find(page, ".rail")
    assert rail.rect["x"] + rail.rect["width"] < find(page, "main").rect["x"]
    for section, group in (("skill", "forecasts"), ("picks", "trading"), ("table1", "summary")):
        click(page, find(page, f".rail a[href='#{section}']"))
        WebDriverWait(page, 5).until(lambda _, expected={section, group}: marked(page) == expected)
        WebDriverWait(page, 5).until(lambda _, name=section: 0 <= top_of(page, name) < 30)
        assert page.execute_script("return arguments[0].getBoundingClientRect().top", rail) == 0, "in view"


def marked(page):
    """Return the names that the marked links of the contents lead to."""
    return {link.get_attribute("href").partition("#")[2] for link in find_all(page, ".rail a[aria-current]")}


def top_of(page, name):
    """Return how far the top of an element is below the top of the window."""
    return page.execute_script(
        "return document.getElementById(arguments[0]).getBoundingClientRect().top", name
    )


def test_the_contents_become_a_bar_of_groups_on_a_phone(page):
    set_width(page, NARROW)
    shown = [link for link in find_all(page, ".rail a") if link.is_displayed()]
    assert [link.text for link in shown] == ["Summary", "Forecasts", "Portfolio", "Risk", "Trading", "Data"]
    click(page, shown[3])
    WebDriverWait(page, 5).until(lambda _: shown[3].get_attribute("aria-current") == "true")
    bar = find(page, ".rail").rect["height"]
    assert bar < 50
    WebDriverWait(page, 5).until(lambda _: bar <= top_of(page, "risk") < 2 * bar)


def test_everything_but_charts_and_picks_works_without_scripts(page, report):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(report.as_uri())
        assert [card.text for card in find_all(page, ".card h4")] == [
            "Does it work?",
            "Compared with what?",
            "Can I trust it?",
        ]
        assert len(find_all(page, ".rail a")) > 20
        panels = page.find_elements(By.CSS_SELECTOR, "#table1 .panel, #monthly .panel")
        assert all(panel.is_displayed() for panel in panels)
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def choose(page, section, metric):
    Select(find(page, f"#{section} .chooser")).select_by_value(metric)


def test_the_reader_chooses_the_metric_of_a_histogram(page):
    ic = hostile_study().ic
    for metric in ("rpdml", "euclidean"):
        choose(page, "distribution", metric)
        bins = in_chart(page, "ic_histogram", "chart.data.datasets[0].data.map(bin => bin.y)")
        edges = in_chart(page, "ic_histogram", "[chart.scales.x.min, chart.scales.x.max]")
        width = (edges[1] - edges[0]) / len(bins)
        expected = [0] * len(bins)
        for value in ic[metric].dropna():
            expected[int((value - edges[0]) / width + 1e-9)] += 1
        assert bins == expected
        assert in_chart(page, "ic_histogram", "chart.marks[0].value") == pytest.approx(ic[metric].mean())


def test_random_portfolios_are_counted_and_metrics_marked(page):
    study = hostile_study()
    bins = in_chart(page, "random", "chart.data.datasets[0].data")
    width = bins[1]["x"] - bins[0]["x"]
    returns = study.random_portfolios["annual_return"]
    for place in bins:
        inside = returns.between(place["x"] - width / 2, place["x"] + width / 2, inclusive="left")
        assert abs(int(inside.sum()) - place["y"]) <= 1, "rounding may move a value on an edge"
    assert sum(place["y"] for place in bins) == len(returns) == 1000
    marks = {mark["name"]: mark["value"] for mark in in_chart(page, "random", "chart.marks")}
    assert marks == pytest.approx(study.table().loc["both"]["annual_return"].to_dict())
    click(page, find(page, "#random .legend button"))
    assert in_chart(page, "random", "[...chart.hidden]") == [next(iter(marks))]


def test_the_exposure_of_each_day_adds_up(page):
    exposure = hostile_study().exposure
    for metric in ("euclidean", "rpdml"):
        choose(page, "exposure", metric)
        drawn = in_chart(page, "exposure", "chart.data.datasets.map(set => [set.label, set.data])")
        own = exposure.xs(metric, level="forecaster")
        assert {label for label, _ in drawn} == set(own.columns)
        for label, values in drawn:
            assert values == pytest.approx(own[label].tolist())


def test_spreads_are_cumulated(page):
    spreads = hostile_study().spreads["rpdml"]
    names = in_chart(page, "spreads", "chart.data.datasets.map(set => set.name)")
    drawn = in_chart(
        page, "spreads", f"chart.data.datasets[{names.index('rpdml')}].data.map(point => point.y)"
    )
    assert drawn == pytest.approx(spreads.dropna().cumsum().tolist())


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_seven_answers_are_on_the_first_screen_of_the_picks(page, committee, width):
    page.get(committee.as_uri())
    set_width(page, width)
    assert len(find_all(page, ".answers dt")) == 7
    last = find_all(page, ".answers dd strong")[-1]
    assert page.execute_script("return arguments[0].getBoundingClientRect().bottom", last) <= 900
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert page.execute_script(SMALL) == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_machines_find_nothing_wrong_with_the_picks(page, committee, width):
    Axe = pytest.importorskip("axe_core_python.selenium", reason="needs axe-core-python").Axe
    page.get(committee.as_uri())
    set_width(page, width)
    page.execute_script(OPEN_ALL)
    found = Axe().run(page)
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []


@pytest.fixture(scope="module")
def committee(tmp_path_factory):
    """The page of ten picks with names, a record of two years, and links to sheets."""
    universe = synthetic_universe(60, "2012-01-04", "2014-12-31", seed=1)
    found = select(universe.panel, metric="euclidean", index=universe.index, facts=universe.facts, cost=0.001)
    sheets = {fund: f"funds/{fund}.html" for fund in found.picks["fund"]}
    path = tmp_path_factory.mktemp("committee") / "picks.html"
    path.write_text(render_selection(found, sheets=sheets), encoding="utf-8")
    return path
