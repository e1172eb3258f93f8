"""Correlations within periods, against numpy's correlations period by period."""

import numpy as np
import pytest

from geodual.funds.forecasters.period_moments import measure_periods


def draw(seed=0, n_periods=3, n_rows=20, n_features=4):
    rng = np.random.default_rng(seed)
    periods = np.repeat(np.arange(n_periods), n_rows)
    X = rng.standard_normal((len(periods), n_features)) @ rng.standard_normal((n_features, n_features))
    return X, rng.standard_normal(len(periods)), periods


def test_correlations_are_those_of_each_period():
    X, y, periods = draw()
    moments = measure_periods(X, y, np.ones(len(y)), periods)
    for p in range(3):
        expected = np.corrcoef(np.column_stack([X, y])[periods == p], rowvar=False)
        np.testing.assert_allclose(moments.among[p], expected[:-1, :-1], atol=1e-12)
        np.testing.assert_allclose(moments.with_target[p], expected[:-1, -1], atol=1e-12)
    np.testing.assert_allclose(
        moments.spread, np.mean([X[periods == p].std(axis=0) for p in range(3)], axis=0)
    )


def test_levels_of_a_period_do_not_matter():
    X, y, periods = draw(1)
    moments = measure_periods(X, y, np.ones(len(y)), periods)
    moved = measure_periods(X + 5.0 * periods[:, None], y - 3.0 * periods, np.ones(len(y)), periods)
    np.testing.assert_allclose(moved.among, moments.among, atol=1e-12)
    np.testing.assert_allclose(moved.with_target, moments.with_target, atol=1e-12)


def test_whole_weights_are_repetitions_and_zeros_are_left_out():
    X, y, periods = draw(2)
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    weights[periods == 1] = 0.0
    weighted = measure_periods(X, y, weights, periods)
    at = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = measure_periods(X[at], y[at], np.ones(len(at)), periods[at])
    assert len(weighted.weights) == 2
    np.testing.assert_allclose(weighted.among, repeated.among, atol=1e-12)
    np.testing.assert_allclose(weighted.with_target, repeated.with_target, atol=1e-12)
    np.testing.assert_allclose(weighted.centre, repeated.centre)


def test_a_period_weighs_as_its_average_row():
    X, y, periods = draw(3)
    weights = np.array([0.5, 1.0, 2.0])[periods]
    np.testing.assert_allclose(measure_periods(X, y, weights, periods).weights, [0.25, 0.5, 1.0])


@pytest.mark.parametrize("level", [0.0, 0.1, 1e9])
def test_constant_features_and_targets_have_no_correlation(level):
    X, y, periods = draw(4)
    X[periods == 1, 2] = level
    moments = measure_periods(X, np.where(periods == 2, level, y), np.ones(len(y)), periods)
    assert not moments.among[1, 2].any()
    assert not moments.among[1, :, 2].any()
    assert moments.with_target[1, 2] == 0.0
    assert not moments.with_target[2].any()
    assert np.isfinite(moments.among).all()
    assert moments.spread[2] > 0.0
