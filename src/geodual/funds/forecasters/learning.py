"""What is learned of each training row: its target, its class and its weight.

The level of the market differs from interval to interval. So a target that pools intervals is measured
within each: as the excess over the mean of the interval, or as a rank.
"""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from geodual.arrays import Array
from geodual.errors import DataError

from ..config import check_choice
from .forecast import Rows, Training, check_window
from .peers import average_ranks

TARGETS = ("return", "excess", "rank")
_SMALLEST_CLASS = 0.05  # share of the rows below which a class is too small to learn from
_PERIODS = ("groups", "periods")  # parameters of `fit` that take the interval of each row
# What was learned while learning is shared, with the warnings of its fit, by all that it was learned from.
_learned: ContextVar[dict[str, tuple[Any, tuple[Warning, ...]]] | None] = ContextVar("learned", default=None)


def make_target(training: Training, target: str) -> Array:
    """Return the value to learn of each training row.

    Parameters
    ----------
    training : Training
        Holding intervals that are over.
    target : str
        "return": the return. "excess": the return minus the mean of the interval. "rank": the rank within the
        interval (and group), (rank − (n + 1)/2) / n, which lies between −½ and ½.

    Returns
    -------
    array of shape (n,)
    """
    returns = np.asarray(training.returns, dtype=float)
    if target == "return":
        return returns
    values = np.zeros(len(returns))
    for rows in _parts(training, by_group=target == "rank"):
        own = returns[rows]
        values[rows] = centered_ranks(own) if target == "rank" else own - own.mean()
    return values


def safe_target(target: str, window: int | str) -> str:
    """Return the target to learn: "excess" in place of "return" if the window has several intervals.

    Otherwise the level of the market in an interval would count as a merit of the funds that were near in it.
    """
    return "excess" if target == "return" and window != 1 else target


def centered_ranks(values: Array) -> Array:
    """Return the ranks of some values, from −½ (lowest) to ½; ties get their mean, missing values 0."""
    known = np.isfinite(values)
    ranks, n = np.zeros(len(values)), int(known.sum())
    if n:
        ranks[known] = (average_ranks(values[known]) - (n + 1) / 2) / n
    return ranks


def _parts(training: Training, by_group: bool) -> list[NDArray[np.int64]]:
    """Return the rows of each interval, or of each interval and group."""
    keys = pd.DataFrame({"age": training.age})
    if by_group and len(training.groups):
        keys["group"] = training.groups
    return [np.asarray(rows) for rows in keys.groupby(list(keys), sort=False).indices.values()]


def make_classes(training: Training, values: Array, label: str) -> tuple[str, NDArray[np.int64]]:
    """Return the label used and the classes: 1 for the better rows, 0 for the others.

    Parameters
    ----------
    training : Training
        Holding intervals that are over.
    values : array of shape (n,)
        Their targets.
    label : str
        "sign" of the target, or above and below the "median" of the interval (and group). If a class would
        hold fewer than 5 % of the rows, the median is used.
    """
    rises = values > 0.0
    smaller = min(rises.mean(), 1.0 - rises.mean()) if rises.size else 0.0
    if label == "sign" and smaller >= _SMALLEST_CLASS:
        return "sign", rises.astype(np.int64)
    # The median of each interval and group: otherwise a good one would be one class, a bad one the other.
    above = np.zeros(len(values), dtype=np.int64)
    for rows in _parts(training, by_group=True):
        above[rows] = values[rows] > np.median(values[rows])
    return "median", above


def age_weights(training: Training, half_life: float | None) -> Array | None:
    """Return the weight of each row, 2^(−age/half_life); None if all count the same."""
    if half_life is None:
        return None
    return np.asarray(np.exp2(-np.asarray(training.age, dtype=float) / half_life))


def check_lesson(target: Any, window: Any, half_life: Any) -> None:
    """Raise if what a forecaster is to learn, or from which intervals, makes no sense."""
    check_choice("target", target, TARGETS)
    check_window(window)
    is_number = isinstance(half_life, Real) and not isinstance(half_life, bool)
    is_positive = is_number and 0.0 < float(half_life) < np.inf
    if half_life is not None and not is_positive:
        raise DataError(
            f"`half_life` must be a positive number of intervals, got {half_life!r}; leave it out for equal "
            "weights."
        )


def fit_estimator(estimator: Any, training: Training, y: Array | Rows, weights: Array | None) -> Any:
    """Return a fitted copy of an estimator; weights and intervals are passed if its `fit` takes them."""
    takes = _parameters(estimator)
    more: dict[str, Any] = {}
    if weights is not None and "sample_weight" in takes:
        more["sample_weight"] = weights
    # Intervals are numbered in order of time, 0 for the oldest.
    number = int(np.max(training.age, initial=0)) - np.asarray(training.age)
    more |= {name: number for name in _PERIODS if name in takes}
    return _fit_once(estimator, training.features, y, more)


@contextmanager
def share_learning() -> Iterator[None]:
    """Fit equal estimators to equal rows only once; forecasters that differ in `k` share their metric."""
    before = _learned.set({})
    try:
        yield
    finally:
        _learned.reset(before)


def digest_of(thing: object) -> str | None:
    """Return a text that is equal for equal things; None for one that cannot be pickled."""
    try:
        return str(joblib.hash(thing))
    except (TypeError, AttributeError, pickle.PicklingError):
        return None


def _fit_once(estimator: Any, X: Array, y: Array | Rows, more: dict[str, Any]) -> Any:
    """Return a fitted copy of an estimator: the previous one if learning is shared and all is equal."""
    known = _learned.get()
    key = None if known is None else digest_of((estimator, X, y, more))
    if known is None or key is None:
        return clone(estimator).fit(X, y, **more)
    if key not in known:
        with warnings.catch_warnings(record=True) as caught:
            fitted = clone(estimator).fit(X, y, **more)
        known[key] = fitted, tuple(each.message for each in caught if isinstance(each.message, Warning))
    fitted, told = known[key]
    for warning in told:
        warnings.warn(warning, stacklevel=2)
    return fitted


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


def linear_map(function: Callable[[Array], Any], points: Array) -> Array:
    """Return A, of shape (n_factors, n_outputs), if a function is x ↦ Aᵀx + b; otherwise an empty array."""

    def values(x: Array) -> Array:
        return np.asarray(function(x), dtype=float).reshape(len(x), -1)

    # The values at 0 and at the unit vectors give b and A; the points test whether the function is linear.
    d = points.shape[1]
    origin = values(np.zeros((1, d)))
    A = values(np.eye(d)) - origin
    found, expected = values(points) - origin, points @ A
    linear = np.allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(initial=0.0))
    return A if linear else np.empty((0, 0))
