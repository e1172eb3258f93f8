"""The skill map: ICs of factors and forecasters, and what momentum does not explain."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr
from sklearn.linear_model import LinearRegression

from geodual.funds import backtest, compute_factors
from geodual.funds.evaluation.skill import judge_means, summarize_skill, unexplained_ic
from geodual.funds.evaluation.statistics import corrected_p
from geodual.funds.report.headline import write_headline
from geodual.funds.report.skill_sections import show_skill_map
from tests.funds.report_page import Page


def show(study):
    """Return the section of the report."""
    return Page(show_skill_map(study, write_headline(study)).html())


def rest_by_regression(forecast, momentum, realized):
    """Return the IC of the residuals of a least-squares fit to ranks."""
    r, m = rankdata(forecast), rankdata(momentum)[:, None]
    return spearmanr(r - LinearRegression().fit(m, r).predict(m), realized).statistic


def test_the_ic_of_a_factor_is_the_rank_correlation_of_its_scores(universe, study):
    day = study.ic.index[2]
    own = study.predictions[(study.predictions["date"] == day) & (study.predictions["forecaster"] == "gmml")]
    raw = compute_factors(universe.panel, [day]).loc[day].loc[own["fund"]]
    for factor in raw.columns[::9]:
        scores = (raw[factor] - raw[factor].mean()) / raw[factor].std(ddof=0)
        expected = spearmanr(scores.clip(-3, 3).fillna(0.0), own["realized"]).statistic
        assert study.factor_ic.loc[day, factor] == pytest.approx(expected, abs=1e-12)
    assert study.factor_ic.shape == (len(study.ic), 70)
    assert study.factor_ic.index.equals(study.ic.index)


def test_rows_are_found_without_a_warning_of_an_unsorted_index(study):
    rows = study.skill_map.loc[("test", "forecaster")]
    assert rows.equals(study.skill_map.loc["test"].loc["forecaster"])
    assert study.skill_map.index.unique("kind").tolist() == ["forecaster", "baseline", "factor"]


def test_the_rest_is_what_a_regression_on_the_ranks_of_momentum_leaves(study):
    rows = study.skill_map.loc["test"].loc["forecaster"]
    momentum = study.baseline_predictions.query("forecaster == 'momentum'").set_index(["date", "fund"])
    for name in study.config.compared:
        alike, rest = [], []
        for day in study.decided("test"):
            own = study.predictions.query("forecaster == @name and date == @day")
            other = momentum["forecast"][day].reindex(own["fund"]).to_numpy()
            alike.append(spearmanr(own["forecast"], other).statistic)
            if own["realized"].notna().all():
                rest.append(rest_by_regression(own["forecast"], other, own["realized"]))
        assert rows["momentum"][name] == pytest.approx(np.mean(alike), abs=1e-12)
        assert rows["rest_ic"][name] == pytest.approx(np.mean(rest), abs=1e-12)


def test_momentum_leaves_nothing_of_itself(study):
    row = study.skill_map.loc[("both", "baseline", "momentum")]
    assert row["momentum"] == pytest.approx(1.0)
    assert row[["rest_ic", "rest_low", "rest_high", "rest_p"]].isna().all()


def test_the_rest_in_special_cases():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 30))
    assert np.isnan(unexplained_ic(-np.exp(x), x, y))  # the same ranking, turned round
    assert unexplained_ic(x, np.ones(30), y) == pytest.approx(spearmanr(x, y).statistic)
    gaps = np.where(np.arange(30) < 10, np.nan, x)
    z = rng.standard_normal(30)
    assert unexplained_ic(z, gaps, y) == pytest.approx(rest_by_regression(z[10:], x[10:], y[10:]))
    assert np.isnan(unexplained_ic(x, x, np.full(30, np.nan)))
    assert np.isnan(unexplained_ic([], [], []))


def test_the_rest_of_a_sum_forecasts_like_its_other_part():
    """A forecast that adds something new to momentum has a rest that ranks like the new part."""
    rng = np.random.default_rng(1)
    momentum, new = rng.standard_normal((2, 2000))
    assert unexplained_ic(momentum + new, momentum, new) > 0.9
    assert abs(unexplained_ic(momentum + new, momentum, momentum)) < 0.1


def test_the_map_has_all_names_and_corrects_by_kind(study):
    table = study.skill_map
    both = table.loc["both"]
    assert both.groupby("kind", sort=False).size().to_dict() == {"forecaster": 3, "baseline": 2, "factor": 70}
    assert list(table.index.get_level_values("period").unique()) == ["validation", "test", "both"]
    for kind, ic, m in (("factor", study.factor_ic, 70), ("forecaster", study.ic, 2 * 3)):
        for name in list(ic)[:3]:
            expected = max(judge_means(ic, m)["p"][name], corrected_p(ic[name], m))
            assert both["p"][kind, name] == pytest.approx(expected)
            assert both["ic_mean"][kind, name] == pytest.approx(ic[name].mean())
    assert both.loc["factor"]["rest_p"].isna().all()


def test_a_row_is_clear_if_both_its_interval_and_its_p_say_so():
    rng = np.random.default_rng(7)
    table = summarize_skill(pd.DataFrame(0.2 * rng.standard_normal((12, 60)) + np.linspace(0.0, 0.4, 60)), 60)
    apart = (table["low"] > 0.0) | (table["high"] < 0.0)
    assert (apart == (table["p"] < 0.05)).all()
    assert 0.05 < apart.mean() < 0.95


def test_without_momentum_there_is_nothing_to_compare_with(study):
    table = replace(study, config=replace(study.config, baselines=()), baseline_predictions=pd.DataFrame())
    assert table.skill_map["momentum"].isna().all()
    assert "Like momentum" not in show(table).text
    assert "Like momentum" in show(study).text


def test_momentum_may_be_one_of_those_compared(universe):
    panel = universe.panel.until(pd.Timestamp("2013-12-31"))
    study = backtest(panel, forecasters=["momentum", "factor:sharpe_42"], baselines=(), top=3)
    rows = study.skill_map.loc["both"].loc["forecaster"]
    assert rows["momentum"]["momentum"] == pytest.approx(1.0)
    assert 0.2 < rows["momentum"]["factor:sharpe_42"] < 1.0


def strong(study, n_clear=3):
    """Return the study with a record of 20 quarters in which some factors have skill."""
    days = pd.date_range("2008-03-31", periods=20, freq="QE", name="date")
    rng = np.random.default_rng(3)
    ic = pd.DataFrame(0.02 * rng.standard_normal((20, 70)), index=days, columns=study.factor_ic.columns)
    ic = ic - ic.mean()
    ic.iloc[:, :n_clear] += 0.3
    table = summarize_skill(ic, 70)
    changed = replace(study)
    keys = {(period, "factor"): table for period in study.known_periods}
    kept = study.skill_map.query("kind != 'factor'")
    changed.__dict__["skill_map"] = pd.concat([kept, pd.concat(keys, names=["period", "kind"])])
    return changed, table


def test_the_report_draws_a_bar_per_row_and_colors_what_is_clear(study):
    changed, table = strong(study)
    page = show(changed)
    drawn = [kept for tag, kept in page.elements if tag == "svg" and "viewbox" in kept]
    assert len(drawn) == 70 + 3 * (3 + 2)  # the factors in one period, the others in all three
    rows = page.table("Every factor alone, both periods")
    assert [row["IC mean"] for row in rows[:3]] == ["0.300"] * 3
    assert sum(kept.get("class") == "clear" for kept in drawn) >= (table["p"] < 0.05).sum() == 3
    assert "3 of the 70 factors alone have ICs that differ from zero by more than chance" in page.text


def test_the_report_claims_nothing_of_a_short_record(study):
    tuned = replace(study, config=replace(study.config, tune=True), chosen={"gmml": {"t": 0.5}})
    page = show(tuned)  # four quarters of test
    assert "The record is too short to tell." in page.text
    assert "more than chance" not in page.text


def test_a_study_without_ics_of_factors_has_no_table_of_them(study):
    page = show(replace(study, factor_ic=pd.DataFrame()))
    assert not [caption for caption in page.tables if caption.startswith("Every factor")]
    assert [caption for caption in page.tables if caption.startswith("Forecasters and baselines")]


def test_few_choices_of_many_leave_an_interval_without_end() -> None:
    """With 9,999 draws no p-value can be below 0.05 after a correction for a thousand choices."""
    series = pd.DataFrame({"m": np.random.default_rng(0).normal(0.5, 0.1, 30)})
    table = judge_means(series, 1000)
    assert table.loc["m", "p"] == pytest.approx(1000 * 1.0 / 10_000)
    assert (table.loc["m", "low"], table.loc["m", "high"]) == (-1.0, 1.0)
    once = judge_means(series, 1)
    assert 0.0 < once.loc["m", "low"] < once.loc["m", "high"] < 1.0
