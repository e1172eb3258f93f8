"""The sections of the report: what each shows, when it is left out, and where the contents lead."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from geodual.funds import backtest
from geodual.funds.report.portfolio_sections import make_heat_map
from geodual.funds.report.render import render_report
from geodual.funds.report.wording import format_number, format_percent
from tests.browser.hostile_study import hostile_study
from tests.funds.report_page import Page, reworded

TYPED = {"types", "exposure"}


@pytest.fixture(scope="module")
def html(study):
    return render_report(study)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def typed(study):
    """Return the study with two types of funds, in turn, and one fund of unknown type."""
    funds = study.facts.index
    types = pd.Series(["bond", "stock"] * len(funds), dtype=object)[: len(funds)].set_axis(funds)
    types.iloc[3] = np.nan
    names = pd.Series([f"Name of {fund}" for fund in funds], index=funds)
    return replace(study, facts=study.facts.assign(name=names, type=types))


@pytest.fixture(scope="module")
def known(study):
    return typed(study)


@pytest.fixture(scope="module")
def typed_page(known):
    return Page(render_report(known))


def test_the_contents_lead_to_every_section(page):
    groups = ["summary", "forecasts", "portfolio", "risk", "trading", "inputs"]
    sections = [kept["id"] for tag, kept in page.elements if tag == "section"]
    # The contents come first in the page; the links of the first card follow.
    links = [link[1:] for link in page.values("href") if link.startswith("#") and link != "#main"]
    assert links[: len(sections)] == sections
    assert [name for name in sections if name in groups] == groups
    assert set(links) <= set(sections)


def test_no_link_leads_nowhere_in_a_study_without_results(study):
    unknown = replace(study, ic=study.ic * np.nan, predictions=study.predictions.assign(realized=np.nan))
    page = Page(render_report(unknown))
    assert {link[1:] for link in page.values("href") if link.startswith("#")} <= set(page.values("id"))


def test_sections_on_types_are_there_if_types_are_known(page, typed_page):
    assert TYPED.isdisjoint(page.values("id"))
    assert set(typed_page.values("id")) > TYPED


def test_a_study_that_was_saved_before_there_were_facts_is_rendered(study):
    old = replace(study, facts=pd.DataFrame(), ic_decay=pd.DataFrame(), random_portfolios=pd.DataFrame())
    old = replace(old, holdings=old.holdings.drop(columns="known"))
    page = Page(render_report(old))
    assert {"random", "distribution", *TYPED}.isdisjoint(page.values("id"))
    assert "random portfolios" not in page.text


def test_the_first_screen_compares_with_the_index_and_with_luck(study, page):
    rows = study.table().loc["both"]
    shown = page.table("Over the whole study")
    best = rows["ic_mean"].idxmax()
    for row, name in zip(shown, (best, "index"), strict=True):
        assert row["Return p.a."] == format_percent(rows["annual_return"][name])
        assert row["Sharpe"] == format_number(rows["sharpe"][name], 2)
        assert row["Drawdown"] == format_percent(rows["max_drawdown"][name])
    points = 100.0 * (rows["annual_return"][best] - rows["annual_return"]["index"])
    assert f"{points:.1f} points per year above the index." in page.text
    earned = study.table().loc["both"]["annual_return"][best]
    beaten = int((study.random_portfolios["annual_return"] < earned).sum())
    assert f"it beats {beaten:,} of 1,000 random portfolios by return" in page.text


def test_the_universe_earns_what_its_funds_earn_between_rebalances(study, universe):
    """All funds with a forecast, bought at equal weights on each rebalance day and held until the next.

    The money of a fund that has just closed waits ten rows, so the curve is not exactly this product.
    """
    nav, value, days = universe.panel.nav.ffill(), 1.0, [*study.ic.index, study.equity.index[-1]]
    curve = study.baseline_equity["universe"]
    for start, end in pairwise(days):
        assert curve[start] == pytest.approx(value, rel=2e-3)
        funds = study.predictions.loc[study.predictions["date"] == start, "fund"].unique()
        value *= (nav.loc[end, funds] / nav.loc[start, funds]).mean()
    assert curve.iloc[-1] == pytest.approx(value, rel=2e-3)


def test_card_index_and_baseline_have_one_curve_of_equal_weights(universe):
    """Also where trades lag and cost: the same days, the same funds, and no cost."""
    rules = {"metrics": "euclidean", "execution_lag": 2, "cost": 0.01, "test_start": "2014-01-01", "top": 5}
    alone = backtest(universe.panel, **rules)
    beside = backtest(universe.panel, universe.index, **rules)
    curve = alone.equity["index"]
    assert curve.equals(alone.baseline_equity["universe"])
    assert curve.equals(beside.baseline_equity["universe"])
    earned = alone.table().loc[("both", "index"), "annual_return"]
    assert earned == alone.baselines.loc[("both", "universe"), "annual_return"]
    told = "All funds of the universe, equally weighted, earned"
    assert f"{told} {format_percent(earned)} per year before fees." in Page(render_report(beside)).text
    assert told not in render_report(alone), "it is the index"


@pytest.mark.parametrize(
    ("caption", "table", "columns"),
    [
        ("Against the index, test", "against_index", {"Beta": "beta", "CVaR": "cvar", "Alpha p.a.": "alpha"}),
        ("Best fifth minus worst, test", "spread_summary", {"t": "t", "p": "p", "Spread": "mean"}),
        ("Skill of the forecasts, test", "skill", {"IC mean": "ic_mean", "p": "p"}),
    ],
)
def test_tables_by_period_show_the_statistics(study, page, caption, table, columns):
    expected = getattr(study, table).loc["test"]
    rows = next(rows for title, rows in page.tables.items() if title.startswith(caption))
    titles = [text for _, text in rows[0]]
    for row, (_, values) in zip(rows[1:], expected.iterrows(), strict=True):
        for title, column in columns.items():
            exact = row[titles.index(title)][0]
            assert (np.nan if exact == "" else float(exact)) == pytest.approx(values[column], nan_ok=True)


def test_skill_and_overfitting_are_told_in_words(study, page):
    assert f"Probability of overfitting: {format_percent(study.overfitting_probability, 0)}." in page.text
    rows = page.table("Sharpe ratios after the number of trials")
    assert [row["Trials"] for row in rows] == ["3", "3", "3"]
    assert [row["Deflated"] for row in rows] == list(
        map(format_percent, study.overfitting["deflated_sharpe"])
    )


def test_the_ic_within_types_stands_beside_the_overall_one(known, typed_page):
    rows = typed_page.table("Mean IC overall and within types")
    assert [row["IC overall"] for row in rows] == list(map(format_number, known.ic.mean()))
    assert [row["IC within types"] for row in rows] == list(map(format_number, known.ic_within_types.mean()))


def test_the_heat_map_shows_every_month_and_year():
    days = pd.date_range("2014-11-01", "2016-02-01", freq="MS")
    months = pd.Series([0.1, -0.07, 0.0, 0.012, -0.031, 0.009, *[0.02] * 10], index=days)
    years = pd.Series({2014: 0.023, 2015: 0.15, 2016: -0.001})
    text = make_heat_map(months, years, "Months")
    rows = Page(text).tables["Months"]
    assert [text for _, text in rows[1]] == ["2014", *[""] * 10, "10.0", "−7.0", "2.3"]
    assert [text for _, text in rows[2]][:6] == ["2015", "0.0", "1.2", "−3.1", "0.9", "2.0"]
    assert [text for _, text in rows[3]] == ["2016", "2.0", "2.0", *[""] * 10, "−0.1"]
    tints = dict(re.findall(r'class="number (\w+)" data-value="([^"]+)"', text)[::-1])
    assert {tint: float(value) for tint, value in tints.items()} == {
        "gain3": 0.1,
        "loss3": -0.07,
        "flat": 0.023,  # of a year, which is three times as large for the same color
        "gain1": 0.012,
        "loss2": -0.031,
        "gain2": 0.15,
    }


def test_worst_drawdowns_have_one_row_per_portfolio_and_all_below(study, page):
    shown = page.table("Worst drawdown of each")
    assert [row["Depth"] for row in shown] == [
        format_percent(study.drawdowns[study.drawdowns["forecaster"] == name]["depth"].min())
        for name in study.equity
    ]
    assert len(page.table("Three worst drawdowns")) == len(study.drawdowns)


def test_names_and_types_of_the_funds_shown_are_embedded(study, known, typed_page):
    facts = typed_page.data["facts"]
    shown = {*study.holdings["fund"], *study.neighbors["neighbor"]}
    assert set(facts) == shown | {finding.fund for finding in study.findings if finding.fund}
    fund = known.facts.index[3]
    assert facts.get(fund, [f"Name of {fund}", ""]) == [f"Name of {fund}", ""], "its type is unknown"


def test_fees_are_those_that_were_paid(universe, html):
    settings = {"top": 5, "test_start": "2014-01-01", "cost": 0.001}
    plain = backtest(universe.panel, None, "euclidean", **settings)
    text = Page(render_report(plain)).text
    assert "A trade costs 0.10\u202f% of its value per side." in text
    assert "The fees paid were 0.10\u202f% of the value bought and 0.10\u202f% of the value sold." in text
    by_time = backtest(
        universe.panel, None, "euclidean", redemption_fees=("100:0.02", "300:0.01"), **settings
    )
    text = Page(render_report(by_time)).text
    sold = by_time.fills[by_time.fills["side"] == "sell"]
    mean = format_percent(sold["fee"].sum() / sold["value"].sum(), 2)
    assert "2.00\u202f% below 100 days and 1.00\u202f% below 300 days and nothing afterward" in text
    assert f"and {mean} of the value sold." in text
    assert "No fees were paid." in html


def test_fees_of_single_types_and_funds_are_told(universe, study):
    typed = reworded(study, config=replace(study.config, cost=0.001, redemption_fees=("bond:7:0.02",)))
    text = Page(render_report(typed)).text
    assert (
        "of type bond costs 2.00\u202f% below 7 days and nothing afterward and any other sale costs 0.10"
        in text
    )
    known = study.facts.notna().any(axis=None)
    assert ("Fees that the fund facts name take their place." in text) == known


def test_random_portfolios_are_said_to_have_equal_weights(study, page):
    risky = reworded(study, config=replace(study.config, weights="minimum-variance"))
    text = Page(render_report(risky)).text
    assert "random portfolios, which have equal weights, by return" in text
    assert "but with equal weights: the rank also shows what minimum-variance weights did" in text
    assert "equal weights" not in page.text


def test_forecasts_relative_to_a_type_are_named_so(study, html):
    kinds = ["a", "b"] * len(study.predictions)
    funds = study.predictions["fund"].unique()
    facts = pd.DataFrame({"name": None, "type": kinds[: len(funds)], "company": None}, funds)
    relative = replace(study, facts=facts)
    assert "excess returns over the mean of the fund&#x27;s type" in render_report(relative)
    assert "excess returns" not in html


def test_notes_on_the_run_are_listed(study):
    text = Page(render_report(reworded(study, notes=("One thing.", "Another thing.")))).text
    assert "One thing." in text
    assert "2 on the run" in text
    assert "notes" not in Page(render_report(reworded(study, notes=()))).values("id")


def test_a_report_is_small(html):
    assert len(html.encode()) < 1_000_000
    assert len(render_report(hostile_study()).encode()) < 1_500_000
