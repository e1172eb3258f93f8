"""Intervals and p-values that hold for several means together, by Student's distribution and by signs."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student_t
from scipy.stats import ttest_1samp

from geodual.funds.evaluation.skill import judge_means
from geodual.funds.evaluation.statistics import corrected_p, simultaneous_interval


@pytest.mark.parametrize("m", [1, 70])
def test_an_interval_without_autocorrelation_is_students(m):
    x = 0.1 + np.tile([1.0, -1.0], 10)  # the Newey–West error is smaller, so the ordinary one counts
    expected = student_t.interval(1.0 - 0.05 / m, 19, x.mean(), x.std(ddof=1) / np.sqrt(20))
    assert simultaneous_interval(x, m) == pytest.approx(expected)


def test_an_interval_excludes_zero_if_the_corrected_p_is_small():
    rng = np.random.default_rng(2)
    found = set()
    for shift in np.linspace(0.0, 2.0, 60):
        x = shift + np.convolve(rng.standard_normal(21), [1.0, 0.7], "valid")
        low, high = simultaneous_interval(x, 6)
        assert (low > 0.0 or high < 0.0) == (corrected_p(x, 6) < 0.05)
        found.add(low > 0.0)
    assert found == {True, False}


@pytest.mark.parametrize("series", [[], [0.1, 0.2], [0.3] * 9, [np.nan] * 9])
def test_what_cannot_be_known_has_no_interval(series):
    assert np.isnan(simultaneous_interval(series, 3)).all()


def largest_t(values):
    """Return the t-statistic of each column, and the largest absolute one for all 2^n signs of the rows."""
    signed = [np.array(signs)[:, None] * values for signs in product([-1.0, 1.0], repeat=len(values))]
    every = [np.abs(ttest_1samp(each, 0.0).statistic).max() for each in signed]
    return np.abs(ttest_1samp(values, 0.0).statistic), np.array(every)


def test_p_values_are_those_of_all_signs():
    """Nine days, so that all 512 signs can be tried; random ones must come near."""
    rng = np.random.default_rng(4)
    values = rng.standard_normal((9, 3)) + np.array([0.0, 0.8, 1.5])
    t, every = largest_t(values)
    expected = [(every >= one - 1e-9).mean() for one in t]
    found = judge_means(pd.DataFrame(values, columns=list("abc")), 3)
    assert found["p"].to_numpy() == pytest.approx(expected, abs=0.015)
    assert expected[2] < 0.05 < expected[0]
    doubled = judge_means(pd.DataFrame(values, columns=list("abc")), 6)
    assert doubled["p"].to_numpy() == pytest.approx(np.minimum(2.0 * found["p"], 1.0))


def test_the_interval_of_signs_excludes_zero_if_p_is_small():
    rng = np.random.default_rng(5)
    clear = []
    for shift in np.linspace(0.0, 0.25, 25):
        ic = pd.DataFrame(shift + 0.2 * rng.standard_normal((16, 4)))
        for n_choices in (4, 9):
            found = judge_means(ic, n_choices)
            apart = (found["low"] > 0.0) | (found["high"] < 0.0)
            assert (apart == (found["p"] < 0.05)).all()
            assert found["low"].between(-1.0, ic.mean()).all()
            clear += list(apart)
    assert 0.1 < np.mean(clear) < 0.9


def test_equal_sizes_with_two_signs_are_judged_by_their_number():
    """Eleven values of one size: ten of one sign have Student's p = 0.001, but 24 of 2,048 are such."""
    values = np.where(np.arange(11) == 4, -1.0, 1.0) * (1.0 + 1e-6 * np.arange(11))
    assert ttest_1samp(values, 0.0).pvalue < 0.0012
    found = judge_means(pd.DataFrame({"a": 0.3 * values}), 1)
    assert found["p"]["a"] == pytest.approx(24 / 2048, abs=0.006)


def test_series_of_different_length_and_without_values_are_judged_together():
    rng = np.random.default_rng(6)
    ic = pd.DataFrame(0.1 * rng.standard_normal((12, 2)), columns=["a", "b"])
    ic.loc[:3, "b"] = np.nan
    with_more = ic.assign(c=0.3, d=np.nan, e=[0.1, 0.2, *[np.nan] * 10])
    found = judge_means(with_more, 2)
    pd.testing.assert_frame_equal(found.loc[["a", "b"]], judge_means(ic, 2))
    assert found.loc[["c", "d", "e"]].isna().all(axis=None)
    assert judge_means(ic.iloc[:0], 2).isna().all(axis=None)


def test_records_with_the_same_t_count_whatever_the_rounding():
    """Of few days with one sign, p is 2 of 2^n at least; above 0.05 the interval contains zero."""
    rng = np.random.default_rng(1)
    for _ in range(80):
        n = int(rng.integers(3, 6))
        found = judge_means(pd.DataFrame(np.abs(rng.normal(0.1, 0.05, (n, 2)))), 2)
        assert (found["p"] > 0.9 * 2.0 / 2.0**n).all()
        assert (found["low"] <= 0.0).all()
