"""One decision: learn a metric from intervals that are over, and forecast the next by nearest neighbours."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from geodual.arrays import Array
from geodual.errors import DataError

from ..config import StudyConfig
from .cross_section import CrossSection
from .observations import Training

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decision:
    """The forecasts of one metric on one day, the funds picked, and the reasons.

    Attributes
    ----------
    day : Timestamp
        Day of the decision.
    metric : str
        Name of the metric.
    funds : Index
        The universe of the day.
    forecast : array of shape (n_funds,)
        Forecast returns of the next holding interval.
    picks : array of shape (n_picks,)
        Rows of `funds` with the best forecasts, best first, ties by name.
    neighbours : array of shape (n_picks, k)
        The funds whose returns the forecast of a pick averages, nearest first.
    distances, returns : array of shape (n_picks, k)
        Distances of these neighbours, and their returns in the interval that is over.
    near : array of shape (n_picks, n_factors)
        Share of each factor in what makes a pick's neighbours near: the mean squared distance to all
        candidates minus that to the neighbours. Negative where neighbours differ more than candidates do;
        NaN if the metric is not linear.
    apart : array of shape (n_picks, n_factors)
        Share of each factor in the squared distance of a pick from the centre of the universe. Negative where
        correlated factors reduce it; NaN if the metric is not linear. The absolute values of the shares of a
        pick sum to 1.
    label : str
        How the classes were made: "sign" or "median".
    seconds : float
        Time the decision took.
    notes : tuple of str
        Warnings that the metric gave.
    """

    day: pd.Timestamp
    metric: str
    funds: pd.Index[str]
    forecast: Array
    picks: Rows
    neighbours: NDArray[np.str_]
    distances: Array
    returns: Array
    near: Array
    apart: Array
    label: str
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The points among which neighbours are searched, with the return and the fund of each."""

    features: Array
    returns: Array
    funds: pd.Index[str]


def decide(
    name: str, estimator: Any, training: Training, today: CrossSection, config: StudyConfig
) -> Decision:
    """Learn a metric and forecast the return of every fund as the mean of its neighbours' returns.

    Parameters
    ----------
    name : str
        Name of the metric.
    estimator : transformer
        Any scikit-learn transformer; a copy is fitted to the training set and its classes.
    training : Training
        Holding intervals that are over, to learn from.
    today : CrossSection
        The universe of the day.
    config : StudyConfig
        Number of neighbours and of picks, and where to look for neighbours.
    """
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")  # one BLAS thread: the same bits whatever the number of workers
        fitted = _fit(name, estimator, training, today.day)
        candidates = _candidates(training, today, config.neighbours)
        rows, distances = _nearest(fitted, candidates, today, config)
        forecast = np.sort(candidates.returns[rows], axis=1).mean(axis=1)  # equal sets give equal bits
        picks = np.lexsort((today.funds.to_numpy(str), -forecast))[: config.top]
        near, apart = _shares(fitted, candidates.features, rows[picks], today.features[picks])
    return Decision(
        day=today.day,
        metric=name,
        funds=today.funds,
        forecast=forecast,
        picks=picks,
        neighbours=candidates.funds.to_numpy(str)[rows[picks]],
        distances=distances[picks],
        returns=candidates.returns[rows[picks]],
        near=near,
        apart=apart,
        label=training.label,
        seconds=time.perf_counter() - started,
        notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )


def _fit(name: str, estimator: Any, training: Training, day: pd.Timestamp) -> Any:
    try:
        return clone(estimator).fit(training.features, training.classes)
    except ValueError as error:
        reason = str(error).rstrip(". \n")
        raise DataError(
            f"The metric {name!r} could not be fitted on {day.date()}: {reason}. Leave it out of `metrics`, "
            "or change its parameters."
        ) from error


def _candidates(training: Training, today: CrossSection, neighbours: str) -> _Candidates:
    """Return the training set, or today's funds that have a return in the interval that is over."""
    if neighbours == "train":
        return _Candidates(training.features, training.returns, training.funds)
    latest = pd.Series(training.returns, index=training.funds)[training.latest]
    returns = np.asarray(latest.reindex(today.funds), dtype=float)
    known = np.isfinite(returns)
    return _Candidates(today.features[known], returns[known], today.funds[known])


def _nearest(
    fitted: Any, candidates: _Candidates, today: CrossSection, config: StudyConfig
) -> tuple[Rows, Array]:
    """Return the nearest candidates of each fund of the day, nearest first, and their distances."""
    itself = config.neighbours == "current"  # a fund is then its own nearest candidate: find one more
    points = np.asarray(fitted.transform(candidates.features))
    search = NearestNeighbors(n_neighbors=min(config.k + itself, len(points)), algorithm="brute").fit(points)
    distances, rows = search.kneighbors(np.asarray(fitted.transform(today.features)))
    if not itself:
        return rows, distances
    others = candidates.funds.to_numpy(str)[rows] != today.funds.to_numpy(str)[:, None]
    others[others.all(axis=1), -1] = False  # not a candidate itself: drop the farthest
    shape = (len(rows), rows.shape[1] - 1)
    return rows[others].reshape(shape), distances[others].reshape(shape)


def _shares(fitted: Any, candidates: Array, neighbours: Rows, picks: Array) -> tuple[Array, Array]:
    """Return `near` and `apart` of a `Decision`: what makes neighbours near, and what sets picks apart."""
    A = _linear_map(fitted, picks)
    if A is None:
        unknown = np.full(picks.shape, np.nan)
        return unknown, unknown
    W = A @ A.T
    # For a pick x and candidates c with mean m, the mean split of c − x is the mean split of c − m plus the
    # split of m − x: the cross terms average out. So no array of picks × candidates × factors is needed.
    middle = candidates.mean(axis=0)
    to_all = _split(candidates - middle, W).mean(axis=0) + _split(middle - picks, W)
    to_neighbours = _split(candidates[neighbours] - picks[:, None, :], W).mean(axis=1)
    apart = _split(picks, W)
    return _normalised(to_all - to_neighbours, to_all), _normalised(apart, apart)


def _split(v: Array, W: Array) -> Array:
    """Split squared distances v′Wv among the factors, as vⱼ(Wv)ⱼ."""
    return np.asarray(v * (v @ W))


def _linear_map(fitted: Any, points: Array) -> Array | None:
    """Return A if a transformation is x ↦ Aᵀx + b, as for all metrics here; None if it is not linear."""
    # The images of 0 and of the unit vectors give b and A; the picks test whether the map is linear.
    origin = np.asarray(fitted.transform(np.zeros((1, points.shape[1]))))
    A = np.asarray(fitted.transform(np.eye(points.shape[1]))) - origin
    found, expected = np.asarray(fitted.transform(points)) - origin, points @ A
    return A if np.allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max()) else None


def _normalised(parts: Array, whole: Array) -> Array:
    """Return parts over the sum of their absolute values; 0 where they are only rounding errors."""
    total, size = (np.abs(terms).sum(axis=1, keepdims=True) for terms in (parts, whole))
    return np.asarray(parts / np.where(total > 1e-12 * size, total, np.inf))
