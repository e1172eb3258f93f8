"""Inference over quarters by hand, by enumeration, and on few quarters."""

from dataclasses import astuple
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from geodual.funds.evaluation.statistics import (
    compare_pairs,
    corrected_p,
    holm,
    newey_west_t,
    spearman_ic,
    stationary_bootstrap_interval,
    summarize_ic,
)


def test_ic_by_hand():
    # Ranks 1 2 3 4 against 2 1 3 4: 1 − 6·2/(4·15).
    assert spearman_ic([0.1, 0.2, 0.3, 0.4], [2.0, 1.0, 3.0, 4.0]) == pytest.approx(0.8, abs=1e-15)


def test_ic_leaves_out_funds_that_lack_a_side():
    forecast = [0.1, 0.2, np.nan, 0.3, 0.4, np.inf]
    realized = [2.0, 1.0, 9.0, 3.0, 4.0, -9.0]
    assert spearman_ic(pd.Series(forecast), realized) == pytest.approx(0.8, abs=1e-15)
    assert np.isnan(spearman_ic([1.0, 2.0, np.nan], [1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [0.1, 0.1, 0.1])]
)
def test_ic_is_missing_where_there_is_nothing_to_rank(x, y):
    assert np.isnan(spearman_ic(x, y))


def test_ic_needs_equal_lengths():
    with pytest.raises(ValueError, match="must have the same length"):
        spearman_ic([1.0, 2.0, 3.0], [1.0])


@given(seed=st.integers(0, 10**6))
def test_ic_depends_on_ranks_alone_and_is_odd(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-3, 9, (2, 30)).astype(float)
    ic = spearman_ic(x, y)
    assert spearman_ic(np.exp(x), 5.0 + y**3) == pytest.approx(ic, abs=1e-14)
    assert spearman_ic(-x, y) == pytest.approx(-ic, abs=1e-14)
    assert spearman_ic(x, x) == 1.0


def test_t_by_hand():
    # Mean 1, e = −1 0 1: γ₀ = 2/3, γ₁ = 0.
    assert newey_west_t([0.0, 1.0, 2.0], lags=0) == pytest.approx(np.sqrt(3.0), rel=1e-15)
    assert newey_west_t([0.0, 1.0, 2.0], lags=1) == pytest.approx(np.sqrt(3.0), rel=1e-15)
    # Mean 2, e = −1 −1 1 1: γ₀ = 1, γ₁ = ¼, so S = 1 + 2·½·¼ and t = 2/√(S/3).
    assert newey_west_t([1.0, 1.0, 3.0, 3.0], lags=1) == pytest.approx(2.0 / np.sqrt(1.25 / 3.0), rel=1e-15)


def test_persistence_lowers_t():
    block = np.repeat(np.random.default_rng(0).standard_normal(20) + 1.0, 4)
    assert 0.0 < newey_west_t(block) < newey_west_t(block, lags=0)


def test_t_seldom_finds_a_mean_where_there_is_none():
    draws = np.random.default_rng(1).standard_normal((2000, 40))
    assert 0.05 < np.mean([abs(newey_west_t(x)) > 2.0227 for x in draws]) < 0.09  # Student's 97.5 %, 39 df


@pytest.mark.parametrize("series", [[], [1.0], [1.0, 2.0], [0.1] * 9, [0.0] * 9, [np.nan] * 9])
def test_t_is_missing_without_variation(series):
    assert np.isnan(newey_west_t(series))


def test_interval_of_single_draws_is_that_of_all_resamples():
    """With blocks of one, the resamples of 1, 2, 4, 8 are the 4⁴ equally likely tuples."""
    x = np.array([1.0, 2.0, 4.0, 8.0])
    means = np.array([np.mean(draw) for draw in product(x, repeat=4)])
    low, high = stationary_bootstrap_interval(x, level=0.8, n_resamples=40_000, mean_block=1.0)
    # A quantile falls on an atom of the enumeration.
    assert (means < low - 1e-12).mean() < 0.1 < (means <= low + 1e-12).mean()
    assert (means < high - 1e-12).mean() < 0.9 < (means <= high + 1e-12).mean()


def test_one_endless_block_keeps_the_mean():
    x = np.random.default_rng(1).standard_normal(30)
    low, high = stationary_bootstrap_interval(x, mean_block=1e12)
    np.testing.assert_allclose([low, high], x.mean(), rtol=1e-12)


def test_spread_of_resampled_means_is_politis_and_romanos():
    """Their variance is known: (γ₀ + 2 Σ_l ((1 − l/n)(1 − p)^l + (l/n)(1 − p)^{n−l}) γ_l) / n."""
    n, block = 40, 4.0
    x = np.cumsum(np.random.default_rng(2).standard_normal(n)) / 4.0
    e, keep, lag = x - x.mean(), 1.0 - 1.0 / block, np.arange(1, n)
    gamma = np.array([e[k:] @ e[: n - k] / n for k in range(n)])
    weight = (1.0 - lag / n) * keep**lag + lag / n * keep ** (n - lag)
    deviation = np.sqrt((gamma[0] + 2.0 * weight @ gamma[1:]) / n)
    low, high = stationary_bootstrap_interval(x, level=0.6827, n_resamples=40_000, mean_block=block)
    assert (high - low) / 2.0 == pytest.approx(deviation, rel=0.03)


def test_interval_covers_the_mean_nearly_as_often_as_it_says():
    rng = np.random.default_rng(3)
    hits = 0
    for x in rng.standard_normal((300, 40)):
        low, high = stationary_bootstrap_interval(x, n_resamples=300)
        hits += low <= 0.0 <= high
    assert 0.87 < hits / 300 < 0.97


