"""Forecast by one factor alone: what an analyst would do without any learning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodual.errors import DataError

from .forecast import Forecast
from .targets import centred_ranks
from .training import Today, Training


@dataclass(frozen=True)
class FactorForecaster:
    """Rank the funds by one factor. Nothing is learnt.

    A fund whose factor is not known gets the middle rank.

    Parameters
    ----------
    factor : str
        Name of the factor with its window, such as "sharpe_90", or "return_12m" for the return over the last
        12 months.
    sign : int
        1 if a high value is good, −1 if a low one is.

    See Also
    --------
    RegressorForecaster : Learn how to combine factors.
    compute_factors : What the factors are.

    Examples
    --------
    >>> from geodual.funds import FactorForecaster, backtest, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> study = backtest(panel, forecasters={"momentum": FactorForecaster("sharpe_90")})
    >>> list(study.ic)
    ['momentum']
    """

    factor: str
    sign: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.factor, str) or not self.factor:
            raise DataError(f"`factor` must be the name of a factor such as sharpe_90, got {self.factor!r}.")
        if self.sign not in (1, -1):
            raise DataError(f"`sign` must be 1 or -1, got {self.sign!r}; -1 means that low values are good.")

    @property
    def window(self) -> int:
        """One interval, the fewest: nothing is learnt from it."""
        return 1

    @property
    def factors(self) -> tuple[str, ...]:
        """The factor that must be known of each fund."""
        return (self.factor,)

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Return the ranks of the funds of the day by the factor, from −½ to ½."""
        ranks = self.sign * centred_ranks(np.asarray(today.factors[self.factor], dtype=float))
        return Forecast(ranks, unit="rank", parts=ranks[:, None], part_names=(self.factor,))
