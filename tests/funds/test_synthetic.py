"""The synthetic universe: as documented, predictable as far as it says, and not at all without a signal."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, spearmanr

from geodual.funds import DataError, backtest, synthetic_universe


@pytest.fixture(scope="module")
def whole():
    return synthetic_universe()


def test_it_unpacks_into_panel_index_and_expected_returns(whole):
    panel, index, expected = whole
    assert panel.nav.shape[1] == 697
    assert index.index.equals(panel.nav.index)
    assert expected.columns.equals(panel.nav.columns)
    assert [str(day.date()) for day in panel.nav.index[[0, -1]]] == ["2012-01-04", "2018-12-28"]
    assert (panel.nav.index.name, panel.nav.columns.name) == ("date", "fund")
    assert panel.nav.columns.is_unique
    ends = panel.nav.index.to_series().groupby(panel.nav.index.to_period("Q")).max()
    assert expected.index.tolist() == ends.tolist()[:-1]


def test_values_are_positive_from_one_on_and_without_holes(whole):
    nav = whole.panel.nav
    assert (nav.min() > 0.0).all()
    for fund in nav:
        values = nav[fund].to_numpy()
        (known,) = np.nonzero(np.isfinite(values))
        assert values[known[0]] == 1.0
        assert len(known) == known[-1] - known[0] + 1
    assert whole.index.iloc[0] == 1.0
    assert whole.index.notna().all()


def test_about_one_fund_in_twelve_starts_late_and_one_in_twenty_five_closes(whole):
    known = whole.panel.nav.notna()
    late, closed = (~known.iloc[0]).sum(), (~known.iloc[-1]).sum()
    for count, share in ((late, 1 / 12), (closed, 1 / 25)):
        low, high = binom.ppf([0.001, 0.999], 697, share)
        assert low <= count <= high
    middle = known.iloc[len(known) // 2]
    assert middle.all(), "late starts are in the first half, closures in the second"


def test_no_trading_on_weekends_and_in_the_golden_week(whole):
    days = whole.panel.nav.index
    assert (days.day_of_week < 5).all()
    assert not ((days.month == 10) & (days.day <= 7)).any()
    assert 235 <= len(days[days.year == 2015]) <= 250


def test_volatilities_are_those_of_chinese_funds(whole):
    """The market between its regimes of 16 % and 36 %; equity funds like it, bond funds a few per cent."""
    returns = whole.panel.nav.pct_change(fill_method=None)
    volatility = returns.std() * np.sqrt(244)
    kind = volatility.index.str[0]
    assert 0.16 < whole.index.pct_change().std() * np.sqrt(244) < 0.36
    assert volatility[kind == "E"].between(0.12, 0.45).all()
    assert volatility[kind == "M"].between(0.08, 0.5).all()
    assert volatility[kind == "B"].between(0.02, 0.1).all()
    assert kind.value_counts(normalize=True).to_dict() == pytest.approx(
        {"M": 0.58, "B": 0.25, "E": 0.17}, abs=0.06
    )
    equity = returns.loc[:, kind == "E"].corr().to_numpy()
    assert 0.7 < np.median(equity[np.triu_indices(len(equity), 1)]) < 0.98


def test_the_seed_decides_all():
    one, again, other = (synthetic_universe(20, end="2013-06-28", seed=seed) for seed in (4, 4, 5))
    assert one.panel.digest == again.panel.digest
    assert one.index.equals(again.index)
    assert one.expected_returns.equals(again.expected_returns)
    assert one.panel.digest != other.panel.digest


def test_the_signal_changes_expected_returns_and_nothing_else():
    none, some, more = (synthetic_universe(20, end="2013-06-28", seed=4, signal=s) for s in (0.0, 1.0, 2.0))
    assert none.index.equals(more.index)
    assert none.panel.nav.isna().equals(more.panel.nav.isna())
    log_returns = [np.log1p(u.expected_returns) for u in (none, some, more)]
    ratio = (log_returns[2] - log_returns[0]) / (log_returns[1] - log_returns[0])
    assert np.allclose(ratio, 2.0, atol=0.01)


def test_without_a_signal_all_funds_expect_the_same():
    universe = synthetic_universe(50, end="2014-12-31", seed=1, signal=0.0)
    assert (universe.expected_returns.nunique(axis=1) == 1).all()
    assert np.allclose(universe.expected_returns, 0.02 / 4, atol=0.001), "cash, 2 % a year"


def test_expected_returns_are_the_mean_of_what_is_realized():
    """Over 60 universes: no bias on average, and realized returns rise one for one with expected ones."""
    bias, slope = [], []
    for seed in range(60):
        nav, _, expected = synthetic_universe(40, "2014-01-01", "2015-12-31", seed, signal=4.0)
        ends = [*expected.index, nav.nav.index[-1]]
        realized = nav.nav.loc[ends].pct_change(fill_method=None).iloc[1:].set_axis(expected.index)
        known = realized.notna()
        bias.append((realized - expected).stack().mean())
        centered = expected.where(known).sub(expected.where(known).mean(axis=1), axis=0)
        slope.append((realized * centered).sum().sum() / (centered**2).sum().sum())
    for values, mean, tolerance in ((bias, 0.0, 0.02), (slope, 1.0, 0.04)):
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert error < tolerance / 3.0, "the check is tight"
        assert np.mean(values) == pytest.approx(mean, abs=3.0 * error)


def test_six_universes_without_a_signal_cannot_be_forecast():
    """The ICs of all quarters together, and the means of the universes, have |t| < 3 for every metric."""
    tables = []
    for seed in range(6):
        universe = synthetic_universe(50, "2012-01-04", "2014-12-31", seed, signal=0.0)
        tables.append(backtest(universe.panel, metrics=("euclidean", "gmml", "rpdml"), baselines=()).ic)
    for sample in (pd.concat(tables), pd.DataFrame([table.mean() for table in tables])):
        t = sample.mean() / (sample.std() / np.sqrt(len(sample)))
        assert (t.abs() < 3.0).all(), t


def test_a_planted_signal_is_found_and_better_with_a_learned_metric():
    universe = synthetic_universe(150, "2012-01-04", "2016-12-30", seed=0, signal=2.0)
    study = backtest(universe.panel, metrics=("euclidean", "rpdml"), baselines=())
    row = study.comparisons().loc[("euclidean", "rpdml")]
    assert row["low"] <= row["high"] < 0.0, "RPDML is better, and zero is not in the interval"
    table = study.table()
    assert table.at[("both", "rpdml"), "low"] > 0.2
    own = study.predictions[study.predictions["forecaster"] == "rpdml"].dropna()
    oracle, recovered = [], []
    for day, quarter in own.groupby("date"):
        truth = universe.expected_returns.loc[day, quarter["fund"]]
        oracle.append(spearmanr(truth, quarter["realized"]).statistic)
        recovered.append(spearmanr(truth, quarter["forecast"]).statistic)
    assert np.mean(oracle) > table.at[("both", "rpdml"), "ic_mean"] + 0.1, "no forecast beats the truth"
    assert np.mean(recovered) > 0.5


def test_executing_a_day_later_does_not_lose_the_signal():
    universe = synthetic_universe(80, "2012-01-04", "2015-12-31", seed=0, signal=2.0)
    settings = {"metrics": "rpdml", "baselines": ()}
    at_once, later = (backtest(universe.panel, execution_lag=lag, **settings).equity for lag in (0, 1))
    assert later.index[0] > at_once.index[0]
    for equity in (at_once, later):
        assert equity["rpdml"].iloc[-1] > equity["index"].iloc[-1] + 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_funds": 0}, "`n_funds` must be a whole number of at least 1, got 0"),
        ({"signal": -1.0}, "`signal` must be from 0 to 100"),
        ({"signal": float("nan")}, "`signal` must be from 0 to 100"),
        ({"signal": 10**30}, "`signal` must be from 0 to 100"),
        ({"start": "2015-01-05", "end": "2014-01-01"}, "choose `start` before `end`"),
        ({"start": "2015-10-01", "end": "2015-10-07"}, "fewer than two trading days"),
        ({"start": "soon"}, "`start` must be a date, got 'soon'; write it as 2017-01-01"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        synthetic_universe(**arguments)
