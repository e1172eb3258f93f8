"""One decision: a forecaster learns from intervals that are over, and forecasts the next."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError
from geodual.threads import one_thread

from ..config import check_choice
from ..forecasters.forecast import NO_LABEL, Forecast, Forecaster, Rows, Today, Training, ask, check_values
from ..forecasters.learning import TARGETS
from ..forecasters.peers import Groups, ranks_within

_PARTS = 5  # parts of a forecast that are kept per fund


@dataclass(frozen=True, eq=False)
class Decision:
    """The forecasts of one forecaster on one day, and what they rest on.

    Attributes
    ----------
    day : Timestamp
        Day of the decision.
    forecaster : str
        Name of the forecaster; in the paper, of the metric whose neighbors it averages.
    funds : Index
        The universe of the day.
    forecast : array of shape (n_funds,)
        Forecasts for the next holding interval.
    nearest : array of shape (n_funds, n_kept)
        The nearest candidates, nearest first: positions in `NeighborForecaster.find_candidates`. Empty for
        forecasters without neighbors, as are the next two.
    distances : array of shape (n_funds, n_kept)
        Their distances.
    linear_map : array of shape (n_factors, n_dimensions)
        A, if the metric is the Euclidean distance after x ↦ Aᵀx + b; empty if it is not linear.
    label : str
        How the classes were made: "sign", "median" or "none".
    seconds : float
        Time the decision took.
    notes : tuple of str
        Warnings that the forecaster gave.
    unit : str
        What the forecasts are: "return", "excess" or "rank".
    parts : array of shape (n_funds, at most 5)
        The parts that add most to each forecast, largest first, as shares: their absolute values, over all
        parts, sum to 1. Empty for forecasters that are not sums.
    part_names : array of str, of the same shape
        What these parts come from.
    groups : array of shape (n_funds,)
        The peer group of each fund; empty if all are compared with each other.
    """

    day: pd.Timestamp
    forecaster: str
    funds: pd.Index[str]
    forecast: Array
    nearest: Rows
    distances: Array
    linear_map: Array
    label: str
    seconds: float
    notes: tuple[str, ...]
    unit: str = "return"
    parts: Array = field(default_factory=lambda: np.empty((0, 0)))
    part_names: NDArray[np.str_] = field(default_factory=lambda: np.empty((0, 0), dtype=str))
    groups: Groups = field(default_factory=lambda: np.empty(0, dtype=str))

    @cached_property
    def ranking(self) -> Rows:
        """Positions of the funds, best forecast first, ties by name.

        With peer groups the rank within the group comes first. So of each group about the same share is
        among the best, and of a group of few funds a smaller one.
        """
        keys = self.funds.to_numpy(str), -self.forecast
        within = (-ranks_within(self.forecast, self.groups),) if len(self.groups) else ()
        return np.lexsort((*keys, *within))

    @property
    def ranks(self) -> pd.Series[int]:
        """The rank of each fund, 1 for the best."""
        return pd.Series(np.arange(1, len(self.funds) + 1), self.funds[self.ranking])


def decide(name: str, forecaster: Forecaster, training: Training, today: Today) -> Decision:
    """Let a forecaster learn from the past and forecast every fund of the day.

    Parameters
    ----------
    name : str
        Name of the forecaster.
    forecaster : Forecaster
        It sees its own window of the training set only.
    training : Training
        Holding intervals that are over, to learn from.
    today : Today
        The universe of the day.
    """
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, one_thread():
        warnings.simplefilter("always")  # one BLAS thread: the same bits whatever the number of workers
        made = _forecast(name, forecaster, training, today)
        check_choice("unit", made.unit, TARGETS)
        values = check_values(name, made, today)
    shares, names = _largest_parts(made)
    return Decision(
        day=today.day,
        forecaster=name,
        funds=today.funds,
        forecast=values,
        nearest=made.nearest,
        distances=made.distances,
        linear_map=made.linear_map,
        label=made.label or NO_LABEL,
        seconds=time.perf_counter() - started,
        notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
        unit=made.unit,
        parts=shares,
        part_names=names,
        groups=today.groups,
    )


def _forecast(name: str, forecaster: Forecaster, training: Training, today: Today) -> Forecast:
    try:
        return ask(forecaster, training, today)
    except ValueError as error:
        reason = str(error).rstrip(". \n")
        raise DataError(
            f"The forecaster {name!r} could not be fitted on {today.day.date()}: {reason}. Leave it out of "
            "`metrics` or `forecasters`, or change its parameters."
        ) from error


def _largest_parts(made: Forecast) -> tuple[Array, NDArray[np.str_]]:
    """Return the parts that add most to each forecast, as shares, and their names."""
    parts = np.asarray(made.parts, dtype=float)
    if not parts.size:
        return np.empty((0, 0)), np.empty((0, 0), dtype=str)
    total = np.abs(parts).sum(axis=1, keepdims=True)
    shares = parts / np.where(total > 0.0, total, np.inf)
    order = np.argsort(-shares, axis=1, kind="stable")[:, :_PARTS]
    return np.take_along_axis(shares, order, axis=1), np.array(made.part_names, dtype=str)[order]
