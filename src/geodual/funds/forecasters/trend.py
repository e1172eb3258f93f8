"""Forecast by the trend of funds, measured by all factors together."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from geodual.errors import DataError

from .anchored_ridge import AnchoredRidge
from .forecast import Forecast
from .regression import RegressorForecaster
from .training import Today, Training


@dataclass(frozen=True)
class TrendForecaster:
    """Rank the funds by a regression that starts from some factors, and leaves them only for evidence.

    By default it starts from the Sharpe ratios over all windows and what goes together with them. This is
    momentum with less noise: no window is chosen, and related factors are averaged. See `AnchoredRidge`.

    Parameters
    ----------
    anchor : tuple of str
        Names of the factors to start from, with * for any text. High values must be good.
    evidence : float
        Standard errors by which the past forecasts of a regression must be better than those of the anchor
        before it is used.

    See Also
    --------
    FactorForecaster : Rank by one factor.
    RegressorForecaster : Use a regressor of your own.

    Examples
    --------
    >>> from geodual.funds import TrendForecaster, backtest, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> backtest(panel, forecasters={"trend": TrendForecaster()}).ic.shape
    (2, 1)
    """

    anchor: tuple[str, ...] = ("sharpe_*",)
    evidence: float = 2.0

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Learn from all past intervals, and forecast the ranks of today's funds."""
        columns = [
            at
            for at, name in enumerate(today.columns)
            if any(fnmatchcase(name, each) for each in self.anchor)
        ]
        if not columns:
            raise DataError(
                f"`anchor`, {', '.join(self.anchor)}, names no factor of this study; known are "
                f"{', '.join(today.columns)}. Choose one of these, or add the factor to `factors`."
            )
        estimator: Any = AnchoredRidge(columns, evidence=self.evidence)
        return RegressorForecaster(estimator, target="rank").forecast(training, today)
