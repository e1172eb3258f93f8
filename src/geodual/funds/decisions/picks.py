"""The funds picked on a day, and the reasons: neighbours and what made them near, or what adds most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ..forecasters.forecast import Forecaster, Rows, Today, Training
from ..forecasters.neighbours import NeighbourForecaster
from .decision import Decision


@dataclass(frozen=True, eq=False)
class Picks:
    """The funds picked by one decision, best forecast first, and the reasons.

    Attributes
    ----------
    day, forecaster : Timestamp and str
        Day of the decision, and name of the forecaster.
    funds : Index of shape (n_picks,)
        The funds picked.
    forecast, known : array of shape (n_picks,)
        Their forecasts, and the share of their factors that are known.
    neighbours : array of shape (n_picks, k)
        The funds whose returns the forecast of a pick averages, nearest first: at most 50. Empty for
        forecasters without neighbours.
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
    parts : array of shape (n_picks, at most 5)
        The parts that add most to the forecast of a pick, as shares; empty for forecasters that are not sums.
    part_names : array of str, of the same shape
        What these parts come from: factors, or members of an ensemble.
    """

    day: pd.Timestamp
    forecaster: str
    funds: pd.Index[str]
    forecast: Array
    known: Array
    neighbours: NDArray[np.str_]
    distances: Array
    returns: Array
    near: Array
    apart: Array
    parts: Array
    part_names: NDArray[np.str_]


def explain(
    decision: Decision, rows: Rows, forecaster: Forecaster, training: Training, today: Today
) -> Picks:
    """Return the picks of a decision with the reasons.

    Parameters
    ----------
    decision : Decision
        The forecasts.
    rows : array of shape (n_picks,)
        Positions of the funds picked.
    forecaster : Forecaster
        What made the forecasts.
    training, today : Training and Today
        What the decision was made from; for forecasters without neighbours, any training set will do.
    """
    reasons: dict[str, Any] = _no_neighbours(len(rows), today.features.shape[1])
    if isinstance(forecaster, NeighbourForecaster):
        candidates, nearest = forecaster.find_candidates(training, today), decision.nearest[rows]
        near, apart = _shares(decision.linear_map, candidates.features, nearest, today.features[rows])
        reasons = {
            "neighbours": candidates.funds.to_numpy(str)[nearest],
            "distances": decision.distances[rows],
            "returns": candidates.returns[nearest],
            "near": near,
            "apart": apart,
        }
    return Picks(
        day=decision.day,
        forecaster=decision.forecaster,
        funds=decision.funds[rows],
        forecast=decision.forecast[rows],
        known=today.known[rows],
        **reasons,
        parts=decision.parts[rows] if decision.parts.size else decision.parts,
        part_names=decision.part_names[rows] if decision.parts.size else decision.part_names,
    )


def _no_neighbours(n_picks: int, n_factors: int) -> dict[str, Any]:
    nothing, unknown = np.empty((n_picks, 0)), np.full((n_picks, n_factors), np.nan)
    empty = {"neighbours": nothing.astype(str), "distances": nothing, "returns": nothing}
    return {**empty, "near": unknown, "apart": unknown}


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