def test_interval_is_the_same_for_a_seed():
    x = np.random.default_rng(4).standard_normal(20)
    first, again, other = (stationary_bootstrap_interval(x, seed=seed) for seed in (0, 0, 1))
    assert first == again != other
    np.testing.assert_allclose(stationary_bootstrap_interval(3.0 * x - 1.0), 3.0 * np.array(first) - 1.0)


def test_series_have_one_dimension():
    with pytest.raises(ValueError, match="one dimension"):
        newey_west_t(np.ones((3, 3)))


def test_holm_by_hand_and_with_a_missing_value():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.01, np.nan, 0.04, 0.9]), [0.03, np.nan, 0.08, 0.9])
    np.testing.assert_allclose(holm([0.6, 0.5]), [1.0, 1.0])
    assert holm([]).shape == (0,)


def test_summary_by_hand():
    summary = summarize_ic(pd.Series([0.1, np.nan, -0.1, 0.3, 0.1]))
    assert (summary.mean, summary.hit_rate, summary.n) == (pytest.approx(0.1), 0.75, 4)
    assert summary.std == pytest.approx(np.sqrt(0.08 / 3.0))
    assert summary.icir == pytest.approx(0.1 / np.sqrt(0.08 / 3.0))
    assert summary.t == newey_west_t([0.1, -0.1, 0.3, 0.1])
    assert (summary.low, summary.high) == stationary_bootstrap_interval([0.1, -0.1, 0.3, 0.1])


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([], [np.nan] * 7 + [0]),
        ([0.2], [0.2, *[np.nan] * 5, 1.0, 1]),
        ([0.0], [0.0, *[np.nan] * 5, 0.0, 1]),
        ([0.2, -0.2], [0.0, np.sqrt(0.08), 0.0, np.nan, np.nan, np.nan, 0.5, 2]),
        ([0.2, 0.2, 0.2], [0.2, 0.0, np.nan, np.nan, 0.2, 0.2, 1.0, 3]),
    ],
)
def test_few_or_equal_quarters_give_what_is_known(series, expected):
    np.testing.assert_allclose(astuple(summarize_ic(series)), expected, rtol=1e-12)


@pytest.fixture
def ic():
    rng = np.random.default_rng(5)
    table = pd.DataFrame(0.2 * rng.standard_normal((24, 3)), columns=["a", "b", "c"])
    table["c"] += 0.3
    table.loc[3, "b"] = np.nan
    return table


def test_every_pair_is_compared_over_shared_quarters(ic):
    table = compare_pairs(ic)
    assert list(table.index) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(table["n"]) == [23, 24, 23]
    summary = summarize_ic((ic["b"] - ic["c"]).dropna())
    row = table.loc[("b", "c"), ["difference", "t", "low", "high"]]
    assert row.tolist() == [summary.mean, summary.t, summary.low, summary.high]
    np.testing.assert_array_equal(table["p_holm"], holm(table["p"]))
    assert table["p_holm"][("b", "c")] < 0.01


def test_p_is_students_with_n_minus_one_degrees_of_freedom():
    # With two degrees of freedom P(T > t) = ½ − t/(2√(2 + t²)) in closed form.
    table = compare_pairs(pd.DataFrame({"a": [0.1, 0.3, 0.6], "b": [0.0, 0.0, 0.0]}))
    x = np.array([0.1, 0.3, 0.6])
    plain = x.mean() / (x.std(ddof=1) / np.sqrt(3.0))
    robust = table["t"].iloc[0]
    # The larger of two p-values: that of Newey and West alone is too small for short series.
    assert plain < robust
    assert table["p"].iloc[0] == pytest.approx(1.0 - plain / np.sqrt(2.0 + plain**2), rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_quarters_compare_to_nothing(n):
    table = compare_pairs(pd.DataFrame(np.eye(3)[:n], columns=["a", "b", "c"]))
    assert table[["t", "low", "high", "p", "p_holm"]].isna().all(axis=None)
    assert (table["n"] == n).all()


def test_one_metric_and_equal_metrics():
    assert compare_pairs(pd.DataFrame({"a": [0.1, 0.2, 0.3]})).empty
    row = compare_pairs(pd.DataFrame({"a": [0.1, 0.2, 0.4], "b": [0.1, 0.2, 0.4]})).iloc[0]
    assert row["difference"] == 0.0
    assert np.isnan(row["p"])


@pytest.mark.parametrize("n", [8, 24])
@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_the_best_of_six_series_without_a_signal_is_rarely_called_more_than_noise(n, rho):
    """At most 5 % of the choices of the best, where the uncorrected claim fires in 12 to 30 %."""
    rng = np.random.default_rng(n)
    factor = np.linalg.cholesky((1.0 - rho) * np.eye(6) + rho)
    claimed = plain = 0
    for _ in range(400):
        ics = rng.standard_normal((n, 6)) @ factor.T
        best = ics[:, ics.mean(axis=0).argmax()]
        claimed += corrected_p(best, 6) < 0.05
        plain += corrected_p(best) < 0.05
    assert claimed <= 0.05 * 400
    assert plain > 0.05 * 400, "which is why the choice has to be counted"


def test_a_corrected_p_is_the_ordinary_one_times_the_choices():
    x = np.array([0.1, 0.3, -0.1, 0.2, 0.4, 0.0, 0.2, 0.1])
    plain = ttest_1samp(x, 0.0).pvalue
    assert corrected_p(x) >= plain - 1e-12
    assert corrected_p(x, 3) == pytest.approx(min(1.0, 3.0 * corrected_p(x)))
    assert corrected_p(x, 10**6) == 1.0
    assert np.isnan(corrected_p([0.1, 0.2]))
    assert np.isnan(corrected_p(np.ones(9)))
