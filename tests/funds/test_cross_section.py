"""The universe of a day and its standardized factors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import zscore

from geodual.funds import compute_factors, read_facts
from geodual.funds.decisions.universe import FundHistory, standardized, take_cross_section
from geodual.funds.factors.factor import choose_factors


def test_scores_are_scipys_cut_off_at_three():
    raw = np.random.default_rng(0).standard_t(2, (40, 6))
    raw[[1, 5, 7], [0, 3, 3]] = np.nan
    expected = np.nan_to_num(np.clip(zscore(raw, axis=0, nan_policy="omit"), -3.0, 3.0))
    assert np.abs(expected).max() == 3.0
    assert np.allclose(standardized(raw), expected, rtol=1e-12, atol=1e-14)


def test_what_is_missing_or_constant_is_zero():
    raw = np.array([[np.nan, 0.1, np.inf], [np.nan, 0.1, 1.0], [np.nan, 0.1, 2.0]])
    assert np.allclose(standardized(raw), [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])


def test_no_funds_give_no_scores():
    assert standardized(np.zeros((0, 5))).shape == (0, 5)


@given(seed=st.integers(0, 10**6), scale=st.floats(-150.0, 150.0), shift=st.floats(-100.0, 100.0))
def test_scale_and_shift_do_not_matter(seed, scale, shift):
    raw = np.random.default_rng(seed).standard_normal((12, 3))
    assert np.allclose(standardized(raw * 10.0**scale), standardized(raw), rtol=1e-9, atol=1e-12)
    assert np.allclose(standardized(raw + shift), standardized(raw), rtol=1e-9, atol=1e-12)


def test_the_input_is_not_changed():
    raw = np.array([[1.0, np.nan], [2.0, 5.0]])
    before = raw.copy()
    standardized(raw)
    assert np.array_equal(raw, before, equal_nan=True)


def section(nav, row, facts=None):
    day = nav.index[row]
    factors = compute_factors(nav, dates=[day]).to_numpy()
    history = FundHistory(nav, nav.index[[row]])
    needed = choose_factors().values_needed
    return take_cross_section(nav.columns, day, history, 0, factors, needed, facts)


@pytest.fixture
def nav():
    rng = np.random.default_rng(1)
    values = np.exp(np.cumsum(0.01 * rng.standard_normal((200, 15)), axis=0))
    return pd.DataFrame(
        values,
        index=pd.bdate_range("2020-01-01", periods=200, name="date"),
        columns=pd.Index([f"F{j:02d}" for j in range(15)], name="fund"),
    )


def test_a_fund_enters_with_its_120th_value(nav):
    nav.iloc[:30, 0] = np.nan  # on row 149 it has 120 values
    assert choose_factors().values_needed == 120
    assert "F00" not in section(nav, 148).funds
    today = section(nav, 149)
    assert "F00" in today.funds
    assert today.coverage == 1.0, "every factor is known from then on"


def test_holes_do_not_count_as_history(nav):
    nav.iloc[10:20, 0] = np.nan
    assert "F00" not in section(nav, 128).funds
    assert "F00" in section(nav, 129).funds


def test_a_fund_without_a_value_on_the_day_is_not_in_the_universe(nav):
    nav.iloc[150, 3] = np.nan  # a hole
    nav.iloc[150:, 4] = np.nan  # closed
    assert {"F03", "F04"} == set(nav.columns) - set(section(nav, 150).funds)
    assert {"F04"} == set(nav.columns) - set(section(nav, 151).funds)


def test_the_scores_are_those_of_the_members_only(nav):
    nav.iloc[150:, 4] *= 1000.0
    nav.iloc[151:, 4] = np.nan
    others = nav.drop(columns="F04")
    one, other = section(nav, 160), section(others, 160)
    assert one.funds.tolist() == other.funds.tolist()
    assert np.array_equal(one.features, other.features)
    assert one.features.shape == (14, 70)


def test_coverage_is_the_share_of_known_factors(nav):
    nav.iloc[142:161, 2] = nav.iloc[142, 2]  # flat: no Sharpe, Sortino, Calmar, stability up to 18 days
    today = section(nav, 160)
    raw = compute_factors(nav, dates=[nav.index[160]]).to_numpy()
    assert today.coverage == pytest.approx(np.isfinite(raw).sum() / raw.size, rel=1e-15)
    assert np.array_equal(today.known, np.isfinite(raw).mean(axis=1))
    assert 0.8 < today.known[2] < 1.0
    unknown = np.isnan(raw[2])
    assert np.all(today.features[2][unknown] == 0.0)


def test_a_fund_that_stands_still_may_not_be_chosen(nav):
    """Twenty equal values may happen; more mean that the fund is not priced any more."""
    nav.iloc[141:, 2] = nav.iloc[141, 2]
    assert "F02" in section(nav, 160).funds
    today = section(nav, 161)
    assert "F02" not in today.funds
    assert today.left_out["F02"] == "no change in 20 values while other funds moved"
    nav.iloc[165, 2] *= 1.001
    assert "F02" in section(nav, 165).funds, "it moves again"


def test_days_without_a_value_do_not_count_as_standing_still(nav):
    nav.iloc[130:160, 2] = np.nan
    nav.iloc[160, 2] = nav.iloc[129, 2]
    history = FundHistory(nav, nav.index[[159, 160]])
    assert history.n_still[:, 2].tolist() == [0, 1]


def test_nobody_stands_still_while_the_market_is_closed(nav):
    nav.iloc[130:161] = nav.iloc[130].to_numpy()
    assert FundHistory(nav, nav.index[[160]]).n_still.max() == 0
    assert len(section(nav, 160).funds) == 15


def test_one_share_class_is_chosen_from_what_is_known_that_day(nav):
    """The cheapest; of those that cost the same, the one with more values up to the day."""
    facts = read_facts(
        pd.DataFrame({"code": ["F00", "F01", "F02"], "group": "G", "fee": ["0.1%", "0.2%", "0.1%"]})
    )
    nav.iloc[:10, 0] = np.nan  # F02 has the longer history
    nav.iloc[150:160, 2] = np.nan
    today = section(nav, 149, facts)
    assert not {"F00", "F01"} & set(today.funds)
    assert today.left_out["F01"] == "another share class of it is chosen, F02"
    assert {"F00", "F01", "F02"} & set(section(nav, 155, facts).funds) == {"F00"}, "F02 has no value"


def test_every_fund_is_in_the_universe_or_told_why_not(nav):
    nav.iloc[:100, 0] = np.nan
    nav.iloc[160:, 1] = np.nan
    nav.iloc[120:, 2] = nav.iloc[120, 2]
    today = section(nav, 170)
    assert sorted([*today.funds, *today.left_out.index]) == sorted(nav.columns)
    assert today.left_out.to_dict() == {
        "F00": "71 values, 120 are needed",
        "F01": f"no value on {nav.index[170].date()}",
        "F02": "no change in 50 values while other funds moved",
    }


@pytest.mark.parametrize(
    ("n_moved", "n_funds", "lively"), [(1, 3, True), (1, 4, False), (2, 4, True), (0, 2, False)]
)
def test_a_fund_stands_still_on_rows_on_which_half_of_the_others_moved(n_moved, n_funds, lively):
    days = pd.bdate_range("2020-01-01", periods=3, name="date")
    nav = pd.DataFrame(1.0, index=days, columns=[f"F{number}" for number in range(n_funds)])
    nav.iloc[2, :n_moved] = 1.1
    assert FundHistory(nav, days[2:]).n_still[0, -1] == int(lively)
