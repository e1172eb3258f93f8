"""Fit scikit-learn estimators to training rows, with what each of them can use, and change their settings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from geodual.arrays import Array
from geodual.errors import DataError

from .training import Rows, Training

_PERIODS = ("groups", "periods")  # parameters of `fit` that take the interval of each row


def fit_estimator(estimator: Any, training: Training, y: Array | Rows, weights: Array | None) -> Any:
    """Return a fitted copy of an estimator; weights and intervals are passed if its `fit` takes them."""
    takes = _parameters(estimator)
    more: dict[str, Any] = {}
    if weights is not None and "sample_weight" in takes:
        more["sample_weight"] = weights
    # Intervals are numbered in order of time, 0 for the oldest.
    number = int(np.max(training.age, initial=0)) - np.asarray(training.age)
    more |= {name: number for name in _PERIODS if name in takes}
    return clone(estimator).fit(training.features, y, **more)


def learns_values(estimator: Any) -> bool:
    """Tell whether an estimator learns from the target itself, as regressors do, and not from classes."""
    return bool(is_regressor(estimator))


def _parameters(estimator: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(estimator.fit).parameters)
    except (TypeError, ValueError):  # some built-in callables have no signature
        return ()


def set_parameters(what: str, estimator: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a copy of an estimator with other parameters; `what` names it in errors."""
    try:
        return clone(estimator).set_params(**parameters)
    except (ValueError, TypeError, AttributeError) as error:
        reason = str(error).rstrip(". \n")
        raise DataError(f"`parameters` of {what} {estimator!r}: {reason}. Check their names.") from error


def linear_weights(fitted: Any, points: Array) -> Array:
    """Return w if predictions are wᵀx + b; an empty array otherwise."""
    # Predictions for 0 and the unit vectors give b and w; the points test whether predictions are linear.
    d = points.shape[1]
    base = float(np.ravel(fitted.predict(np.zeros((1, d))))[0])
    w = np.ravel(np.asarray(fitted.predict(np.eye(d)), dtype=float)) - base
    found, expected = np.ravel(fitted.predict(points)) - base, points @ w
    linear = np.allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(initial=0.0))
    return w if linear else np.empty(0)
