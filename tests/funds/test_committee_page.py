"""The page that a committee decides on: its figures recomputed by hand, and the seven answers in order."""

import re
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

from geodual.funds import backtest, select
from geodual.funds.evaluation.case import correlate_picks, measure_picks, mix_picks, worst_quarter
from geodual.funds.evaluation.market import FeeRules
from geodual.funds.report.committee import list_cautions
from geodual.funds.report.picks_page import render_selection
from tests.browser.hostile_study import HOSTILE
from tests.funds.report_page import Page

QUESTIONS = [
    "What to buy?",
    "Why?",
    "After fees, what did it earn?",
    "At what risk?",
    "Against which peers and index?",
    "How sure is that?",
    "What speaks against it?",
]
SETTINGS = {"top": 5, "cost": 0.002, "execution_lag": 1}


@pytest.fixture(scope="module")
def facts(universe):
    funds = list(universe.panel.nav)
    table = {"code": funds, "name": [f"Name {fund}" for fund in funds], "type": ["bond", "stock"] * 25}
    return pd.DataFrame(table | {"purchase_fee": 0.0015, "redemption_fees": "7:0.015;365:0.005"})


@pytest.fixture(scope="module")
def study(universe, facts):
    return backtest(universe.panel, universe.index, "euclidean", facts=facts, **SETTINGS)


@pytest.fixture(scope="module")
def selection(universe, facts):
    return select(universe.panel, metric="euclidean", index=universe.index, facts=facts, **SETTINGS)


