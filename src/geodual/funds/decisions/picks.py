"""The funds picked on a day, and the reasons: their neighbours, and the factors that made these near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ..config import StudyConfig
from .cross_section import CrossSection
from .decision import Decision, Rows, find_candidates
from .observations import Training


@dataclass(frozen=True, eq=False)
class Picks:
    """The funds picked by one decision, best forecast first, and the reasons.

    Attributes
    ----------
    day, metric : Timestamp and str
        Day of the decision, and name of the metric.
    funds : Index of shape (n_picks,)
        The funds picked.
    forecast, known : array of shape (n_picks,)
        Their forecasts, and the share of their factors that are known.
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
    """

    day: pd.Timestamp
    metric: str
    funds: pd.Index[str]
    forecast: Array
    known: Array
    neighbours: NDArray[np.str_]
    distances: Array
    returns: Array
    near: Array
    apart: Array


def explain(
    decision: Decision, rows: Rows, training: Training, today: CrossSection, config: StudyConfig
) -> Picks:
    """Return the picks of a decision with the reasons.

    Parameters
    ----------
    decision : Decision
        The forecasts.
    rows : array of shape (n_picks,)
        Positions of the funds picked.
    training, today : Training and CrossSection
        What the decision was made from.
    config : StudyConfig
        Where neighbours were looked for.
    """
    candidates = find_candidates(training, today, config.neighbours)
    nearest = decision.nearest[rows]
    near, apart = _shares(decision.linear_map, candidates.features, nearest, today.features[rows])
    return Picks(
        day=decision.day,
        metric=decision.metric,
        funds=decision.funds[rows],
        forecast=decision.forecast[rows],
        known=today.known[rows],
        neighbours=candidates.funds.to_numpy(str)[nearest],
        distances=decision.distances[rows],
        returns=candidates.returns[nearest],
        near=near,
        apart=apart,
    )


def _shares(A: Array, candidates: Array, neighbours: Rows, picks: Array) -> tuple[Array, Array]:
    """Return `near` and `apart`: what makes neighbours near, and what sets picks apart."""
    if not A.size:
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


def _normalised(parts: Array, whole: Array) -> Array:
    """Return parts over the sum of their absolute values; 0 where they are only rounding errors."""
    total, size = (np.abs(terms).sum(axis=1, keepdims=True) for terms in (parts, whole))
    return np.asarray(parts / np.where(total > 1e-12 * size, total, np.inf))
