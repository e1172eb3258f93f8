"""Chinese pages and workbooks have no English sentence, and English ones stay as they are."""

import re
from html import unescape

import pandas as pd
import pytest

from geodual.funds import DataError, fund_sheet, read_study, select
from geodual.funds.language import current_language, in_language
from geodual.funds.report.fund_page import render_fund
from geodual.funds.report.picks_page import render_selection
from geodual.funds.report.plots import draw_performance
from geodual.funds.report.render import add_link_to_picks, render_report
from tests.funds.report_page import Page, reworded

# Two words of Latin letters in a row; names of funds, forecasters, files and settings are single words.
ENGLISH = re.compile(r"[A-Za-z][a-z]+(?: [A-Za-z][a-z]+)+")
CHINESE = re.compile("[\u4e00-\u9fff]")
SHOWN = ("aria-label", "alt", "title", "data-title", "data-label")


@pytest.fixture(scope="module")
def facts(universe):
    table = {"code": list(universe.panel.nav), "type": ["混合型", "债券型"] * 25}
    return pd.DataFrame(table | {"purchase_fee": 0.0015, "redemption_fees": "7:0.015;365:0.005"})


@pytest.fixture(scope="module")
def selection(universe, facts):
    held = pd.DataFrame({"code": list(universe.panel.nav)[:3], "units": [100.0, 50.0, 20.0]})
    settings = {"top": 5, "cost": 0.002, "execution_lag": 1, "max_type": 0.6}
    return select(
        universe.panel,
        metric="euclidean",
        index=universe.index,
        facts=facts,
        holdings=held,
        cash=1000.0,
        n_jobs=1,
        **settings,
    )


def english_in(texts):
    """Return the runs of English words."""
    return sorted({run for text in texts for run in ENGLISH.findall(text)})


def texts_of(page):
    """Return all that a reader may see or hear of a page."""
    elements = Page(page)
    shown = [attributes[name] for _, attributes in elements.elements for name in SHOWN if name in attributes]
    plain = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    return [unescape(text) for text in re.findall(r">([^<]+)<", plain)] + shown


def assert_is_chinese(page):
    texts = texts_of(page)
    assert english_in(texts) == []
    assert sum(bool(CHINESE.search(text)) for text in texts) > 20
    assert page.startswith('<!doctype html>\n<html lang="zh">')
    assert "\u202f%" not in page.partition("<script")[0]


def test_a_report_is_chinese_and_the_english_one_stays_as_it_is(study):
    before = render_report(study)
    with in_language("zh"):
        page = render_report(study)
    assert_is_chinese(page)
    data = Page(page).data
    texts = data["texts"]
    assert texts["test period →"] == "测试期 →"
    assert all(CHINESE.search(text) or text in ("IC", "{n}%", "{n} / {n_all}") for text in texts.values())
    assert data["names"]["momentum"] == "动量"
    assert english_in(data["reasons"]["factors"]) == []
    assert english_in(data["csv"]["findings"].splitlines()[1:]) == []
    assert render_report(study) == before
    assert "texts" not in Page(before).data
    assert '<html lang="en-GB">' in before


def test_the_page_of_picks_is_chinese(selection):
    before = render_selection(selection)
    with in_language("zh"):
        page = render_selection(selection)
    assert_is_chinese(page)
    assert "买什么，卖什么？" in page
    assert render_selection(selection) == before


def test_a_fact_sheet_is_chinese(universe, facts):
    styles = universe.panel.nav.iloc[:, 3:6].rename(columns=lambda fund: f"I{fund}")
    sheet = fund_sheet(
        universe.panel, universe.panel.nav.columns[0], index=universe.index, facts=facts, style_indices=styles
    )
    before = render_fund(sheet)
    with in_language("zh"):
        page = render_fund(sheet)
    assert_is_chinese(page)
    assert "近一年" in page
    assert render_fund(sheet) == before


def test_a_run_folder_stays_english(study, tmp_path):
    """Its report and figures are Chinese; what programs read is not, and any language can be made of it."""
    with in_language("zh"):
        study.save(tmp_path)
    again = read_study(tmp_path)
    assert again.notes == study.notes
    assert "动量" in (tmp_path / "report.html").read_text("utf-8")
    others = [path for path in tmp_path.iterdir() if path.suffix in (".csv", ".json", ".toml")]
    assert not [path.name for path in others if CHINESE.search(path.read_text("utf-8"))]
    (tmp_path / "picks.html").write_text("")
    add_link_to_picks(tmp_path / "report.html")
    assert "本策略的下期入选基金</a>" in (tmp_path / "report.html").read_text("utf-8")
    again.report(tmp_path / "report.html", language="en")
    assert "The next picks of this strategy</a>" in (tmp_path / "report.html").read_text("utf-8")


def test_figures_are_labeled_in_the_language(study):
    with in_language("zh"):
        figure = draw_performance(study.equity, study.index_name, "2014-01-01")
    assert figure.axes[0].get_ylabel() == "累计收益"


def test_names_of_funds_and_companies_are_never_translated(study):
    facts = study.facts.reindex(columns=["name", "type", "company"]).copy()
    facts["name"], facts["company"] = "Growth of 1", "Fund"
    with in_language("zh"):
        data = Page(render_report(reworded(study, facts=facts))).data
    assert {name for name, _ in data["facts"].values()} == {"Growth of 1"}


def test_an_unknown_language_is_one_clear_error(study, selection, tmp_path):
    for write in (study.report, study.to_excel, selection.report, selection.to_excel):
        with pytest.raises(DataError, match="`language` must be one of en, zh, got 'de'"):
            write(tmp_path / "new.xlsx", language="de")
    assert list(tmp_path.iterdir()) == []
    assert current_language() == "en"
