"""The report: its numbers, its words, what it does with hostile names."""

import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import backtest
from geodual.funds.factors.factor import choose_factors
from geodual.funds.report.markup import make_breakable, make_text
from geodual.funds.report.render import render_report, write_report
from geodual.funds.report.wording import format_number, format_p, format_percent, join_words, name_factor
from tests.browser.hostile_study import HOSTILE, QUOTED, hostile_study
from tests.funds.report_page import Page

pytestmark = pytest.mark.usefixtures("blank_figures")

LABELS = choose_factors().labels


@pytest.fixture(scope="module")
def page(study):
    return Page(render_report(study))


@pytest.mark.parametrize(
    "name", ["table1", "ic", "equity", "annual_returns", "holdings", "universe", "skill_map"]
)
def test_embedded_tables_are_the_files_of_the_run_folder(study, page, tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp() / "run"
    if not folder.exists():
        study.save(folder)
    assert page.data["csv"][name] == (folder / f"{name}.csv").read_text("utf-8")


def test_table1_shows_the_numbers_of_the_csv(study, page):
    shown = [rows for caption, rows in page.tables.items() if caption.startswith("Table 1")]
    assert len(shown) == 3
    for period, rows in zip(("validation", "test", "both"), shown, strict=True):
        expected = study.table().loc[period]
        for row, (_, values) in zip(rows[1:], expected.iterrows(), strict=True):
            exact = [np.nan if value == "" else float(value) for value, _ in row[1:]]
            np.testing.assert_array_equal(exact, pd.to_numeric(values).to_numpy(float, na_value=np.nan))
    ic_mean, annual_return = shown[1][1][1][1], shown[1][1][9][1]
    first = study.table().loc[("test", "euclidean")]
    assert float(ic_mean.replace("−", "-")) == round(first["ic_mean"], 3)
    assert float(annual_return.replace("−", "-").rstrip("\u202f%")) == round(100 * first["annual_return"], 1)


def test_the_same_study_gives_the_same_bytes(study, tmp_path):
    first = write_report(study, tmp_path / "a.html")
    assert first.read_bytes() == render_report(study).encode("utf-8")
    assert list(tmp_path.iterdir()) == [first]


def test_hostile_names_do_no_harm():
    text = render_report(hostile_study())
    page = Page(text)
    assert HOSTILE not in text
    assert "<img" not in text
    assert [attributes for tag, attributes in page.elements if tag == "script"][1:] == [{}] * 7
    assert page.data["names"][QUOTED] == QUOTED
    assert HOSTILE in page.data["csv"]["holdings"]
    assert page.data["facts"][HOSTILE] == [f"name {HOSTILE}", f"type {QUOTED}"]
    assert {fund for fund in page.data["reasons"]["funds"] if fund == HOSTILE}


def test_the_policy_allows_the_own_scripts_and_nothing_else(page):
    policy = next(kept["content"] for tag, kept in page.elements if "http-equiv" in kept and tag == "meta")
    own = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for tag, kept, text in page.scripts
        if "id" not in kept
    ]
    assert sorted(re.findall(r"'sha256-([^']+)'", policy)) == sorted(own)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_nothing_is_asked_of_the_network(page):
    assert not [kept for _, kept in page.elements if "src" in kept]
    targets = [kept["href"] for _, kept in page.elements if "href" in kept]
    assert all(target.startswith(("#", "data:")) for target in targets)


def test_identifiers_are_unique(page):
    names = [kept["id"] for _, kept in page.elements if "id" in kept]
    assert len(names) == len(set(names))


def test_every_chart_has_a_table_and_a_csv():
    """In a study with types of funds, so that no section is left out."""
    page = Page(render_report(hostile_study()))
    saved, shown = set(page.values("data-csv")), set(page.values("data-fill"))
    assert saved == set(page.data["csv"]), "all data embedded can be saved"
    tables = {
        "equity": "equity",
        "drawdown": "rolling_drawdown",
        "underwater": "Worst drawdown of each portfolio",
        "cash": "cash",
        "rolling_sharpe": "rolling_sharpe",
        "rolling_beta": "rolling_beta",
        "rank_autocorrelation": "rank_autocorrelation",
        "spreads": "spreads",
        "exposure": "exposure",
        "annual": "Returns of calendar years",
        "fifths": "Mean realized return by fifth",
        "ic": "IC by rebalance day",
        "ic_histogram": "IC by rebalance day",
        "ic_cumulated": "Cumulated IC by rebalance day",
        "ic_decay": "Mean IC by months after the decision",
        "ic_by_type": "Mean IC within each type of fund",
        "random": "Rank among 1,000 random portfolios",
    }
    assert sorted(page.values("data-plot")) == sorted(tables)
    for table in tables.values():
        assert table in shown or any(caption.startswith(table) for caption in page.tables)


