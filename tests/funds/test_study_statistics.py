"""The statistics of a study as its tables show them, and studies that have hardly anything to show."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import backtest
from geodual.funds.evaluation import performance
from geodual.funds.evaluation.performance import describe
from geodual.funds.evaluation.statistics import corrected_p
from geodual.metric.registry import find_metric

METRICS = ["euclidean", "gmml", "rpdml"]
PERIODS = ["validation", "test", "both"]
TABLES = (
    *("against_index", "monthly_returns", "rolling_sharpe", "rolling_beta", "spreads", "spread_summary"),
    *("ic_within_types", "ic_by_type", "rank_autocorrelation", "exposure", "skill"),
    *("overfitting", "overfitting_probability", "random_rank"),
)


def with_types(study):
    funds = sorted(study.predictions["fund"].unique())
    types = np.resize(["stock", "bond"], len(funds)).astype(object)
    types[:4] = None
    return replace(study, facts=pd.DataFrame({"type": types}, index=pd.Index(funds, name="fund")))


def test_the_portfolios_of_a_period_against_the_index(study):
    table = study.against_index
    assert table.index.names == ["period", "forecaster"]
    assert list(table.index) == [(period, name) for period in PERIODS for name in (*METRICS, "index")]
    start = study.equity.index.searchsorted(pd.Timestamp("2014-01-01")) - 1  # the last close of 2013
    own, index = study.equity["gmml"].iloc[start:], study.equity["index"].iloc[start:]
    row = table.loc[("test", "gmml")]
    assert (row["alpha"], row["beta"]) == performance.alpha_beta(own, index)
    assert (row["up_capture"], row["down_capture"]) == performance.capture_ratios(own, index)
    assert row["tracking_error"] == performance.tracking_error(own, index)
    assert row["information_ratio"] == performance.information_ratio(own, index)
    assert (row["sortino"], row["cvar"]) == (performance.sortino(own), performance.cvar(own))
    assert table.loc[("test", "index"), "cvar"] == performance.cvar(index)
    assert table.xs("index", level="forecaster").iloc[:, :6].isna().all(axis=None)
    assert table.drop(index="index", level="forecaster").notna().all(axis=None)


def test_curves_and_months(study):
    assert list(study.monthly_returns.columns) == [*METRICS, "index"]
    assert study.monthly_returns.index[0].day == 1
    assert list(study.rolling_sharpe.columns) == [*METRICS, "index"]
    assert list(study.rolling_beta.columns) == METRICS
    full = study.equity.index >= study.equity.index[0] + pd.Timedelta(days=365)
    for table in (study.rolling_sharpe, study.rolling_beta):
        assert table.index.equals(study.equity.index)
        assert (table.notna().all(axis=1) == full).all()


def test_spreads_agree_with_the_returns_by_fifth(study):
    assert study.spreads.index.equals(study.ic.index)
    assert list(study.spreads.columns) == METRICS
    summary = study.spread_summary
    assert list(summary.columns) == ["mean", "t", "low", "high", "p", "n"]
    assert list(summary.index) == list(study.fifths.index)
    np.testing.assert_allclose(summary["mean"], study.fifths["spread"], rtol=1e-12)
    own = study.spreads.loc[study.decided("test"), "rpdml"]
    assert summary.loc[("test", "rpdml"), "p"] == corrected_p(own, 3)
    assert summary["n"].dtype == int


def test_rank_autocorrelation_begins_with_the_second_day(study):
    known = study.rank_autocorrelation.notna().all(axis=1)
    assert known.tolist() == [False] + [True] * (len(study.ic) - 1)


def test_types(study):
    typed = with_types(study)
    within, by_type, exposure = typed.ic_within_types, typed.ic_by_type, typed.exposure
    assert within.shape == study.ic.shape
    assert within.notna().equals(study.ic.notna())
    assert list(by_type.index) == [(name, kind) for name in METRICS for kind in ("bond", "stock")]
    assert list(by_type.columns) == ["ic_mean", "t", "n", "funds"]
    assert by_type["n"].tolist() == [int(study.ic.notna().all(axis=1).sum())] * 6
    assert exposure.index.names == ["date", "forecaster"]
    np.testing.assert_allclose(exposure.sum(axis=1), 1.0, rtol=1e-12)
    held = study.holdings.groupby(["date", "forecaster"], sort=False).size()
    assert list(exposure.index) == list(held.index)


def test_one_type_for_all_is_no_type_at_all(study):
    funds = study.predictions["fund"].unique()
    typed = replace(study, facts=pd.DataFrame({"type": "stock"}, index=funds))
    np.testing.assert_allclose(typed.ic_within_types, study.ic, rtol=0, atol=1e-14)


@pytest.mark.parametrize("columns", [[], ["type"], ["name"]])
def test_without_types(study, columns):
    facts = pd.DataFrame(index=study.predictions["fund"].unique(), columns=columns, dtype=object)
    bare = replace(study, facts=facts)
    assert bare.ic_within_types.empty
    assert bare.ic_by_type.empty
    assert bare.exposure.empty


def test_skill_counts_the_choices(study):
    skill = study.skill
    assert list(skill.columns) == ["ic_mean", "p"]
    assert list(skill.index) == [(period, name) for period in PERIODS for name in METRICS]
    for period in PERIODS:
        ic = study.ic.loc[study.decided(period)]
        assert skill.loc[period, "ic_mean"].tolist() == ic.mean().tolist()
        for name in METRICS:
            expected = corrected_p(ic[name], study.n_choices(period))
            assert skill.loc[(period, name), "p"] == pytest.approx(expected, abs=0, nan_ok=True)


def test_tuned_settings_count_on_the_period_they_were_tuned_on(study):
    grid = len(find_metric("rpdml").grid)
    tuned = replace(study, config=replace(study.config, tune=True), chosen={"rpdml": {"C": 1.0}})
    assert [tuned.n_choices(period) for period in PERIODS] == [3 + grid, 3, 3 + grid]
    assert [study.n_choices(period) for period in PERIODS] == [3, 3, 3]
    assert tuned.overfitting["trials"].tolist() == [3 + grid] * 3
    assert (tuned.overfitting["deflated_sharpe"] < study.overfitting["deflated_sharpe"]).all()
    p, more = study.spread_summary["p"], tuned.spread_summary["p"]
    assert more.loc["test"].equals(p.loc["test"])
    expected = np.minimum(1.0, p.loc["both"] * (3 + grid) / 3)
    np.testing.assert_allclose(more.loc["both"][p.loc["both"] < 1.0], expected[p.loc["both"] < 1.0])


def test_overfitting(study):
    assert list(study.overfitting.index) == METRICS
    for name in METRICS:
        assert study.overfitting.loc[name, "sharpe"] == describe(study.equity[name])["sharpe"]
    assert 0.0 <= study.overfitting_probability <= 1.0


def test_rank_among_random_portfolios(study):
    own = describe(study.equity["gmml"])
    drawn = pd.DataFrame([own + 1.0, own - 1.0, own - 2.0, own])
    ranked = replace(study, random_portfolios=drawn).random_rank
    assert list(ranked.index) == METRICS
    assert ranked.loc["gmml"].to_dict() == {"annual_return": 0.5, "sharpe": 0.5}
    assert replace(study, random_portfolios=pd.DataFrame()).random_rank.empty


def test_old_studies_have_no_facts_nor_random_portfolios(study):
    """Fields that came later have defaults, so that code that makes a study without them still works."""
    names = ("facts", "ic_decay", "random_portfolios")
    bare = replace(study, **{name: pd.DataFrame() for name in names})
    for name in TABLES:
        getattr(bare, name)


def test_one_metric_and_no_test_period(universe):
    small = backtest(universe.panel, metrics="euclidean", top=5)
    for name in TABLES:
        getattr(small, name)
    assert small.known_periods == ("validation", "both")
    assert list(small.skill.index) == [("validation", "euclidean"), ("both", "euclidean")]
    assert small.overfitting.loc["euclidean", "trials"] == 1
    assert np.isnan(small.overfitting_probability)


@pytest.mark.parametrize("kept", [1, 2])
def test_one_or_two_decisions(study, kept):
    days = study.ic.index[-kept:]
    chosen = {
        name: getattr(study, name)[lambda table: table["date"].isin(days)]
        for name in ("predictions", "holdings")
    }
    small = replace(with_types(study), ic=study.ic[-kept:], equity=study.equity[days[0] :], **chosen)
    for name in TABLES:
        getattr(small, name)
    assert small.skill["p"].isna().all()
    assert len(small.spreads) == len(small.rank_autocorrelation) == kept
    assert small.rolling_beta.isna().all(axis=None)


def test_nothing_is_known_yet(study):
    """No outcome, and one day of equity."""
    blank = replace(
        with_types(study),
        ic=study.ic * np.nan,
        predictions=study.predictions.assign(realized=np.nan),
        equity=study.equity[:1],
        random_portfolios=pd.DataFrame(),
    )
    assert blank.known_periods == ()
    for name in ("against_index", "spread_summary", "skill", "monthly_returns", "random_rank"):
        assert getattr(blank, name).empty, name
    assert blank.spreads.isna().all(axis=None)
    assert blank.ic_within_types.isna().all(axis=None)
    assert blank.ic_by_type.empty
    assert blank.overfitting[["sharpe", "deflated_sharpe"]].isna().all(axis=None)
    assert np.isnan(blank.overfitting_probability)


def test_constant_curves(study):
    still = replace(study, equity=study.equity * 0.0 + 1.0)
    table = still.against_index
    assert (table["tracking_error"].dropna() == 0.0).all()
    assert (table["cvar"] == 0.0).all()
    assert table.drop(columns=["tracking_error", "cvar"]).isna().all(axis=None)
    assert still.rolling_sharpe.isna().all(axis=None)
    assert still.overfitting["deflated_sharpe"].isna().all()
    assert still.random_rank["sharpe"].isna().all()


def test_missing_ics(study):
    ic = study.ic.copy()
    ic.iloc[2, 0] = ic.iloc[5, 1] = np.nan
    ic["rpdml"] = np.nan
    holed = replace(study, ic=ic)
    assert np.isnan(holed.skill.loc[("both", "rpdml"), "p"])
    assert holed.skill.loc[("both", "gmml"), "ic_mean"] == ic["gmml"].mean()
