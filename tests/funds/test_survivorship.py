"""Closed funds: whether they are missing, and what returns would gain without them."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.sources.reading.quality import inspect_quality
from geodual.funds.sources.reading.survivorship import Survivorship, measure_survivorship

N_FUNDS, N_WEEKS = 120, 6 * 52
DAYS = pd.bdate_range("2010-01-01", periods=N_WEEKS, freq="W-FRI", name="date")


def table_with_closures(n_closed: int, penalty: float = 0.04, seed: int = 1) -> pd.DataFrame:
    """Funds that share a market; the last ones earn less, by `penalty` per year, and close in turn."""
    rng = np.random.default_rng(seed)
    market = rng.normal(0.002, 0.02, (N_WEEKS, 1))
    returns = market + rng.normal(0.0, 0.005, (N_WEEKS, N_FUNDS))
    returns[:, N_FUNDS - n_closed :] -= penalty / 52
    nav = pd.DataFrame(np.exp(np.cumsum(returns, axis=0)), DAYS, [f"F{at:03d}" for at in range(N_FUNDS)])
    for turn in range(n_closed):
        nav.iloc[N_WEEKS // 3 + turn * N_WEEKS // (2 * n_closed) :, N_FUNDS - 1 - turn] = np.nan
    return nav


def survivorship_findings(nav: pd.DataFrame) -> list[str]:
    return [finding.message for finding in inspect_quality(nav) if finding.kind == "survivorship"]


def test_the_closed_funds_are_counted() -> None:
    measured = measure_survivorship(table_with_closures(24))
    assert (measured.funds, measured.closed) == (N_FUNDS, 24)
    assert measured.years == pytest.approx(6.0, abs=0.05)
    # Most live for six years, the others for two to five: 3.5 on average.
    assert measured.fund_years == pytest.approx(96 * 6 + 24 * 3.5, rel=0.03)
    assert measured.rate == pytest.approx(24 / measured.fund_years)
    assert not measured.seems_incomplete


def test_closures_of_the_last_year_are_counted() -> None:
    measured = measure_survivorship(table_of_the_last_year(1))  # of 95 funds one lives on, one is only late
    assert (measured.closed, measured.closed_before) == (1 + measured.closed_lately, 1)
    assert measured.rate_lately == pytest.approx(measured.closed_lately / 95, rel=0.03)
    assert measure_survivorship(table_with_closures(24)).closed_lately == 0


def test_the_bias_is_that_of_the_portfolios_and_lies_in_its_interval() -> None:
    """Counted by hand: monthly means of the living funds, compounded."""
    nav = table_with_closures(40, penalty=0.10)
    measured = measure_survivorship(nav)
    ends = nav.groupby(nav.index.to_period("M")).tail(1).index
    lives_on = nav.shift(-1).loc[ends].notna()  # beyond the end of the month
    returns = nav.ffill().loc[ends].pct_change().where(lives_on.shift(fill_value=False)).iloc[1:]
    survivors = returns[nav.columns[nav.iloc[-1].notna()]]
    years = (ends[-1] - ends[0]).days / 365.25
    grown = [(1 + held.mean(axis=1)).prod() ** (1 / years) for held in (survivors, returns)]
    assert measured.bias == pytest.approx(grown[0] - grown[1], rel=1e-9)
    low, high = measured.interval
    assert 0.0 < low < measured.bias < high


def test_funds_that_close_for_no_reason_cause_no_bias() -> None:
    measured = measure_survivorship(table_with_closures(40, penalty=0.0))
    low, high = measured.interval
    assert low < 0.0 < high


def test_without_its_closed_funds_the_table_seems_incomplete() -> None:
    whole = table_with_closures(24)
    assert not survivorship_findings(whole)
    (message,) = survivorship_findings(whole.dropna(axis=1))
    assert message.startswith("Every fund lives to the last day")
    assert "96 funds in 6.0 years" in message
    assert "closed funds seem to be missing, returns are likely too good" in message


def test_a_fund_that_ends_a_little_early_hides_nothing() -> None:
    """A late report is no closure, and a single closure is too few: the warning must not vanish."""
    survivors = table_with_closures(24).dropna(axis=1)
    survivors.iloc[-2:, 0] = np.nan
    assert measure_survivorship(survivors).closed == 0
    (message,) = survivorship_findings(survivors)
    assert message.startswith("None of 96 funds closes in 6.0 years")
    survivors.iloc[-60:, 1] = np.nan
    assert measure_survivorship(survivors).closed == 1
    (message,) = survivorship_findings(survivors)
    assert message.startswith("Only 1 of 96 funds closes in 6.0 years")


def table_of_the_last_year(n_early: int) -> pd.DataFrame:
    """All but one of the survivors end in the last five months, as if they were late; a few close before."""
    nav = table_with_closures(24).dropna(axis=1)
    for at in range(1, nav.shape[1]):
        nav.iloc[-6 - at % 15 :, at] = np.nan
    for at in range(n_early):
        nav.iloc[100 + 20 * at :, -1 - at] = np.nan
    return nav


def test_closures_in_the_last_year_alone_hide_nothing() -> None:
    """At the usual rate, 14 of the 96 funds would have closed in the five years before."""
    (message,) = survivorship_findings(table_of_the_last_year(1))
    assert message.startswith("94 of 96 funds end in the last year, but 1 in the 5.0 years before, where")
    assert "closed funds seem to be missing, returns are likely too good" in message
    (early_end,) = [f.message for f in inspect_quality(table_of_the_last_year(1)) if f.kind == "early-end"]
    assert "would change" not in early_end
    assert not survivorship_findings(table_of_the_last_year(4))  # 0.8 % per year


def test_the_bias_is_told_where_funds_end() -> None:
    (finding,) = [f for f in inspect_quality(table_with_closures(40, 0.10)) if f.kind == "early-end"]
    assert (finding.count, finding.matters) == (40, False)
    assert "without them, returns would change by +1.9 points per year (+" in finding.message


@pytest.mark.parametrize("nav", [table_with_closures(0).iloc[:, :10], table_with_closures(0).iloc[:60]])
def test_a_small_table_does_not_claim_much(nav: pd.DataFrame) -> None:
    assert not measure_survivorship(nav).seems_incomplete
    (message,) = survivorship_findings(nav)
    assert "may be chance" in message


@pytest.mark.parametrize(
    ("closed", "fund_years", "years", "incomplete"),
    [
        (0, 99.0, 2.0, False),  # at 3 % per year, no closure has a probability of exp(−2.97) = 5.1 %
        (0, 101.0, 2.0, True),
        (0, 5000.0, 1.9, False),
        (4, 1000.0, 5.0, True),
        (5, 1000.0, 5.0, False),
        (1, 150.0, 5.0, False),  # 0.7 % per year
    ],
)
def test_few_closures_count_if_they_are_not_chance(
    closed: int, fund_years: float, years: float, incomplete: bool
) -> None:
    measured = Survivorship(100, closed, years, fund_years, np.nan, (np.nan, np.nan))
    assert measured.seems_incomplete is incomplete


def test_degenerate_tables_are_measured() -> None:
    nav = table_with_closures(0)
    for degenerate in (nav.iloc[:1], nav.iloc[:, :0], nav * np.nan):
        measured = measure_survivorship(degenerate)
        assert (measured.closed, measured.rate, measured.seems_incomplete) == (0, 0.0, False)
        assert np.isnan(measured.bias)