def test_reasons_are_those_of_the_study(study, page):
    reasons, row = page.data["reasons"], 7
    pick = study.holdings.iloc[row]
    key = {name: pick[name] for name in ("date", "forecaster", "fund")}
    own = study.neighbors[(study.neighbors[list(key)] == pd.Series(key)).all(axis=1)]
    codes, distances, earned = (reasons["neighbors"][row][i::3] for i in range(3))
    assert [reasons["funds"][code] for code in codes] == own["neighbor"].tolist()
    np.testing.assert_allclose(distances, own["distance"], rtol=1e-4)
    np.testing.assert_allclose(np.mean(earned), pick["forecast"], rtol=1e-4)
    why = study.reasons[(study.reasons[list(key)] == pd.Series(key)).all(axis=1)]
    for view in ("near", "apart"):
        chosen = why[why["view"] == view]
        assert [reasons["factors"][i] for i in reasons[view][row][::2]] == [
            name_factor(name, study.factor_labels) for name in chosen["factor"]
        ]
        np.testing.assert_allclose(reasons[view][row][1::2], chosen["share"], rtol=1e-4)


def test_ranks_are_among_all_funds_of_the_day(study, page):
    pick = study.holdings.iloc[7]
    day = study.predictions[
        (study.predictions["date"] == pick["date"]) & (study.predictions["forecaster"] == pick["forecaster"])
    ]
    better = int((day["realized"] > pick["realized"]).sum())
    assert page.data["reasons"]["ranks"][7] == [better + 1, int(day["realized"].notna().sum())]


def test_gross_returns_are_those_without_cost(universe, study):
    dear = backtest(
        universe.panel, universe.index, ("euclidean", "gmml"), top=5, test_start="2014-01-01", cost=0.01
    )
    costs = dear.costs
    free = study.table().loc["both"]["annual_return"]
    np.testing.assert_allclose(costs["gross"], free[["euclidean", "gmml"]], rtol=1e-12)
    assert (costs["net"] < costs["gross"]).all()
    np.testing.assert_allclose(costs["traded"], study.costs.loc[costs.index, "traded"], rtol=1e-3)


def test_at_the_break_even_cost_nothing_is_left_over_the_index(universe, study):
    least = study.costs["break_even"]
    name = str(least[least > 0.0].idxmin())
    at_cost = backtest(universe.panel, universe.index, name, top=5, test_start="2014-01-01", cost=least[name])
    before = study.costs.loc[name, "excess"]
    assert abs(at_cost.costs.loc[name, "excess"]) < 0.05 * before


def test_fifths_say_whether_they_rise(study):
    days = study.predictions["date"]
    rank = study.predictions.groupby(["date", "forecaster"])["forecast"].rank(method="first")
    good = replace(study, predictions=study.predictions.assign(realized=rank * days.notna()))
    assert good.fifths["rising"].all()
    bad = replace(study, predictions=study.predictions.assign(realized=-rank))
    fifths = bad.fifths
    assert not fifths["rising"].any()
    assert (fifths["spread"] < 0.0).all()


def test_a_study_with_nothing_realized_is_rendered(study):
    unknown = replace(study, ic=study.ic * np.nan, predictions=study.predictions.assign(realized=np.nan))
    page = Page(render_report(unknown))
    assert "picks" in page.values("id")
    assert {"skill", "fifths", "against-index"}.isdisjoint(page.values("id"))
    assert "There is nothing to compare yet." in page.text


def test_a_study_of_one_metric_is_rendered(universe):
    single = backtest(universe.panel, metrics="rpdml", top=5, test_start="2014-01-01")
    page = Page(render_report(single))
    assert "comparisons" not in page.values("id")
    assert page.data["names"]["index"] == "equal-weight universe"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (format_number(-1234.5678, 2), "−1,234.57"),
        (format_number(-0.0004), "0.000"),
        (format_number(np.nan), "–"),
        (format_number(pd.NA), "–"),
        (format_percent(0.12345), "12.3\u202f%"),
        (format_percent(-np.inf), "–"),
        (format_p(0.0004), "<\u202f0.001"),
        (format_p(np.nan), "–"),
        (name_factor("roc_10", LABELS), "rate of change, 10 days"),
        (name_factor("own", LABELS), "own"),
        (join_words(["a"]), "a"),
        (join_words(["a", "b", "c"]), "a, b and c"),
        (make_breakable("my_funds-2015.csv"), "my_<wbr>funds-<wbr>2015.<wbr>csv"),
        (make_breakable("<b>_&"), "&lt;b&gt;_&amp;"),
        (make_text("<2015-12-31>"), '&lt;<span class="day">2015-12-31</span>&gt;'),
    ],
)
def test_words_and_numbers(shown, text):
    assert shown == text
