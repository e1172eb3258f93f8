"""Forecast by nearest neighbors in a metric, as in the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.neighbors import NearestNeighbors

from geodual.arrays import Array
from geodual.errors import DataError

from ..config import CHOICES, check_choice
from .forecast import NO_LABEL, Forecast, Rows, Today, Training
from .learning import (
    age_weights,
    check_lesson,
    digest_of,
    fit_estimator,
    linear_map,
    make_classes,
    make_target,
    safe_target,
    set_parameters,
)

WEIGHTS = ("uniform", "distance")
_KEPT = 50  # neighbors per fund that are kept to give reasons; forecasts use all


@dataclass(frozen=True, eq=False)
class Candidates:
    """The points among which neighbors are searched.

    Attributes
    ----------
    features : array of shape (n, n_factors)
        Their factors.
    values, returns : array of shape (n,)
        What forecasts average, and what the funds earned.
    age : array of shape (n,)
        Number of intervals that ended after the one in which they earned it.
    funds : Index of shape (n,)
        Fund of each.
    """

    features: Array
    values: Array
    returns: Array
    age: Rows
    funds: pd.Index[str]


@dataclass(frozen=True, eq=False)
class NeighborForecaster:
    """Forecast a fund by the funds that were nearest to it in a learned metric.

    With the defaults this is the forecast of the paper: the mean return of the 10 nearest funds of the last
    interval.

    Parameters
    ----------
    metric : transformer
        Any scikit-learn transformer; distances are Euclidean after its transformation. A copy is fitted per
        decision: to classes, or to the target itself if it is a regressor by its tags.
    k : int or "sqrt"
        Number of neighbors; "sqrt" for the square root of the number of candidates.
    weights : str
        "uniform", or by inverse "distance".
    target : str
        What is averaged: the "return", the "excess" over the mean of the interval, or the "rank" within it.
        With more than one interval "return" is the same as "excess".
    window : int or "all"
        Number of past intervals to learn from and to look for neighbors in.
    half_life : float, optional
        Age, in intervals, at which a neighbor counts half; by default all count the same.
    label : str
        Classes that the metric learns: the "sign" of the target, or above and below the "median" of the
        interval.
    neighbors : str
        Where to look for neighbors: among the funds of the training data ("train"), or among the other
        funds of the same day, with what they earned in the last interval ("current").

    See Also
    --------
    geodual.metric.metric_names : Metrics that go by a name.
    RegressorForecaster : Forecast by a regression.

    Examples
    --------
    >>> from geodual.funds import NeighborForecaster, backtest, synthetic_universe
    >>> from geodual.metric import RPDML
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> pooled = NeighborForecaster(RPDML(), k=15, target="rank", window="all", weights="distance")
    >>> backtest(panel, forecasters={"pooled": pooled}).ic.shape
    (2, 1)
    """

    metric: Any
    k: int | str = 10
    weights: str = "uniform"
    target: str = "return"
    window: int | str = 1
    half_life: float | None = None
    label: str = "sign"
    neighbors: str = "train"

    def __post_init__(self) -> None:
        check_lesson(self.target, self.window, self.half_life)
        check_choice("weights", self.weights, WEIGHTS)
        check_choice("label", self.label, CHOICES["label"])
        check_choice("neighbors", self.neighbors, CHOICES["neighbors"])
        is_number = isinstance(self.k, Integral) and not isinstance(self.k, bool) and self.k >= 1
        if not is_number and self.k != "sqrt":
            raise DataError(f"`k` must be a number of neighbors or 'sqrt', got {self.k!r}; 10 is usual.")
        if not (hasattr(self.metric, "fit") and hasattr(self.metric, "transform")):
            raise DataError(
                f"`metric` must be a scikit-learn transformer, got {self.metric!r}; it needs the methods "
                "`fit` and `transform`."
            )

    @property
    def unit(self) -> str:
        """What is averaged: the target, or "excess" in place of "return" with more than one interval."""
        return safe_target(self.target, self.window)

    @property
    def lesson(self) -> tuple[object, ...]:
        """What the metric is learned from: forecasters with equal lessons learn the same metric."""
        return digest_of(self.metric) or id(self.metric), self.unit, self.window, self.half_life, self.label

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Learn the metric, and average the target over the nearest neighbors of each fund of the day."""
        rows = training.last(self.window)
        values = make_target(rows, self.unit)
        label, classes = make_classes(rows, values, self.label)
        by_value = is_regressor(self.metric)
        fitted = fit_estimator(
            self.metric, rows, values if by_value else classes, age_weights(rows, self.half_life)
        )
        candidates = self.find_candidates(rows, today)
        nearest, distances = self._nearest(fitted, candidates, today)
        return Forecast(
            self._average(candidates, nearest, distances),
            self.unit,
            NO_LABEL if by_value else label,
            nearest[:, :_KEPT],
            distances[:, :_KEPT],
            linear_map(fitted.transform, today.features),
        )

    def find_candidates(self, training: Training, today: Today) -> Candidates:
        """Return the training rows, or today's funds that have a return in the interval that ended last."""
        rows = training.last(self.window)
        values = make_target(rows, self.unit)
        if self.neighbors == "train":
            return Candidates(rows.features, values, rows.returns, rows.age, rows.funds)
        latest = rows.latest
        at = rows.funds[latest].get_indexer(today.funds)
        known = at >= 0
        earned, aimed = (np.asarray(each)[latest][at[known]] for each in (rows.returns, values))
        return Candidates(
            today.features[known], aimed, earned, np.zeros(len(earned), dtype=np.int64), today.funds[known]
        )

    def with_settings(self, **changes: Any) -> NeighborForecaster:
        """Return a copy with other settings; `parameters` are those of the metric."""
        parameters = changes.pop("parameters", {})
        return replace(self, metric=set_parameters("the metric", self.metric, parameters), **changes)

    def _nearest(self, fitted: Any, candidates: Candidates, today: Today) -> tuple[Rows, Array]:
        """Return the nearest candidates of each fund of the day, nearest first, and their distances."""
        itself = self.neighbors == "current"  # a fund is then its own nearest candidate: find one more
        points = np.asarray(fitted.transform(candidates.features))
        k = round(math.sqrt(len(points))) if self.k == "sqrt" else int(self.k)
        search = NearestNeighbors(n_neighbors=min(k + itself, len(points)), algorithm="brute").fit(points)
        distances, rows = search.kneighbors(np.asarray(fitted.transform(today.features)))
        if not itself:
            return rows, distances
        others = candidates.funds.to_numpy(str)[rows] != today.funds.to_numpy(str)[:, None]
        others[others.all(axis=1), -1] = False  # not a candidate itself: drop the farthest
        shape = (len(rows), rows.shape[1] - 1)
        return rows[others].reshape(shape), distances[others].reshape(shape)

    def _average(self, candidates: Candidates, nearest: Rows, distances: Array) -> Array:
        """Return the mean of the neighbors' values, weighted by distance and age if asked for."""
        values = candidates.values[nearest]
        if self.weights == "uniform" and self.half_life is None:
            return np.asarray(np.sort(values, axis=1).mean(axis=1))  # equal sets give equal bits
        weights = np.ones(nearest.shape)
        if self.half_life is not None:
            weights = np.exp2(-np.asarray(candidates.age, dtype=float)[nearest] / self.half_life)
        if self.weights == "distance":
            weights = weights * _inverse(distances)
        return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))


def _inverse(distances: Array) -> Array:
    """Return weights in proportion to 1/distance; where a neighbor is at distance 0, only such count."""
    same = distances <= 0.0
    with np.errstate(all="ignore"):
        # Over the smallest distance of the row: tiny distances do not overflow, ratios stay the same.
        ratios = distances.min(axis=1, keepdims=True) / distances
    return np.asarray(np.where(same.any(axis=1, keepdims=True), same, ratios), dtype=float)
