"""The tables of a study against what its predictions, holdings and equity say by hand."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from geodual.funds import DataError, backtest
from geodual.funds.evaluation import statistics

pytestmark = pytest.mark.usefixtures("blank_figures")

METRICS = ["euclidean", "gmml", "rpdml"]
PERIODS = {
    "validation": ["2012-12-31", "2013-03-29", "2013-06-28", "2013-09-30"],
    "test": ["2013-12-31", "2014-03-31", "2014-06-30", "2014-09-30"],
}
PERIODS["both"] = PERIODS["validation"] + PERIODS["test"]
SPLIT = {"validation": slice(None, "2013-12-31"), "test": slice("2013-12-31", None), "both": slice(None)}


@pytest.mark.parametrize("period", PERIODS)
def test_the_decisions_of_a_period(study, period):
    assert [str(day.date()) for day in study.decided(period)] == PERIODS[period]


def test_the_shape_of_table_1(study):
    table = study.table()
    assert table.index.names == ["period", "forecaster"]
    assert table.index.tolist() == [
        (period, name) for period in ("validation", "test", "both") for name in [*METRICS, "index"]
    ]
    measures = ["annual_return", "volatility", "sharpe", "max_drawdown"]
    ics = ["ic_mean", "ic_std", "icir", "t", "low", "high", "hit_rate", "n"]
    assert table.columns.tolist() == [*ics, *measures, "turnover"]
    of_index = table.xs("index", level="forecaster")
    assert of_index[[*ics, "turnover"]].isna().all(axis=None)
    assert of_index[measures].notna().all(axis=None)


@pytest.mark.parametrize("period", PERIODS)
def test_the_ics_of_table_1(study, period):
    for name in METRICS:
        row = study.table().loc[(period, name)]
        ics = [study.ic.at[pd.Timestamp(day), name] for day in PERIODS[period]]
        mean = sum(ics) / len(ics)
        std = (sum((ic - mean) ** 2 for ic in ics) / (len(ics) - 1)) ** 0.5
        assert (row["ic_mean"], row["ic_std"]) == pytest.approx((mean, std))
        assert row["icir"] == pytest.approx(mean / std)
        assert row["hit_rate"] == sum(ic > 0.0 for ic in ics) / len(ics)
        assert row["n"] == len(ics)
        assert min(ics) < row["low"] < mean < row["high"] < max(ics)
        assert np.sign(row["t"]) == np.sign(mean)


@pytest.mark.parametrize("period", PERIODS)
def test_the_measures_of_table_1(study, period):
    for name in [*METRICS, "index"]:
        row = study.table().loc[(period, name)]
        curve = study.equity[name].loc[SPLIT[period]].tolist()
        growth = [later / earlier for earlier, later in pairwise(curve)]
        days = study.equity.loc[SPLIT[period]].index
        years = (days[-1] - days[0]).days / 365.25
        per_year = len(growth) / years
        assert row["annual_return"] == pytest.approx((curve[-1] / curve[0]) ** (1.0 / years) - 1.0)
        assert row["volatility"] == pytest.approx(np.std(growth, ddof=1) * per_year**0.5)
        assert row["sharpe"] == pytest.approx((np.mean(growth) - 1.0) * per_year / row["volatility"])
        falls = [min(curve[i:]) / value - 1.0 for i, value in enumerate(curve)]
        assert row["max_drawdown"] == pytest.approx(min(falls))


@pytest.mark.parametrize("period", PERIODS)
def test_the_turnover_of_table_1(study, period):
    """Weights drift with the realized returns until the next rebalance; the first purchase does not count."""
    for name in METRICS:
        own = study.holdings[study.holdings["forecaster"] == name].fillna({"realized": 0.0})
        drifted, turnover = {}, {}
        for day, group in own.groupby("date"):
            weights = dict(zip(group["fund"], group["weight"], strict=True))
            funds = {*weights, *drifted}
            turnover[str(day.date())] = 0.5 * sum(
                abs(weights.get(f, 0.0) - drifted.get(f, 0.0)) for f in funds
            )
            value = group["weight"] * (1.0 + group["realized"])
            drifted = dict(zip(group["fund"], value / value.sum(), strict=True))
        expected = np.mean([turnover[day] for day in PERIODS[period] if day != PERIODS["both"][0]])
        assert study.table().at[(period, name), "turnover"] == pytest.approx(expected)


def test_equity_grows_by_what_the_holdings_earned(study):
    ends = [*map(pd.Timestamp, PERIODS["both"]), pd.Timestamp("2014-12-31")]
    for name in METRICS:
        for start, end in pairwise(ends):
            own = study.holdings[(study.holdings["forecaster"] == name) & (study.holdings["date"] == start)]
            assert own["weight"].sum() == pytest.approx(1.0)
            growth = study.equity.at[end, name] / study.equity.at[start, name] - 1.0
            assert growth == pytest.approx((own["weight"] * own["realized"]).sum(), abs=1e-13)
    assert (study.equity.iloc[0] == 1.0).all()
    assert study.equity.index[0] == ends[0]
    assert study.equity.index[-1] == ends[-1]


@pytest.mark.parametrize("frequency", ["monthly", "yearly"])
def test_equity_and_holdings_agree_for_other_periods_and_weights(rough_panel, frequency):
    made = backtest(rough_panel, metrics="gmml", frequency=frequency, weights="forecast", k=4, top=15)
    days = [*made.ic.index, pd.Timestamp("2014-12-31")]
    # No order waited on that day, and no purchase lacked the money of a sale that did.
    complete = (made.trades.set_index("decided")[["cash", "unfilled"]].abs() < 1e-12).all(axis=1)
    assert complete.sum() >= len(complete) - 1
    for start, end in pairwise(days):
        if not complete[start]:
            continue
        own = made.holdings[made.holdings["date"] == start]
        earned = (own["weight"] * own["realized"].fillna(0.0)).sum()  # without a value: worth as paid
        growth = made.equity.at[end, "gmml"] / made.equity.at[start, "gmml"] - 1.0
        assert growth == pytest.approx(earned, abs=1e-13)


def test_annual_returns_are_those_of_calendar_years(study):
    table = study.annual_returns()
    assert table.index.tolist() == [2013, 2014]
    assert table.columns.tolist() == [*METRICS, "index"]
    closes = study.equity.loc[["2012-12-31", "2013-12-31", "2014-12-31"]].to_numpy()
    assert np.allclose(table, closes[1:] / closes[:-1] - 1.0)


@pytest.mark.parametrize("period", PERIODS)
def test_comparisons_are_paired_by_quarter(study, period):
    table = study.comparisons(period)
    assert table.index.tolist() == [("euclidean", "gmml"), ("euclidean", "rpdml"), ("gmml", "rpdml")]
    for one, other in table.index:
        row = table.loc[(one, other)]
        ics = study.ic.loc[pd.DatetimeIndex(PERIODS[period])]
        gaps = [ic[one] - ic[other] for _, ic in ics.iterrows()]
        assert row["difference"] == pytest.approx(np.mean(gaps))
        assert row["low"] <= row["difference"] <= row["high"]
        assert row["p"] <= row["p_holm"] <= min(3.0 * row["p"], 1.0)
        assert row["n"] == len(gaps)


@pytest.fixture
def bootstraps(monkeypatch):
    """The series that were bootstrapped, one by one: this is what makes the tables slow."""
    series, original = [], statistics.stationary_bootstrap_interval

    def count(values, **options):
        series.append(values)
        return original(values, **options)

    monkeypatch.setattr(statistics, "stationary_bootstrap_interval", count)
    return series


def test_slow_tables_are_computed_once(study, bootstraps, tmp_path):
    fresh = replace(study)  # without what the study has computed already
    fresh.save(tmp_path / "run")
    pairs = len(METRICS) * (len(METRICS) - 1) // 2
    # ICs and spreads of each metric, each pair of metrics; ICs of two baselines.
    expected = (2 * len(METRICS) + pairs + 2) * len(PERIODS)
    assert len(bootstraps) == expected
    fresh.table()
    fresh.summary()
    fresh.report(tmp_path / "report.html")
    fresh._repr_html_()
    for period in PERIODS:
        fresh.comparisons(period)
    assert len(bootstraps) == expected


def test_what_a_reader_does_to_a_table_does_not_change_the_study(study):
    fresh = replace(study)
    table, pairs = fresh.table(), fresh.comparisons("test")
    table.loc[:, "ic_mean"] = 7.0
    del table["n"]
    pairs.iloc[:, :] = 7.0
    pd.testing.assert_frame_equal(fresh.table(), study.table(), check_exact=True)
    pd.testing.assert_frame_equal(fresh.comparisons("test"), study.comparisons("test"), check_exact=True)
    shown = fresh.summary()["table1"]["test"]["gmml"]["ic_mean"]
    assert shown == study.table().at[("test", "gmml"), "ic_mean"] != 7.0


@pytest.mark.parametrize("period", PERIODS)
def test_quantile_returns_are_means_by_fifth_of_the_forecasts(study, period):
    table = study.quantile_returns(period)
    assert table.index.tolist() == METRICS
    assert table.columns.tolist() == [1, 2, 3, 4, 5]
    for name in METRICS:
        means = []
        own = study.predictions[study.predictions["forecaster"] == name]
        for day in map(pd.Timestamp, PERIODS[period]):
            rows = own[own["date"] == day]
            rows = rows.dropna().sort_values("forecast", kind="stable")["realized"].tolist()
            fifths = [[] for _ in range(5)]
            for place, realized in enumerate(rows):
                fifths[5 * place // len(rows)].append(realized)
            means.append([np.mean(fifth) for fifth in fifths])
        assert np.allclose(table.loc[name], np.mean(means, axis=0))


def test_without_a_test_period(universe):
    made = backtest(universe.panel, metrics="euclidean")
    table = made.table()
    assert table.at[("test", "euclidean"), "n"] == 0
    assert table.loc["test"].drop(columns=["n", "max_drawdown"]).isna().all(axis=None)
    pd.testing.assert_frame_equal(table.loc["validation"], table.loc["both"])


def test_without_a_validation_period(universe):
    made = backtest(universe.panel, metrics="euclidean", test_start="2010-01-01")
    table = made.table()
    assert table.at[("validation", "euclidean"), "n"] == 0
    assert table.loc["validation"].drop(columns=["n", "max_drawdown"]).isna().all(axis=None)
    pd.testing.assert_frame_equal(table.loc["test"], table.loc["both"])


def test_a_period_that_is_not_there_has_no_drawdown(universe):
    made = backtest(universe.panel, metrics="euclidean")
    assert made.table().loc["test", "max_drawdown"].isna().all()


def test_an_unknown_period_is_refused(study):
    with pytest.raises(DataError, match="`period` must be one of validation, test, both, got 'train'"):
        study.decided("train")


def test_the_last_decision_has_no_outcome_yet(universe):
    panel = universe.panel.until(pd.Timestamp("2014-08-15"))
    made = backtest(panel, metrics="euclidean")
    last = made.ic.index[-1]
    assert last == pd.Timestamp("2014-06-30")
    assert np.isnan(made.ic.at[last, "euclidean"])
    assert made.holdings.set_index("date").loc[last, "realized"].isna().all()
    assert made.equity.index[-1] == pd.Timestamp("2014-08-15")
    assert made.table().at[("both", "euclidean"), "n"] == len(made.ic) - 1


def test_holdings_are_the_best_forecasts_with_their_neighbors_and_reasons(study):
    key = ["date", "forecaster", "fund"]
    for (day, name), own in study.holdings.groupby(["date", "forecaster"]):
        rows = study.predictions[
            (study.predictions["date"] == day) & (study.predictions["forecaster"] == name)
        ]
        assert len(own) == 5
        assert own["forecast"].tolist() == rows["forecast"].nlargest(5).tolist()
    earned = study.neighbors.groupby(key)["earned"]
    assert (earned.size() == 10).all()
    held = study.holdings.set_index(key)["forecast"]
    assert np.allclose(earned.mean().reindex(held.index), held)
    assert (study.neighbors.groupby(key)["distance"].diff().dropna() >= 0.0).all()
    told = study.reasons.groupby([*key, "view"])["share"]
    assert (told.size() == 5).all()
    assert len(told) == 2 * len(held)
    assert told.apply(lambda share: share.abs().is_monotonic_decreasing).all()


def test_euclidean_shares_are_squares_of_differences(study):
    """With W = I the share of a factor in a fund's distance from the middle is z²/Σz², so never negative."""
    own = study.reasons[study.reasons["forecaster"] == "euclidean"]
    assert (own["share"] >= 0.0).all()
    assert (own.groupby(["date", "fund", "view"])["share"].sum() <= 1.0).all()


def test_figures_can_be_drawn(study):
    for draw in (study.plot_performance, study.plot_annual_returns, study.plot_ic):
        assert isinstance(draw(), Figure)
