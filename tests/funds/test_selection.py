"""`select` against slow code written from its description, and what the reader sees."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Panel, backtest, compute_factors, select, synthetic_universe
from geodual.funds.report.picks_page import render_selection

TOP, K = 4, 10


def slow_universe(nav, day):
    """Funds with a value on the day, 120 values up to it, and a change within the last 21."""
    until = nav.loc[:day]
    return [
        fund
        for fund in nav
        if np.isfinite(nav.at[day, fund])
        and until[fund].count() >= 120
        and until[fund].dropna().iloc[-21:].nunique() > 1
    ]


def slow_features(nav, day):
    funds = slow_universe(nav, day)
    raw = compute_factors(Panel(nav.loc[:day]), dates=[day]).loc[day].loc[funds]
    return ((raw - raw.mean()) / raw.std(ddof=0)).clip(-3.0, 3.0).fillna(0.0)


def slow_return(nav, fund, start, end):
    values = nav[fund].ffill()
    return values[end] / values[start] - 1.0


def slow_decision(nav, start, day):
    """Return the forecast by fund, best first, and the neighbors of each, of the Euclidean metric."""
    before, today = slow_features(nav, start), slow_features(nav, day)
    teachers = [fund for fund in before.index if nav.loc[start:day, fund].iloc[1:].notna().any()]
    earned = {fund: slow_return(nav, fund, start, day) for fund in teachers}
    forecast, neighbors = {}, {}
    points = {fund: before.loc[fund].to_numpy() for fund in teachers}
    for fund, x in zip(today.index, today.to_numpy(), strict=True):
        distance = {other: np.linalg.norm(point - x) for other, point in points.items()}
        neighbors[fund] = sorted(teachers, key=distance.get)[:K]
        forecast[fund] = np.mean([earned[other] for other in neighbors[fund]])
    ranked = sorted(forecast, key=lambda fund: (-forecast[fund], fund))
    return {fund: forecast[fund] for fund in ranked}, neighbors


def slow_past(nav, frequency, pick):
    """Return what the third of the funds that moved most like a pick earned after each past decision."""
    ends = nav.index.to_series().groupby(nav.index.to_period(frequency)).max().tolist()
    here, earned = slow_ratios(nav, nav.index[-1])[pick], []
    for start, day, end in zip(ends, ends[1:], ends[2:], strict=False):
        if len(slow_universe(nav, start)) > K:
            away = (slow_ratios(nav, day) - here).abs().round(9).sort_values(kind="stable")
            like = away.index[: int(np.ceil(len(away) / 3))]
            earned.append([slow_return(nav, fund, day, end) for fund in like])
    return earned


def slow_ratios(nav, day):
    """Return the log of the volatility of the last 252 returns of each fund, less the mean over the funds."""
    funds = slow_universe(nav, day)
    rows = nav.loc[:day].iloc[-253:]
    spread = {fund: rows[fund].pct_change(fill_method=None).std() for fund in funds}
    logs = np.log(pd.Series(spread))
    return logs - logs.mean()


@pytest.fixture(scope="module")
def nav(rough_panel):
    return rough_panel.nav


@pytest.fixture(scope="module")
def chosen(nav):
    return select(nav, metric="euclidean", top=TOP)


def assert_same(one, other):
    for name in ("picks", "neighbors", "reasons", "left_out"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    for name in ("as_of", "forecaster", "notes", "first_day"):
        assert getattr(one, name) == getattr(other, name)


def test_picks_are_those_of_slow_code(nav, chosen):
    forecast, neighbors = slow_decision(nav, pd.Timestamp("2014-09-30"), pd.Timestamp("2014-12-31"))
    picks = chosen.picks
    assert picks["rank"].tolist() == [1, 2, 3, 4]
    assert picks["fund"].tolist() == list(forecast)[:TOP]
    assert picks["forecast"].tolist() == pytest.approx(list(forecast.values())[:TOP])
    assert picks["weight"].tolist() == [0.25] * TOP
    for pick in picks.itertuples():
        assert pick.neighbors.split(", ") == neighbors[pick.fund]
    assert chosen.neighbors["neighbor"].tolist() == [
        name for fund in picks["fund"] for name in neighbors[fund]
    ]


def test_ranges_are_those_of_funds_of_like_volatility(nav, chosen):
    assert chosen.picks["n_past"].tolist() == [8] * TOP
    for pick in chosen.picks.itertuples():
        past = np.concatenate(slow_past(nav, "Q", pick.fund))
        assert [pick.past_low, pick.past_high] == pytest.approx(np.quantile(past, [0.1, 0.9]).tolist())


def test_a_money_market_fund_and_a_small_cap_fund_have_ranges_of_their_own():
    """Planted: quarterly returns of 1 % ± 0.1 % and of 2 % ± 16 %."""
    days = pd.bdate_range("2012-01-02", "2016-12-30", name="date")
    rng = np.random.default_rng(0)
    money = 1.5e-4 + 1e-5 * rng.standard_normal((len(days), 12))
    small = 3e-4 + 2e-2 * rng.standard_normal((len(days), 12))
    names = [f"{kind}{j:02d}" for kind in ("money", "small") for j in range(12)]
    nav = pd.DataFrame(np.exp(np.hstack([money, small]).cumsum(axis=0)), days, names)
    found = select(nav, metric="euclidean", top=24).picks.set_index("fund")
    width = found["past_high"] - found["past_low"]
    assert width.filter(like="money").max() < 0.002
    assert width.filter(like="small").min() > 0.2
    assert found.filter(like="money", axis=0)["past_low"].between(0.005, 0.01).all()


def test_too_few_decisions_have_no_intervals(nav):
    found = select(nav.loc[:"2013-06-28"], metric="euclidean", top=TOP)
    assert found.picks["n_past"].tolist() == [2] * TOP
    assert found.picks[["past_low", "past_high"]].isna().all(axis=None)
    assert any("2 past decisions, too few" in remark for remark in found.notes)


def test_left_out_are_the_others_with_the_reason(nav, chosen):
    universe = slow_universe(nav, nav.index[-1])
    expected = {
        fund: f"{nav[fund].count()} values, 120 are needed"
        if pd.notna(nav[fund].iloc[-1])
        else "no value on 2014-12-31"
        for fund in nav
        if fund not in universe
    }
    assert dict(zip(chosen.left_out["fund"], chosen.left_out["why"], strict=True)) == expected
    young = nav.assign(young=nav.iloc[:, 0].where(nav.index >= nav.index[-100]))
    why = select(young, metric="euclidean", top=TOP).left_out.set_index("fund")["why"]
    assert why["young"] == "100 values, 120 are needed"


def test_reasons_are_those_of_the_decision(nav, chosen):
    start, day = pd.Timestamp("2014-09-30"), pd.Timestamp("2014-12-31")
    before, today = slow_features(nav, start), slow_features(nav, day)
    teachers = before.loc[[fund for fund in before.index if nav.loc[start:day, fund].iloc[1:].notna().any()]]
    neighbors = slow_decision(nav, start, day)[1]
    for fund, factors in zip(chosen.picks["fund"], chosen.picks["factors"], strict=True):
        x = today.loc[fund]
        nearer = ((teachers - x) ** 2).mean() - ((teachers.loc[neighbors[fund]] - x) ** 2).mean()
        share = (nearer / nearer.abs().sum()).nlargest(5)
        own = chosen.reasons[(chosen.reasons["fund"] == fund) & (chosen.reasons["view"] == "near")]
        assert own["factor"].tolist() == share.index.tolist() == factors.split(", ")
        assert own["share"].tolist() == pytest.approx(share.tolist())


@pytest.mark.parametrize("as_of", ["2014-09-30", "2014-08-15"])
def test_a_day_in_the_middle_needs_no_later_row(nav, as_of):
    cut = select(nav.loc[:as_of], metric="euclidean", top=TOP)
    assert_same(select(nav, as_of, metric="euclidean", top=TOP), cut)
    assert cut.as_of == pd.Timestamp(as_of)


def test_off_rebalance_days_end_a_period_of_full_length(nav):
    found = select(nav, "2014-08-15", metric="euclidean", top=TOP)
    forecast, _ = slow_decision(nav, pd.Timestamp("2014-05-15"), pd.Timestamp("2014-08-15"))
    assert found.picks["fund"].tolist() == list(forecast)[:TOP]
    assert found.picks["forecast"].tolist() == pytest.approx(list(forecast.values())[:TOP])
    expected = "2014-08-15 is not a quarterly rebalance day; the last holding interval is taken to end on it."
    assert found.notes[0] == expected


@pytest.mark.parametrize("as_of", ["2030-01-01", pd.Timestamp("2015-01-01", tz="UTC")])
def test_a_day_after_the_data_is_remarked(nav, chosen, as_of):
    found = select(nav, as_of, metric="euclidean", top=TOP)
    asked = pd.Timestamp(as_of).date()
    expected = f"The data have no row on {asked}; 2014-12-31, the last before it, is used."
    assert found.notes == (expected, *chosen.notes)
    pd.testing.assert_frame_equal(found.picks, chosen.picks)


def test_the_last_row_at_any_hour_is_not_remarked(nav, chosen):
    assert_same(select(nav, "2014-12-31 18:00", metric="euclidean", top=TOP), chosen)


def test_a_last_row_with_holes_is_remarked(nav, chosen):
    assert not any("have none" in remark for remark in chosen.notes)
    living = nav.columns[nav.iloc[-6:-1].notna().any()]
    holed = nav.copy()
    holed.loc[holed.index[-1], living[: len(living) // 10 + 1]] = np.nan
    found = select(holed, metric="euclidean", top=TOP)
    count = f"{len(living) // 10 + 1} of the {len(living)} funds"
    assert any(remark.startswith(count) and "2014-12-31" in remark for remark in found.notes)


@pytest.mark.parametrize(
    ("as_of", "remedy"),
    [
        ("never", "a date such as 2016-12-30"),
        ("1999-01-01", "Choose a later day"),
        (pd.NaT, "Choose a later day"),
        ([], "a date such as 2016-12-30"),
    ],
)
def test_days_that_cannot_be_are_refused(nav, as_of, remedy):
    with pytest.raises(DataError, match=f"`as_of` must .*{remedy}"):
        select(nav, as_of, metric="euclidean")


def test_the_page_names_the_data_and_what_shares_mean(nav):
    found = select(Panel(nav, source="my <funds>.csv"), metric="euclidean", top=TOP)
    page = render_selection(found)
    assert "<li>my &lt;funds&gt;.csv</li>" in page
    assert "<li>2012-01-04 to 2014-12-31</li>" in page
    assert "10 % of the funds of similar volatility earned less" in page
    for words in ("What made its neighbors near", "What sets it apart from the universe", "negative share"):
        assert words in page


def test_the_track_record_is_that_of_past_decisions(universe):
    """IC, excess over all funds and share above the median, by hand from a study of the same data."""
    selection = select(universe.panel, metric="euclidean", top=5)
    study = backtest(universe.panel, metrics="euclidean", top=5)
    record = selection.record
    known = study.predictions.dropna()
    assert record.n == known["date"].nunique()
    assert record.ic == pytest.approx(study.ic["euclidean"].mean(), abs=1e-12)
    gaps, beat, ends = [], [], [*study.ic.index, universe.panel.nav.index[-1]]
    curves = study.equity["euclidean"], study.baseline_equity["universe"]
    for day, own in study.holdings.dropna(subset=["realized"]).groupby("date"):
        everyone = known.loc[known["date"] == day, "realized"]
        end = ends[ends.index(day) + 1]
        earned, average = (curve[end] / curve[day] - 1.0 for curve in curves)
        # Without costs and lags this is what its funds earned, unless a sale waits for a value.
        assert earned - average == pytest.approx(own["realized"].mean() - everyone.mean(), abs=2e-3)
        gaps.append(earned - average)
        beat += (own["realized"] > everyone.median()).tolist()
    assert record.excess == pytest.approx(np.mean(gaps), abs=1e-12)
    assert record.beat_median == pytest.approx(np.mean(beat), abs=1e-12)
    assert record.ic_low < record.ic < record.ic_high
    assert f"IC {record.ic:+.2f}" in selection.record_text
    assert "no evidence of skill" in selection.record_text
    assert record.is_evidence is False


def test_planted_skill_is_evidence_and_a_first_decision_has_no_record():
    skilled = synthetic_universe(80, "2012-01-04", "2016-12-30", seed=1, signal=3.0)
    assert select(skilled.panel, metric="rpdml").record.is_evidence
    first = select(skilled.panel, "2012-12-31", metric="euclidean")
    assert first.record.n == 0
    assert first.record_text.startswith("There is no track record")


def test_how_sure_it_is_comes_before_the_table_of_picks(universe, tmp_path):
    selection = select(universe.panel, metric="euclidean")
    page = selection.report(tmp_path / "picks.html").read_text("utf-8")
    assert page.index("How sure is that?") < page.index("What to hold") < page.index("Track record of")
