"""What a forecaster may know: holding intervals that are over, and the funds of the day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError

Rows = NDArray[np.int64]


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
        Standardised factors at the start of the interval.
    returns : array of shape (n,)
        Returns over the interval; less the mean of the fund's type if the study asks for it.
    age : array of shape (n,)
        Number of intervals that ended after this one: 0 for the interval that ended last.
    funds : Index of shape (n,)
        Fund of each row.
    groups : array of shape (n,)
        Group within which a fund is ranked: its type if the study asks for it; empty without groups.

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
        Their standardised factors, in the same order as in `Training`.
    known : array of shape (n_funds,)
        Share of the factors of each fund that are known.
    columns : tuple of str
        Names of these factors.
    factors : mapping of str to array of shape (n_funds,)
        Raw values of the factors that a forecaster asked for by its attribute `factors`; NaN if unknown.

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

    def __sizeof__(self) -> int:
        """Return the size with the features, so that Dask knows how much memory its workers use."""
        return object.__sizeof__(self) + self.features.nbytes
