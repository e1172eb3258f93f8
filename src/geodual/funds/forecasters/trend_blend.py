"""Forecast by three views of the trend of a fund together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .factor_rank import FactorForecaster
from .forecast import Forecast
from .targets import centred_ranks
from .training import Today, Training
from .trend import TrendForecaster

_WEIGHTS = {"trend": 0.5, "momentum": 0.25, "return_12m": 0.25}


@dataclass(frozen=True)
class TrendBlendForecaster:
    """Average the ranks of funds by their trend, by momentum and by the return over 12 months.

    The three are measurements of the same thing, each with noise of its own, so their mean has less. The
    trend counts half, as it is an average itself; the other two count a quarter each.

    Parameters
    ----------
    evidence : float
        See `TrendForecaster`.

    See Also
    --------
    TrendForecaster : The trend alone.
    EnsembleForecaster : Average the ranks of any forecasters.

    Examples
    --------
    >>> from geodual.funds import TrendBlendForecaster, backtest, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> backtest(panel, forecasters={"blend": TrendBlendForecaster()}).ic.shape
    (2, 1)
    """

    evidence: float = 2.0

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors whose values it wants to see: those of momentum and of the return over 12 months."""
        return ("sharpe_90", "return_12m")

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Return the weighted mean rank of each fund of the day, from −½ to ½."""
        made = (
            TrendForecaster(evidence=self.evidence).forecast(training, today),
            *(FactorForecaster(name).forecast(training, today) for name in self.factors),
        )
        ranks = np.column_stack([centred_ranks(np.asarray(each.values, dtype=float)) for each in made])
        parts = ranks * np.array(list(_WEIGHTS.values()))
        return Forecast(parts.sum(axis=1), unit="rank", parts=parts, part_names=tuple(_WEIGHTS))
