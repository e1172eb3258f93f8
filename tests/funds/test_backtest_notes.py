"""What a study says about its data: idle days, skipped decisions, an index with holes, survivors."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import Panel, backtest, synthetic_universe

TABLES = ("predictions", "ic", "holdings", "equity", "trades", "neighbors", "reasons", "universe")


@pytest.fixture(scope="module")
def whole():
    """Thirty funds that all live over the whole of three years with holidays, and an index."""
    universe = synthetic_universe(45, "2012-01-04", "2014-12-31", seed=8)
    nav = universe.panel.nav.dropna(axis=1).iloc[:, :30]
    kept = ~nav.index.isin(nav.index[20::30])
    return nav[kept], universe.index[kept]


@pytest.fixture(scope="module")
def plain(whole):
    return backtest(whole[0], metrics="euclidean")


def notes_with(study, text):
    return [note for note in study.notes if text in note]


@pytest.mark.parametrize("make", [pd.bdate_range, pd.date_range])
def test_rows_without_values_do_not_change_a_study(whole, plain, make):
    nav = whole[0]
    padded = nav.reindex(make(nav.index[0], nav.index[-1])).rename_axis("date")
    study = backtest(padded, metrics="euclidean")
    for table in TABLES:
        pd.testing.assert_frame_equal(
            getattr(study, table), getattr(plain, table), check_freq=False, check_exact=True
        )
    assert study.notes == plain.notes


def test_rows_that_are_no_trading_days_are_remarked(whole):
    nav = whole[0]
    padded = nav.reindex(pd.date_range(nav.index[0], nav.index[-1], name="date"))
    filled = backtest(padded.ffill(), metrics="euclidean")
    assert notes_with(filled, "rows are Saturdays or Sundays")
    assert notes_with(filled, "rows no fund moves")
    two = padded.copy()
    two.iloc[:, :2] = two.iloc[:, :2].ffill()
    sparse = backtest(two, metrics="euclidean", k=3)
    assert notes_with(sparse, "rows most of the funds that exist have no value")
    (left_out,) = notes_with(sparse, "rows are left out, because too few of the funds alive have a value")
    assert left_out.startswith(f"{len(padded) - len(nav)} rows")
    plain = backtest(nav, metrics="euclidean", k=3)
    pd.testing.assert_frame_equal(sparse.predictions, plain.predictions, check_exact=True)
    pd.testing.assert_frame_equal(sparse.fills, plain.fills, check_exact=True)


def test_a_clean_study_remarks_survivors_and_nothing_else(plain):
    known = "median was used as label", "Concentration: "
    told = [note for note in plain.notes if not any(words in note for words in known)]
    survivors, lag, cost = told
    assert survivors.startswith("Every fund lives to the last day")
    assert lag.startswith("Trades are made at the values that decided them")
    assert cost.startswith("Trades cost nothing in this study")


def test_a_study_with_lag_and_cost_does_not_warn_of_them(whole):
    for fees in ({"cost": 0.001}, {"redemption_fees": ["7:0.015"]}):
        study = backtest(whole[0], metrics="euclidean", execution_lag=1, **fees)
        assert not notes_with(study, "Nobody can do that")
        assert not notes_with(study, "cost nothing")


def test_a_fund_that_closes_takes_the_remark_away(whole):
    nav = whole[0].copy()
    nav.iloc[600:, 0] = np.nan
    assert not notes_with(backtest(nav, metrics="euclidean"), "lives to the last day")


def test_skipped_rebalance_days_are_remarked(whole, plain):
    nav = whole[0].copy()
    day, following = plain.ic.index[2:4]
    few = nav.columns[:-8]  # eight funds publish for weeks: in the end they are all that is alive
    nav.loc[day - pd.Timedelta(days=25) : day, few] = np.nan
    study = backtest(Panel(nav), metrics="euclidean")
    assert plain.ic.index.difference(study.ic.index).tolist() == [day, following]
    (note,) = notes_with(study, "No decision was made on 2 rebalance days")
    assert f"{day.date()}: 8 funds to choose from, 11 needed" in note
    assert f"{following.date()}: 8 funds to learn from, 11 needed" in note


def test_decisions_that_end_early_are_remarked(whole, plain):
    nav = whole[0].copy()
    days = plain.ic.index
    nav.loc[days[-3] - pd.Timedelta(days=25) :, nav.columns[5:]] = np.nan
    study = backtest(Panel(nav), metrics="euclidean")
    assert study.ic.index[-1] == days[-4]
    (note,) = notes_with(study, "No decision was made on 3 rebalance days")
    listed = ", ".join(str(day.date()) for day in days[-3:])
    assert f"({listed}: 5 funds to choose from, 11 needed)" in note


def test_a_first_decision_that_comes_late_is_remarked(whole, plain):
    nav = whole[0].copy()
    first = plain.ic.index[0]
    nav.loc[first - pd.Timedelta(days=25) : first, nav.columns[:-8]] = np.nan
    study = backtest(Panel(nav), metrics="euclidean")
    assert study.ic.index[0] == plain.ic.index[2]
    assert notes_with(study, "No decision was made on 2 rebalance days")


@pytest.mark.parametrize(("step", "is_remarked"), [(5, True), (10, True), (25, False)])
def test_an_index_with_holes_is_remarked(whole, plain, step, is_remarked):
    nav, levels = whole
    days = plain.equity.index
    holes = days[1:-1][::step] if step > 5 else days[1:-1].difference(days[::5])
    study = backtest(nav, levels.drop(holes), metrics="euclidean")
    expected = f"The index has no level on {len(holes)} of {len(days)} days"
    assert len(notes_with(study, expected)) == is_remarked
    assert len(notes_with(study, "The index has no level")) == is_remarked
    (gap,) = [finding for finding in study.findings if finding.fund == "index"]
    assert (gap.kind, gap.matters, gap.count) == ("gap", False, len(holes))


def test_an_index_in_two_scales_is_found_and_remarked(whole):
    nav, levels = whole
    broken = levels.where(levels.index < levels.index[400], levels / 1000.0)
    study = backtest(nav, broken, metrics="euclidean")
    (found,) = [finding for finding in study.findings if finding.fund == "index"]
    assert (found.kind, found.matters, found.date) == ("jump", True, f"{levels.index[400]:%Y-%m-%d}")
    assert notes_with(study, f"The index, {found.date}: A one-day move of -99.9%")
