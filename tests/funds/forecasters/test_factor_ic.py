"""The sum of factors weighted by their information coefficients, against slow loops."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from geodual.funds.forecasters.regression import FactorICRegressor


def draw(seed=0, n_periods=3, n_rows=20, n_features=4):
    rng = np.random.default_rng(seed)
    periods = np.repeat(np.arange(n_periods), n_rows)
    X = rng.standard_normal((len(periods), n_features)) @ rng.standard_normal((n_features, n_features))
    return X, rng.standard_normal(len(periods)), periods


def ics_by_loop(X, y, periods):
    return np.array(
        [
            [np.corrcoef(X[periods == p, j], y[periods == p])[0, 1] for j in range(X.shape[1])]
            for p in np.unique(periods)
        ]
    )


def test_scikit_learn_accepts_it():
    check_estimator(FactorICRegressor(shrink=True), on_skip=None)


def test_weights_are_mean_ics():
    X, y, periods = draw(5, n_periods=6)
    ic = ics_by_loop(X, y, periods)
    model = FactorICRegressor().fit(X, y, periods=periods)
    np.testing.assert_allclose(model.ic_, ic.mean(axis=0), atol=1e-12)
    spread = np.mean([X[periods == p].std(axis=0) for p in range(6)], axis=0)
    target = np.mean([y[periods == p].std() for p in range(6)])
    np.testing.assert_allclose(model.coef_, ic.mean(axis=0) * target / spread, atol=1e-12)
    np.testing.assert_allclose(model.predict(X).mean(), y.mean())


def test_shrunk_weights_follow_the_formula():
    X, y, periods = draw(6, n_periods=7)
    ic = ics_by_loop(X, y, periods)
    t = ic.mean(axis=0) / (ic.std(axis=0, ddof=1) / np.sqrt(7))
    plain = FactorICRegressor().fit(X, y, periods=periods)
    shrunk = FactorICRegressor(shrink=True).fit(X, y, periods=periods)
    np.testing.assert_allclose(shrunk.coef_, plain.coef_ * t**2 / (1.0 + t**2), atol=1e-12)


def test_one_period_shrinks_nothing():
    X, y, _ = draw(7, n_periods=1)
    plain, shrunk = (FactorICRegressor(shrink).fit(X, y) for shrink in (False, True))
    np.testing.assert_array_equal(plain.coef_, shrunk.coef_)


def test_order_of_rows_and_columns_does_not_matter():
    X, y, periods = draw(8)
    rng = np.random.default_rng(8)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    model = FactorICRegressor(shrink=True).fit(X, y, periods=periods)
    mixed = FactorICRegressor(shrink=True).fit(X[rows][:, columns], y[rows], periods=periods[rows])
    np.testing.assert_allclose(mixed.coef_, model.coef_[columns], atol=1e-12)


def test_levels_of_a_period_do_not_matter():
    X, y, periods = draw(1)
    model = FactorICRegressor().fit(X, y, periods=periods)
    moved = FactorICRegressor().fit(X + 5.0 * periods[:, None], y - 3.0 * periods, periods=periods)
    np.testing.assert_allclose(moved.ic_, model.ic_, atol=1e-12)
    np.testing.assert_allclose(moved.coef_, model.coef_, atol=1e-12)


def test_a_period_weighs_as_its_average_row_and_zeros_are_left_out():
    X, y, periods = draw(3)
    ic = ics_by_loop(X, y, periods)
    model = FactorICRegressor().fit(X, y, np.array([0.5, 0.0, 2.0])[periods], periods)
    np.testing.assert_allclose(model.ic_, (ic[0] + 4.0 * ic[2]) / 5.0, atol=1e-12)


def test_whole_weights_within_a_period_are_repetitions():
    X, y, _ = draw(2, n_periods=1)
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    at = np.repeat(np.arange(len(y)), weights)
    weighted, repeated = FactorICRegressor().fit(X, y, weights), FactorICRegressor().fit(X[at], y[at])
    np.testing.assert_allclose(weighted.ic_, repeated.ic_, atol=1e-12)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-12)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-12)


def test_constant_factors_get_no_weight():
    X, y, periods = draw(9)
    X[:, 1] = 3.0
    for shrink in (False, True):
        assert FactorICRegressor(shrink).fit(X, y, periods=periods).coef_[1] == 0.0


def test_wrong_input_is_named():
    X, y, periods = draw(10)
    with pytest.raises(ValueError, match="`periods` must have one value per row"):
        FactorICRegressor().fit(X, y, periods=periods[:-1])
    with pytest.raises(ValueError, match="`periods` must be finite"):
        FactorICRegressor().fit(X, y, periods=np.where(periods == 0, np.nan, periods))
    with pytest.raises(ValueError, match=r"(?i)sample.weights?`? must"):
        FactorICRegressor().fit(X, y, sample_weight=np.zeros(len(y)), periods=periods)
    with pytest.raises(ValueError, match="NaN"):
        FactorICRegressor().fit(np.where(X > 1.0, np.nan, X), y, periods=periods)
