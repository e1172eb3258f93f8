"""The fact sheet of a fund: its numbers by hand, its page without requests, and awkward funds."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from geodual.funds import (
    DataError,
    Panel,
    compute_factors,
    fund_sheet,
    read_nav,
    style_regression,
    synthetic_universe,
    trailing_returns,
    year_returns,
)
from geodual.funds.evaluation import performance

DAY = "2016-12-30"


@pytest.fixture(scope="module")
def universe():
    return synthetic_universe(40, "2011-12-28", DAY, seed=2)


@pytest.fixture(scope="module")
def facts(universe):
    funds = universe.panel.nav.columns
    return pd.DataFrame(
        {
            "code": funds,
            "name": [f"Fund <{i % 30}> & Co" for i in range(len(funds))],
            "type": ["equity" if i % 2 else "bond" for i in range(len(funds))],
            "purchase_fee": "0.15%",
        }
    )


@pytest.fixture(scope="module")
def indices(universe):
    return pd.DataFrame({"market": universe.index, "other": universe.panel.nav.iloc[:, 0].ffill().bfill()})


@pytest.fixture(scope="module")
def code(universe):
    nav = universe.panel.nav
    return next(fund for i, fund in enumerate(nav) if i % 2 and nav[fund].notna().all())


@pytest.fixture(scope="module")
def sheet(universe, facts, indices, code):
    return fund_sheet(
        universe.panel, code, index=universe.index, facts=facts, style_indices=indices, risk_free=0.02
    )


def test_returns_stand_beside_index_and_peers(sheet, universe, code):
    nav = universe.panel.nav
    peers = nav.iloc[:, 1::2]
    assert sheet.peer_group == f"the {peers.loc[DAY].notna().sum()} funds of type equity"
    for years in (1, 3):
        own = trailing_returns(peers)[years]
        row = sheet.trailing.loc[str(years)]
        assert row["value"] == pytest.approx(own[code])
        assert row["peers"] == pytest.approx(own.drop(code).median())
        known = own.dropna()
        assert row["funds"] == len(known)
        assert row["quartile"] == np.ceil(4.0 * ((known > own[code]).sum() + 1) / len(known))
        index = trailing_returns(universe.index.to_frame())[years].iloc[0]
        assert row["index"] == pytest.approx(index)
    assert sheet.trailing.loc[["10"], "value"].isna().all()
    yearly = year_returns(peers)
    assert sheet.years.index.tolist() == [2016, 2015, 2014, 2013, 2012]
    assert sheet.years.at[2014, "value"] == pytest.approx(yearly.at[2014, code])
    assert sheet.years.at[2014, "peers"] == pytest.approx(yearly.loc[2014].drop(code).median())


def test_risk_is_that_of_performance(sheet, universe, code):
    own = universe.panel.nav[code].loc["2015-12-30":]
    assert sheet.risk.at["volatility", "1"] == pytest.approx(performance.volatility(own))
    assert sheet.risk.at["sharpe", "1"] == pytest.approx(performance.sharpe(own, 0.02))
    levels = universe.index.reindex(own.index)
    compared = performance.compare(own, levels, 0.02)
    for measure, value in compared.items():
        assert sheet.risk.at[measure, "1"] == pytest.approx(value), measure
    assert sheet.risk.columns.tolist() == ["1", "3", "5", "start"]


def test_factors_are_ranked_among_peers(sheet, universe, code):
    peers = universe.panel.nav.iloc[:, 1::2]
    factors = compute_factors(peers, DAY).droplevel("date")["sharpe_90"].drop(code).dropna()
    row = sheet.factors.loc["sharpe_90"]
    assert row["percentile"] == pytest.approx((factors < row["value"]).mean())
    assert len(sheet.factors) == 70
    assert len(sheet.neighbors) == 5
    assert sheet.neighbors["distance"].is_monotonic_increasing
    assert code not in set(sheet.neighbors["fund"])
    near = sheet.neighbors.iloc[0]
    both = peers.loc["2015-12-31":, [code, near["fund"]]].pct_change()
    assert near["correlation"] == pytest.approx(both.corr().iloc[0, 1], abs=1e-9)


def test_style_is_that_of_style_regression(sheet, universe, indices, code):
    expected = style_regression(universe.panel.nav[code], indices, window=None)
    pd.testing.assert_frame_equal(sheet.style.weights, expected.weights)
    assert len(sheet.rolling_style.fit) > 5


def test_the_page_is_whole_and_asks_for_nothing(sheet, tmp_path):
    text = sheet.to_html(tmp_path / "sheet.html").read_text("utf-8")
    assert "<script" not in text
    links = re.findall(r'(?:src|href|srcset)="([^"]{0,40})', text)
    assert links
    assert all(link.startswith("data:") for link in links)
    assert "default-src 'none'" in text
    for title in (
        "Returns",
        "Calendar years",
        "Risk",
        "Style",
        "Factors",
        "Funds like it",
        "Facts and fees",
        "Data",
    ):
        assert f">{title}</h2>" in text
    assert "&lt;" in text
    assert re.search(r"<\d+> & Co", text) is None  # names are escaped
    assert "0.15" in text
    assert text == sheet.to_html(tmp_path / "again.html").read_text("utf-8")


def test_the_summary_is_plain_json(sheet):
    record = json.loads(json.dumps(sheet.summary(), allow_nan=False))
    assert record["trailing"][1]["value"] == pytest.approx(sheet.trailing.at["1", "value"])
    assert record["first_day"] == "2011-12-28"
    assert record["style"]["weights"][0]["index"] == "market"
    assert record["facts"]["purchase_fee"] == 0.0015


def test_unknown_codes_suggest_near_ones(universe, facts, code):
    with pytest.raises(
        DataError, match=rf"There is no fund '{code[:-1]}X' in the table. Did you mean .*{code[:3]}"
    ):
        fund_sheet(universe.panel, f"{code[:-1]}X")
    with pytest.raises(DataError, match="The first of 40 funds is"):
        fund_sheet(universe.panel, "?")
    zeros = Panel(universe.panel.nav.set_axis([f"{i:06d}" for i in range(40)], axis=1))
    with pytest.raises(DataError, match="Did you mean 000011"):
        fund_sheet(zeros, "11")
    with pytest.raises(DataError, match=r"Did you mean .*\(Fund <3> & Co\)"):
        fund_sheet(universe.panel, "fund <3>", facts=facts)


def test_a_name_will_do_if_only_one_fund_has_it(universe, facts):
    names = facts.set_index("code")["name"]
    single = names[~names.duplicated(keep=False)]
    assert fund_sheet(universe.panel, single.iloc[0], facts=facts).code == single.index[0]
    twice = names[names.duplicated()]
    with pytest.raises(DataError, match=f"2 funds are called .*{twice.index[0]}"):
        fund_sheet(universe.panel, twice.iloc[0], facts=facts)


def test_a_closed_fund_is_shown_up_to_its_end(universe, tmp_path):
    nav = universe.panel.nav.copy()
    nav.loc["2015-06-30":, nav.columns[5]] = np.nan
    sheet = fund_sheet(read_nav(nav), nav.columns[5], index=universe.index)
    assert sheet.closed
    assert sheet.last_day == pd.Timestamp("2015-06-29")
    assert "seems to be closed" in sheet.notes[0]
    assert sheet.trailing.at["1", "value"] == pytest.approx(
        nav.at["2015-06-29", nav.columns[5]] / nav.at["2014-06-27", nav.columns[5]] - 1.0
    )
    # Nothing later than its end is used.
    later = nav.copy()
    later.loc["2015-07-01":] *= 3.0
    again = fund_sheet(Panel(later), nav.columns[5], index=universe.index)
    pd.testing.assert_frame_equal(sheet.factors, again.factors)
    pd.testing.assert_frame_equal(sheet.trailing, again.trailing)
    assert "closed" in sheet.to_html(tmp_path / "closed.html").read_text("utf-8")


@pytest.mark.parametrize("n", [1, 2, 5, 40, 200])
def test_short_histories_leave_gaps_and_not_errors(n, universe, facts, indices, code, tmp_path):
    nav = universe.panel.nav.copy()
    nav.loc[nav.index[:-n], code] = np.nan
    sheet = fund_sheet(Panel(nav), code, index=universe.index, facts=facts, style_indices=indices)
    assert np.isnan(sheet.trailing.at["1", "value"])
    assert any("less than a year" in note for note in sheet.notes)
    sheet.to_html(tmp_path / "short.html")
    json.dumps(sheet.summary(), allow_nan=False)


def test_a_fund_without_values_is_refused(universe):
    with pytest.raises(DataError, match="'empty' has no value"):
        fund_sheet(Panel(universe.panel.nav.assign(empty=np.nan)), "empty")


def test_few_funds_no_facts_and_no_index(tmp_path):
    days = pd.bdate_range("2014-01-01", "2015-12-31", name="date")
    nav = pd.DataFrame({"甲基金": 1.0001 ** np.arange(len(days)), "flat": 1.0}, days)
    for fund in nav:
        sheet = fund_sheet(Panel(nav), fund)
        assert sheet.index_name == ""
        assert sheet.trailing["quartile"].isna().all()
        assert "peers are all funds" in " ".join(sheet.notes)
        page = sheet.to_html(tmp_path / "few.html").read_text("utf-8")
        assert fund in page
        json.dumps(sheet.summary(), allow_nan=False)


def test_an_index_of_another_time_is_left_out(universe, code):
    early = pd.Series([1.0, 1.1], pd.to_datetime(["2001-01-01", "2001-01-02"]), name="early")
    sheet = fund_sheet(universe.panel, code, index=early)
    assert "The index has no levels in the time of the fund." in sheet.notes
    assert "index" not in sheet.curves


def test_share_classes_of_the_fund_are_no_peers(universe, code):
    nav = universe.panel.nav.assign(copy=universe.panel.nav[code])
    facts = pd.DataFrame({"code": [code, "copy"], "share_group": ["one", "one"]})
    sheet = fund_sheet(Panel(nav), code, facts=facts)
    assert "copy" not in set(sheet.neighbors["fund"])
    assert sheet.neighbors["distance"].min() > 0.0


def test_findings_are_those_of_the_fund(universe, code):
    nav = universe.panel.nav.copy()
    nav.loc["2014-05-05":, code] *= 0.5
    panel = read_nav(nav)
    found = fund_sheet(panel, code).findings
    assert len(found) == sum(finding.fund == code for finding in panel.findings)
    assert "jump" in set(found["kind"])
