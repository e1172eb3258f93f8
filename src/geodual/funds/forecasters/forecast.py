"""What a forecaster is, and what it returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from geodual.arrays import Array
from geodual.errors import DataError

from .training import Rows, Today, Training, check_window

NO_LABEL = "none"  # of forecasters that learn no classes


def _nothing() -> Array:
    return np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Forecast:
    """The forecasts of one day, and what they rest on.

    Only `values` is needed.

    Attributes
    ----------
    values : array of shape (n_funds,)
        Forecasts, higher is better.
    unit : str
        What they are: a "return", an "excess" return, or a "rank" between −½ and ½.
    label : str
        How classes were made: "sign", "median", or "none".
    nearest, distances : array of shape (n_funds, n_kept)
        The nearest candidates of each fund and their distances; empty without neighbours.
    linear_map : array of shape (n_factors, n_dimensions)
        A, if the distance is the Euclidean one after x ↦ Aᵀx + b; empty otherwise.
    parts : array of shape (n_funds, n_parts)
        Parts that add up to the forecast, up to a constant; empty if there are none.
    part_names : tuple of str
        What the parts come from: factors, or members of an ensemble.

    See Also
    --------
    register_forecaster : Use a forecaster of your own by name.

    Examples
    --------
    >>> from geodual.funds import Forecast
    >>> Forecast([0.1, -0.1]).unit
    'return'
    """

    values: Array
    unit: str = "return"
    label: str = NO_LABEL
    nearest: Rows = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    distances: Array = field(default_factory=_nothing)
    linear_map: Array = field(default_factory=_nothing)
    parts: Array = field(default_factory=_nothing)
    part_names: tuple[str, ...] = ()


@runtime_checkable
class Forecaster(Protocol):
    """What turns what is known on a day into one forecast per fund.

    An object of your own needs only this method. It may have two attributes besides: `window`, the number of
    past intervals that it wants to see (all by default), and `factors`, the names of factors whose raw
    values it wants to see today (none by default).
    """

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Learn from intervals that are over, and forecast all funds of the day."""


def ask(forecaster: Forecaster, training: Training, today: Today) -> Forecast:
    """Return the forecasts of a forecaster, which sees its own window of the training set only."""
    made = forecaster.forecast(training.last(window_of(forecaster)), today)
    # Plain numbers will do for a forecaster of one's own.
    return made if isinstance(made, Forecast) else Forecast(np.asarray(made, dtype=float))


def check_values(name: str, made: Forecast, today: Today) -> Array:
    """Return forecasts as an array; raise unless there is one finite number per fund."""
    values = np.asarray(made.values, dtype=float)
    if values.shape == (len(today.funds),) and np.isfinite(values).all():
        return values
    right = values.shape == (len(today.funds),)
    wrong = "a value that is not finite" if right else f"{np.size(values)} values"
    raise DataError(
        f"The forecaster {name!r} must return one finite number per fund, {len(today.funds)} on "
        f"{today.day.date()}, got {wrong}; change it, or leave it out."
    )


def window_of(forecaster: Forecaster) -> int | str:
    """Return how many past intervals a forecaster wants to see: a number, or "all"."""
    window: int | str = getattr(forecaster, "window", "all")
    check_window(window)
    return window


def factors_asked(forecasters: Iterable[Forecaster]) -> tuple[str, ...]:
    """Return the names of the factors whose raw values forecasters want to see, each once."""
    asked = (name for forecaster in forecasters for name in getattr(forecaster, "factors", ()))
    return tuple(dict.fromkeys(asked))
