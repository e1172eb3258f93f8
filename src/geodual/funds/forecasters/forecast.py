"""What a forecaster sees, and what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError

Rows = NDArray[np.int64]
NO_LABEL = "none"  # of forecasters that learn no classes


def check_window(window: Any) -> None:
    """Raise unless a window is a number of past intervals, or "all"."""
    is_number = isinstance(window, Integral) and not isinstance(window, bool) and int(window) >= 1
    if not is_number and window != "all":
        raise DataError(
            f"`window` must be a number of past intervals or 'all', got {window!r}; write 1 for the last one."
        )


@dataclass(frozen=True, eq=False)
class Training:
    """What a forecaster learns from: the factors of funds, and the returns that followed.

    There is one row per holding interval and fund, oldest intervals first. All intervals are over on the day
    of the decision.

    Attributes
    ----------
    features : array of shape (n, n_factors)
        Standardized factors at the start of the interval.
    returns : array of shape (n,)
        Returns over the interval; less the mean of the fund's peer group if the study has groups.
    age : array of shape (n,)
        Number of intervals that ended after this one: 0 for the interval that ended last.
    funds : Index of shape (n,)
        Fund of each row.
    groups : array of shape (n,)
        Peer group of each fund in the interval, such as its type; empty if all funds are compared with each
        other.

    See Also
    --------
    Today : The funds of the day.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from geodual.funds import Training
    >>> funds, age = pd.Index(["A", "B"]), np.array([0, 0])
    >>> Training(np.array([[0.5], [-0.5]]), np.array([0.1, -0.1]), age, funds).n_intervals
    1
    """

    features: Array
    returns: Array
    age: Rows
    funds: pd.Index[str]
    groups: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=str))

    @property
    def n_intervals(self) -> int:
        """Number of different holding intervals."""
        return len(np.unique(self.age))

    @property
    def latest(self) -> NDArray[np.bool_]:
        """Whether a row belongs to the interval that ended last, shape (n,)."""
        return np.asarray(self.age == 0)

    def last(self, window: int | str) -> Training:
        """Return the rows of the last `window` intervals; all rows for "all"."""
        if window == "all":
            return self
        kept = self.age < int(window)
        groups = self.groups[kept] if len(self.groups) else self.groups
        return Training(self.features[kept], self.returns[kept], self.age[kept], self.funds[kept], groups)


@dataclass(frozen=True, eq=False)
class Today:
    """The funds of a day, for which forecasts are made.

    Attributes
    ----------
    day : Timestamp
        The day.
    funds : Index of shape (n_funds,)
        The funds.
    features : array of shape (n_funds, n_factors)
        Their standardized factors, in the same order as in `Training`.
    known : array of shape (n_funds,)
        Share of the factors of each fund that are known.
    columns : tuple of str
        Names of these factors.
    factors : mapping of str to array of shape (n_funds,)
        Raw values of the factors that a forecaster asked for by its attribute `factors`; NaN if unknown.
    groups : array of shape (n_funds,)
        Peer group of each fund, such as its type; empty if all funds are compared with each other.

    See Also
    --------
    Training : What a forecaster learns from.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from geodual.funds import Today
    >>> features = np.array([[0.5], [-0.5]])
    >>> today = Today(pd.Timestamp("2016-12-30"), pd.Index(["A", "B"]), features, np.ones(2), ("roc_10",))
    >>> len(today.funds)
    2
    """

    day: pd.Timestamp
    funds: pd.Index[str]
    features: Array
    known: Array
    columns: tuple[str, ...] = ()
    factors: Mapping[str, Array] = field(default_factory=dict)
    groups: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=str))

    def __sizeof__(self) -> int:
        """Return the size with the features, so that Dask knows how much memory its workers use."""
        return object.__sizeof__(self) + self.features.nbytes


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
        The nearest candidates of each fund and their distances; empty without neighbors.
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
    """An object that turns what is known on a day into one forecast per fund.

    An object of your own needs only this method. It may also have two attributes: `window`, the number of
    past intervals that it wants to see (all by default), and `factors`, the names of factors whose raw values
    it wants to see today (none by default).
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
