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

from geodual.arrays import Array
from geodual.errors import DataError
from geodual.threads import one_thread

from ..config import StudyConfig
from .cross_section import CrossSection
from .observations import Training

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decision:
    """The forecasts of one metric on one day, and what they rest on.

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
    nearest : array of shape (n_funds, k)
        The candidates whose returns a forecast averages, nearest first: positions in `find_candidates`.
    distances : array of shape (n_funds, k)
        Their distances.
    linear_map : array of shape (n_factors, n_dimensions)
        A, if the metric is the Euclidean distance after x ↦ Aᵀx + b; empty if it is not linear.
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
    nearest: Rows
    distances: Array
    linear_map: Array
    label: str
    seconds: float
    notes: tuple[str, ...]

    @property
    def ranking(self) -> Rows:
        """Positions of the funds, best forecast first, ties by name."""
        return np.lexsort((self.funds.to_numpy(str), -self.forecast))


@dataclass(frozen=True, eq=False)
class Candidates:
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
        Number of neighbours, and where to look for them.
    """
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, one_thread():
        warnings.simplefilter("always")  # one BLAS thread: the same bits whatever the number of workers
        fitted = _fit(name, estimator, training, today.day)
        candidates = find_candidates(training, today, config.neighbours)
        nearest, distances = _nearest(fitted, candidates, today, config)
        forecast = np.sort(candidates.returns[nearest], axis=1).mean(axis=1)  # equal sets give equal bits
        linear_map = _linear_map(fitted, today.features)
    return Decision(
        day=today.day,
        metric=name,
        funds=today.funds,
        forecast=forecast,
        nearest=nearest,
        distances=distances,
        linear_map=linear_map,
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


def find_candidates(training: Training, today: CrossSection, neighbours: str) -> Candidates:
    """Return the training set, or today's funds that have a return in the interval that is over."""
    if neighbours == "train":
        return Candidates(training.features, training.returns, training.funds)
    latest = pd.Series(training.returns, index=training.funds)[training.latest]
    returns = np.asarray(latest.reindex(today.funds), dtype=float)
    known = np.isfinite(returns)
    return Candidates(today.features[known], returns[known], today.funds[known])


def _nearest(
    fitted: Any, candidates: Candidates, today: CrossSection, config: StudyConfig
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


def _linear_map(fitted: Any, points: Array) -> Array:
    """Return A if a transformation is x ↦ Aᵀx + b, as for all metrics here; an empty array otherwise."""
    # The images of 0 and of the unit vectors give b and A; the points test whether the map is linear.
    origin = np.asarray(fitted.transform(np.zeros((1, points.shape[1]))))
    A = np.asarray(fitted.transform(np.eye(points.shape[1])), dtype=float) - origin
    found, expected = np.asarray(fitted.transform(points)) - origin, points @ A
    linear = np.allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(initial=0.0))
    return A if linear else np.empty((0, 0))