def told(selection):
    """Return the answers of the page as plain text, by question, in order."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", render_selection(selection))
    return {question: re.sub("<[^>]*>", "", answer).replace("\u202f", " ") for question, answer in found}


def percent(share):
    return f"{100 * share:.1f} %".replace("-", "−")


def years(days):
    return (days[-1] - days[0]).days / 365.25


def test_the_net_record_is_that_of_an_outside_ledger(universe, study, selection):
    """Money and units from the list of fills alone, valued on the last day."""
    money, units = 1.0, dict.fromkeys(universe.panel.nav, 0.0)
    for fill in study.fills.itertuples():
        sign = 1.0 if fill.side == "buy" else -1.0
        money -= sign * fill.value + fill.fee
        units[fill.fund] += sign * fill.units
    last = universe.panel.nav.ffill().iloc[-1]
    worth = money + sum(units[fund] * last[fund] for fund in units if units[fund] > 1e-12)
    curve = selection.case.record.curves["picks"]
    assert curve.iloc[-1] == pytest.approx(worth, abs=1e-12)
    per_year = worth ** (1.0 / years(curve.index)) - 1.0
    earned = told(selection)["After fees, what did it earn?"]
    assert earned.startswith(f"{percent(per_year)} per year, net of all costs. {curve.index[0].date()}")
    cost = study.trades["cost"].sum() / years(curve.index)
    exchanged = study.trades["turnover"].iloc[1:].mean()
    assert (
        f"Costs took {100 * cost:.2f} % per year, with {100 * exchanged:.0f} % exchanged per quarter."
        in earned
    )


def test_risk_and_rivals_are_those_of_the_curves_of_the_study(universe, study, selection):
    curve = study.equity["euclidean"]
    quarters = [
        1.0,
        *(curve[curve.index.to_period("Q") == q].iloc[-1] for q in curve.index.to_period("Q").unique()),
    ]
    worst = min(after / before - 1.0 for before, after in pairwise(quarters))
    deepest = min(value / curve[:day].max() - 1.0 for day, value in curve.items())
    answers = told(selection)
    risk = f"Strategy: deepest loss {percent(deepest)}, worst quarter {percent(worst)}, volatility "
    assert answers["At what risk?"].startswith(risk)
    against = answers["Against which peers and index?"]
    base = study.baseline_equity
    rivals = {"universe": base["universe"], "momentum": base["momentum"], "index": study.equity["index"]}
    spans = [universe.panel.nav.index.get_indexer(study.ic.index) + 1, len(universe.panel.nav) - 1]
    ends = universe.panel.nav.index[[*spans[0], spans[1]]]
    for name, words in (
        ("universe", "all funds with equal weights"),
        ("momentum", "momentum"),
        ("index", None),
    ):
        words = words or universe.index.name
        rival = rivals[name]
        per_year = (rival.iloc[-1] / rival.iloc[0]) ** (1.0 / years(rival.index)) - 1.0
        assert f"{words} {percent(per_year)}" in against
        won = sum(curve[b] / curve[a] > rival[b] / rival[a] for a, b in pairwise(ends))
        assert f"{words} in {won} of {len(ends) - 1}" in against


def test_risk_of_a_pick_by_hand():
    days = pd.bdate_range("2018-01-01", "2022-06-30", name="date")
    nav = pd.DataFrame({"A": 1.0, "B": np.linspace(1.0, 2.0, len(days))}, index=days)
    nav.loc["2018-06-01":"2018-12-31", "A"] = 0.2  # more than three years ago
    nav.loc["2020-02-03":"2020-05-29", "A"] = 0.7  # the first quarter ends here, the next with 1 again
    fees = FeeRules(0.001, {"B": 0.0}, own_redemption={"B": ((7, 0.015),)})
    risk = measure_picks(nav, pd.Index(["A", "B"]), fees)
    assert risk["max_drawdown"].tolist() == pytest.approx([-0.3, 0.0])
    assert risk["worst_quarter"]["A"] == pytest.approx(-0.3)
    assert risk["worst_quarter"]["B"] > 0.0
    assert risk["years"].tolist() == pytest.approx([3.0, 3.0], abs=0.01)
    assert risk["purchase"].tolist() == [0.001, 0.0]
    assert risk["redemption"].tolist() == [((0, 0.001),), ((7, 0.015),)]
    mixed = mix_picks(nav, pd.Series({"A": 0.5, "B": 0.5}))
    assert mixed.iloc[-1] == pytest.approx(0.5 + 0.5 * 2.0 / nav["B"].loc["2019-06-30":].iloc[0])
    assert np.isnan(worst_quarter(nav["A"].iloc[:1]))


def test_overlap_is_the_correlation_of_weekly_returns(universe, selection):
    one, other = selection.picks["fund"].iloc[:2]
    nav = universe.panel.nav[[one, other]].loc["2013-12-31":]
    fridays = nav.resample("W-SUN").last().dropna(how="all")  # weeks of holidays
    steps = (fridays / fridays.shift(1) - 1.0).dropna()
    expected = np.corrcoef(steps.T)[0, 1]
    assert selection.case.correlations.loc[one, other] == pytest.approx(expected, abs=1e-12)
    flat = nav.assign(**{other: 1.0})
    assert np.isnan(correlate_picks(flat, pd.Index([one, other])).loc[one, other])


def test_the_pair_that_moves_together_most_is_named(selection):
    table = selection.case.correlations
    pairs = {(one, other): table.loc[one, other] for one, other in combinations(table, 2)}
    one, other = max(pairs, key=pairs.get)
    text = render_selection(selection).replace("−", "-")
    assert f"highest for {one} and {other}, {pairs[one, other]:.2f}." in text


def test_an_index_that_is_not_like_the_picks_is_named(selection):
    unlike = replace(selection, record=replace(selection.record, beta=0.2))
    question = "Against which peers and index?"
    assert "the picks take 20% of the moves of" in told(unlike)[question]
    alike = replace(selection, record=replace(selection.record, beta=1.0))
    assert "not alike" not in told(alike)[question]


def test_seven_questions_are_answered_in_order_before_anything_else(selection):
    page = render_selection(selection)
    assert list(told(selection)) == QUESTIONS
    assert page.index("What speaks against it?") < page.index("What to hold")
    assert told(selection)["What to buy?"].startswith("5 funds, 20.0 % of the money each")
    listed = re.search('<ol class="names">(.*?)</ol>', page)[1]
    assert re.findall("<li>(.*?)</li>", listed) == selection.picks["name"].tolist()
    assert "not above zero" in told(selection)["How sure is that?"] or selection.record.ic > 0.0


def test_fees_stand_beside_each_pick(selection):
    rows = Page(render_selection(selection)).table("Picks, best first")
    fees = "0.15\u202f% / 1.50\u202f% before 7 days, 0.50\u202f% before 365 days"
    assert [row["Buy / sell fee"] for row in rows] == [fees] * 5


def test_concentration_and_better_rivals_are_named(selection):
    case = selection.case
    curves = case.record.curves.assign(universe=np.linspace(1.0, 9.0, len(case.record.curves)))
    ahead = replace(case, record=replace(case.record, curves=curves))
    known = [note for note in selection.notes if not note.startswith("Concentration")]
    notes = (*known, "Concentration: of the picks, 5 of 5 are of the type pharma.")
    cautions = list_cautions(replace(selection, notes=notes), ahead)
    assert cautions[0].startswith("All funds with equal weights earned ")
    assert [each for each in cautions if each in notes] == [notes[-1], *known]
    assert sum("pharma" in caution for caution in cautions) == 1


def test_without_index_momentum_and_record(universe):
    bare = select(universe.panel, metric="euclidean", top=5, baselines=())
    against = told(bare)["Against which peers and index?"]
    assert "momentum" not in against
    assert "No index was given." in against
    assert "no costs were set" in told(bare)["After fees, what did it earn?"]
    first = select(universe.panel, "2012-12-31", metric="euclidean", top=5)
    answers = told(first)
    assert list(answers) == QUESTIONS
    assert answers["After fees, what did it earn?"] == "There is no past decision with a known outcome."
    assert answers["How sure is that?"].startswith("It cannot be judged")


def test_one_pick_and_none(universe):
    one = select(universe.panel, metric="euclidean", top=1)
    assert told(one)["What to buy?"].startswith("1 fund, 100.0 % of the money")
    assert 'id="overlap"' not in render_selection(one)
    none = replace(one, picks=one.picks.iloc[:0], case=replace(one.case, risk=one.case.risk.iloc[:0]))
    assert told(none)["What to buy?"] == "No fund."


def test_hostile_texts_do_no_harm(selection, universe):
    index = universe.index.rename(HOSTILE)
    picks = selection.picks.assign(name=HOSTILE, type=HOSTILE, finding=HOSTILE)
    text = render_selection(
        replace(selection, picks=picks, case=replace(selection.case, index_name=str(index.name))),
        title=HOSTILE,
    )
    assert HOSTILE not in text
    assert not [tag for tag, _ in Page(text).elements if tag == "script"]
    outside = [
        link for link in re.findall(r'(?:href|src)="([^"]*)"', text) if not link.startswith(("data:", "#"))
    ]
    assert outside == []


def test_fact_sheets_stand_beside_the_page(universe, tmp_path):
    nav = universe.panel.nav.rename(columns=lambda fund: f"../{fund} é")
    found = select(nav, metric="euclidean", top=2)
    page = found.report(tmp_path / "new" / "picks.html", sheets=True, title="Our <committee>")
    text = page.read_text("utf-8")
    assert "<h1>Our &lt;committee&gt;</h1>" in text
    links = sorted(set(re.findall(r'href="(funds/[^"]*)"', text)))
    assert len(links) == 2
    assert sorted(path.name for path in (tmp_path / "new" / "funds").iterdir()) == [
        link[6:] for link in links
    ]
    for fund in found.picks["fund"]:
        assert any(f"<h1>{fund}</h1>" in (page.parent / link).read_text("utf-8") for link in links)
    assert {path.name for path in tmp_path.iterdir()} == {"new"}


def test_an_index_that_ends_early_is_compared_on_its_own_days(universe):
    short = universe.index.loc[:"2013-12-31"]
    found = select(universe.panel, metric="euclidean", top=5, index=short)
    assert f"{short.name} has levels from 2012-12-31 to" in told(found)["Against which peers and index?"]
    row = found.case.record.measures(0.0).loc["index"]
    expected = (short.iloc[-1] / short["2012-12-31"]) ** (365.25 / (row["last"] - row["first"]).days) - 1.0
    assert row["annual_return"] == pytest.approx(expected)
