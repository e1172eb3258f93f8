"""What the linear regressors that learn period by period share: checks, and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from geodual.arrays import Array

from .period_moments import PeriodMoments, measure_periods


class PeriodRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A linear regressor that learns from correlations within periods.

    A subclass defines `fit`, which sets `coef_` and `intercept_`.
    """

    coef_: Array
    intercept_: float

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

    def _measure(self, X: Any, y: Any, sample_weight: Any, periods: Any) -> PeriodMoments:
        """Check what `fit` got, and return the correlations within each period."""
        X, y = validate_data(self, X, y, dtype=float, y_numeric=True, ensure_min_samples=2)
        weights = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("`sample_weight` must be positive for at least one row, got zeros only.")
        numbers = np.zeros(len(X)) if periods is None else np.asarray(periods)
        if numbers.shape != (len(X),):
            raise ValueError(
                f"`periods` must have one value per row, shape ({len(X)},), got shape {numbers.shape}."
            )
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            raise ValueError("`periods` must be finite, got NaN or infinity. Number the periods from 0.")
        return measure_periods(X, y, weights, numbers)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn; without periods there is little to learn from."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
