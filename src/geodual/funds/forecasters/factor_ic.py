"""The sum of all factors, each weighted by how well it has forecast so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from .period_regressor import PeriodRegressor


class FactorICRegressor(PeriodRegressor):
    """Add up the factors, each weighted by its mean information coefficient (IC) over past periods.

    This is the linear forecaster with the least freedom: no factor is corrected for another. It is the limit
    of ridge regression for a large penalty. With m and s² the mean and the variance of the IC of a factor
    over n periods, its weight is

        w = m,  or with `shrink`  w = m · t² / (1 + t²),  t = m √n / s.

    Parameters
    ----------
    shrink : bool
        Whether to shrink the weights of factors whose IC changes much from period to period. With one period
        there is no variance, and nothing is shrunk.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the factors, in units of the target per unit of the factor.
    intercept_ : float
        Forecast for factors that are all 0.
    ic_ : array of shape (n_features,)
        Mean IC of each factor.
    n_features_in_ : int
        Number of factors.
    feature_names_in_ : array of shape (n_features,)
        Names of the factors, if X is a table with column names.

    See Also
    --------
    RegressorForecaster : Forecasts by a regressor such as this one.
    TrendForecaster : Starts from factors that are known to be good.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.funds import FactorICRegressor
    >>> X = np.array([[-1.0, 1.0], [0.0, 0.0], [1.0, -1.0], [-1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    >>> model = FactorICRegressor().fit(X, [-0.3, 0.0, 0.3, -0.3, 0.0, 0.3], periods=[0, 0, 0, 1, 1, 1])
    >>> model.ic_.round(2)
    array([ 1.  , -0.75])
    """

    ic_: Array

    def __init__(self, shrink: bool = False) -> None:
        self.shrink = shrink

    def fit(self, X: Any, y: Any, sample_weight: Any = None, periods: Any = None) -> FactorICRegressor:
        """Learn the weights from periods that are over.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Factors, one row per period and fund.
        y : array of shape (n_samples,)
            Target, usually the rank of the return within its period.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows; all 1 by default.
        periods : array of shape (n_samples,), optional
            Period of each row. By default all rows are of one period.

        Returns
        -------
        self
        """
        moments = self._measure(X, y, sample_weight, periods)
        self.ic_ = np.average(moments.with_target, axis=0, weights=moments.weights)
        b = self.ic_ * _reliability(moments.with_target, moments.weights) if self.shrink else self.ic_
        self.coef_, self.intercept_ = moments.linear_rule(b)
        return self


def _reliability(ic: Array, weights: Array) -> Array:
    """Return t²/(1 + t²) of the mean of each column; 1 if there is one period or no variance."""
    if len(ic) < 2:
        return np.ones(ic.shape[1])
    mean = np.average(ic, axis=0, weights=weights)
    n = weights.sum() ** 2 / np.square(weights).sum()  # the effective number of periods
    variance = np.average(np.square(ic - mean), axis=0, weights=weights) * n / max(n - 1.0, 1e-12)
    squared = n * np.square(mean)
    total = squared + variance
    return np.asarray(np.divide(squared, total, out=np.ones_like(total), where=total > 0.0))
