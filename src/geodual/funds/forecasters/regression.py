"""Forecast by a regression on the factors: any regressor of scikit-learn, or factors weighted by ICs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from geodual.arrays import Array
from geodual.errors import DataError

from .forecast import Forecast, Today, Training
from .learning import (
    age_weights,
    check_lesson,
    fit_estimator,
    linear_map,
    make_target,
    safe_target,
    set_parameters,
)


@dataclass(frozen=True, eq=False)
class RegressorForecaster:
    """Learn a target from the factors with a scikit-learn regressor, and predict it for today's funds.

    Parameters
    ----------
    estimator : regressor
        Any scikit-learn regressor; a copy is fitted per decision. If its `fit` has a parameter
        `sample_weight`, it gets the weights by age; a parameter `groups` or `periods` gets the number of the
        interval of each row.
    target : str
        What to learn: "rank" within the interval, "excess" over its mean, or "return" (the same as "excess"
        if there is more than one interval).
    window : int or "all"
        Number of past intervals to learn from.
    half_life : float, optional
        Age, in intervals, at which a row counts half; by default all count the same.

    See Also
    --------
    NeighborForecaster : Forecast by nearest neighbors in a learned metric.
    register_forecaster : Give a forecaster a name.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from geodual.funds import RegressorForecaster, backtest, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> mine = RegressorForecaster(Ridge(100.0), target="rank", window="all", half_life=8)
    >>> backtest(panel, forecasters={"mine": mine}).ic.shape
    (2, 1)
    """

    estimator: Any
    target: str = "rank"
    window: int | str = "all"
    half_life: float | None = None

    def __post_init__(self) -> None:
        check_lesson(self.target, self.window, self.half_life)
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
            raise DataError(
                f"`estimator` must be a scikit-learn regressor, got {self.estimator!r}; it needs the methods "
                "`fit` and `predict`."
            )

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Fit the regressor to the last intervals, and predict the target of today's funds."""
        rows = training.last(self.window)
        weights = age_weights(rows, self.half_life)
        target = safe_target(self.target, self.window)
        fitted = fit_estimator(self.estimator, rows, make_target(rows, target), weights)
        values = np.ravel(np.asarray(fitted.predict(today.features), dtype=float))
        w = linear_map(fitted.predict, today.features)
        parts = today.features * w[:, 0] if w.size else w
        return Forecast(values, target, parts=parts, part_names=today.columns if w.size else ())

    def with_settings(self, **changes: Any) -> RegressorForecaster:
        """Return a copy with other settings; `parameters` are those of the estimator."""
        parameters = changes.pop("parameters", {})
        return replace(self, estimator=set_parameters("the estimator", self.estimator, parameters), **changes)


class FactorICRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
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
    sklearn.linear_model.Ridge : Corrects factors for each other.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.funds import FactorICRegressor
    >>> X = np.array([[-1.0, 1.0], [0.0, 0.0], [1.0, -1.0], [-1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    >>> model = FactorICRegressor().fit(X, [-0.3, 0.0, 0.3, -0.3, 0.0, 0.3], periods=[0, 0, 0, 1, 1, 1])
    >>> model.ic_.round(2)
    array([ 1.  , -0.75])
    """

    coef_: Array
    intercept_: float
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
        X, y = validate_data(self, X, y, dtype=float, y_numeric=True, ensure_min_samples=2)
        weights = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("`sample_weight` must be positive for at least one row, got zeros only.")
        numbers = _check_periods(periods, len(X))
        found = []
        for period in np.unique(numbers[weights > 0.0]):
            rows = (numbers == period) & (weights > 0.0)
            # A period weighs as much as its average row.
            found.append((weights[rows].mean(), *_correlate(X[rows], y[rows], weights[rows])))
        by_period, ic, spreads, target_spreads = (np.array(part) for part in zip(*found, strict=True))
        relative = by_period / by_period.max()
        self.ic_ = np.average(ic, axis=0, weights=relative)
        b = self.ic_ * _reliability(ic, relative) if self.shrink else self.ic_
        spread = np.average(spreads, axis=0, weights=by_period)
        # From standardized slopes to the units of factors and target; a factor that never varies has b = 0.
        self.coef_ = b * np.average(target_spreads, weights=by_period) / np.where(spread > 0.0, spread, 1.0)
        center = np.average(X, axis=0, weights=weights)
        self.intercept_ = float(np.average(y, weights=weights) - center @ self.coef_)
        return self

    def predict(self, X: Any) -> Array:
        """Return the forecasts wᵀx + b.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float)
        return np.asarray(X @ self.coef_ + self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn; without periods there is little to learn from."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def _check_periods(periods: Any, n_rows: int) -> Any:
    """Return the period of each row, one for all by default."""
    numbers = np.zeros(n_rows) if periods is None else np.asarray(periods)
    if numbers.shape != (n_rows,):
        raise ValueError(
            f"`periods` must have one value per row, shape ({n_rows},), got shape {numbers.shape}."
        )
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ValueError("`periods` must be finite, got NaN or infinity. Number the periods from 0.")
    return numbers


def _correlate(X: Array, y: Array, weights: Array) -> tuple[Array, Array, float]:
    """Return the correlation of each factor with the target, and the standard deviations of all."""
    share = weights / weights.sum()
    Z, spread = _standardized(X, share)
    target, target_spread = _standardized(y[:, None], share)
    return Z.T @ (share * target[:, 0]), spread, float(target_spread[0])


def _standardized(X: Array, share: Array) -> tuple[Array, Array]:
    """Return columns with mean 0 and variance 1, or 0 where constant, and their standard deviations."""
    centered = X - share @ X
    spread = np.sqrt(share @ np.square(centered))
    # A spread that is only rounding error means that the column is constant.
    spread = np.where(spread > 1e-12 * np.abs(X).max(axis=0, initial=0.0), spread, 0.0)
    return centered / np.where(spread > 0.0, spread, np.inf), spread


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
