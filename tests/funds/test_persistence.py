"""Persistence: counted by hand and by brute force, closed funds, ties, gaps, and the tables of a study."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from geodual.funds import Panel, draw_persistence, measure_persistence, synthetic_universe
from geodual.funds.evaluation.persistence import compare_years, fractions, returns_by_year
from geodual.funds.report.persistence_section import show_persistence


def draw_years(n=40, n_years=5, seed=0, stay=0.0):
    rng = np.random.default_rng(seed)
    skill = rng.standard_normal(n)
    values = {2010 + y: stay * skill + rng.standard_normal(n) for y in range(n_years)}
    return pd.DataFrame.from_dict(values, orient="index", columns=[f"F{i}" for i in range(n)])


def test_counts_are_those_of_plain_pandas():
    """The oracle cuts with `qcut`, year by year; 40 funds divide evenly."""
    returns = draw_years()
    returns.loc[2013:, "F3"] = np.nan
    returns.loc[2013:, ["F7", "F8", "F9"]] = np.nan  # 36 are left, which 4 divides
    expected = np.zeros((4, 5), dtype=int)
    for year in range(2010, 2014):
        before, after = returns.loc[year].dropna(), returns.loc[year + 1].dropna()
        first = pd.qcut(-before, 4, labels=False)
        second = pd.qcut(-after, 4, labels=False).reindex(before.index).fillna(4).astype(int)
        for i, j in zip(first, second, strict=True):
            expected[i, j] += 1
    found = compare_years(returns)
    np.testing.assert_array_equal(found.counts.to_numpy(), expected)
    np.testing.assert_allclose(found.transitions.sum(axis=1), 1.0)
    assert found.counts["closed"].sum() == 4
    both = returns.loc[[2012, 2013]].dropna(axis=1)
    assert found.years.at[2013, "rank_correlation"] == pytest.approx(spearmanr(*both.to_numpy()).statistic)
    assert found.years.at[2013, "closed"] == pytest.approx(0.1)
    assert found.years.index.tolist() == [2011, 2012, 2013, 2014]


def test_deciles_earn_what_brute_force_says():
    returns = draw_years(seed=2)
    found = compare_years(returns).deciles
    best = []
    for year in range(2010, 2014):
        top = returns.loc[year].sort_values(ascending=False).index[:4]
        best.append(returns.loc[year + 1, top].mean() - returns.loc[year + 1].mean())
    assert found.at[1, "excess"] == pytest.approx(np.mean(best))
    assert found["funds"].tolist() == [16] * 10
    assert found["excess"].mean() == pytest.approx(0.0, abs=1e-15)


def test_skill_is_seen_and_luck_is_not():
    skilled, lucky = (compare_years(draw_years(400, 12, stay=stay)).transitions for stay in (2.0, 0.0))
    assert skilled.at["1", "1"] > 0.6
    assert lucky.at["1", "1"] == pytest.approx(0.25, abs=0.04)


def test_equal_returns_share_a_part():
    assert fractions(pd.Series([5.0, 1.0, 1.0, 0.0]), 4).tolist() == [1, 3, 3, 4]
    assert fractions(pd.Series(1.0, index=range(9)), 4).nunique() == 1


def test_years_that_do_not_follow_each_other_are_no_pair():
    found = compare_years(draw_years().drop(index=2012))
    assert found.years.index.tolist() == [2011, 2014]
    nothing = compare_years(draw_years(9))
    assert nothing.years.empty
    assert nothing.counts.to_numpy().sum() == 0
    assert nothing.deciles.empty


def test_nav_tables_give_calendar_years():
    panel = synthetic_universe(60, "2011-12-26", "2015-06-30", seed=4).panel
    nav = panel.nav.copy()
    closing = nav.columns[nav.loc["2012-12-31"].notna() & nav.loc["2014-12-31"].notna()][0]
    nav.loc["2013-11-15":, closing] = np.nan
    found = measure_persistence(Panel(nav))
    assert found.years.index.tolist() == [2013, 2014]
    ends = nav.loc[["2011-12-30", "2012-12-31", "2013-12-31", "2014-12-31"]]
    by_hand = (ends / ends.shift(1) - 1.0).iloc[1:].set_axis([2012, 2013, 2014])
    assert found.years["funds"].tolist() == by_hand.notna().sum(axis=1).tolist()[:2]
    assert found.years.at[2013, "closed"] == pytest.approx(
        (by_hand.loc[2012].notna() & by_hand.loc[2013].isna()).sum() / by_hand.loc[2012].notna().sum()
    )


def test_a_study_has_the_returns_of_its_years(study):
    yearly = returns_by_year(study.predictions, "quarterly")
    own = study.predictions[study.predictions["forecaster"] == "gmml"]
    for year in yearly.index:
        days = [day for day in study.ic.index if (day + pd.Timedelta(days=20)).year == year]
        assert len(days) == 4
        fund = yearly.columns[yearly.loc[year].notna()][0]
        parts = own[(own["fund"] == fund) & own["date"].isin(days)]["realized"]
        assert yearly.at[year, fund] == pytest.approx((1.0 + parts).prod() - 1.0)
    assert study.persistence_by_year.index.tolist() == [
        year + 1 for year in yearly.index if year + 1 in yearly.index
    ]


def test_the_report_shows_it_and_leaves_it_out_without_years(study, plain_study):
    section = show_persistence(study)
    shown = f"{100.0 * study.persistence.at['1', '1']:.1f}\u202f%"
    assert shown in section.html()
    nothing = replace(
        plain_study, predictions=plain_study.predictions[plain_study.predictions["date"] < "2013-12-01"]
    )
    assert show_persistence(nothing) is None


def test_the_figure_shows_both_tables():
    figure = draw_persistence(compare_years(draw_years()))
    left, right = figure.axes[:2]
    assert len(left.texts) == 20
    assert len(right.patches) == 4
    draw_persistence(compare_years(draw_years(9)))  # without a pair of years
