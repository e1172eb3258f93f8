"""The case for a strategy and its picks: what it earned and risked, net of costs, and at what fees."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..config import StudyConfig
from . import performance
from .market import FeeRules
from .result_tables import mean_turnover
from .risk_free import RiskFree

PICKS, INDEX = "picks", "index"  # curves; the others go by their baseline
_RISK_YEARS = 3  # over which the risk of a pick is measured
_OVERLAP_YEARS = 1
_FEWEST_WEEKS = 26  # for a correlation
_INTERVAL = [0.1, 0.9]  # quantiles between which 80 % of past outcomes lie
_FEWEST = 8  # past intervals for such a range
_NUMBERS = ("years", "annual_return", "volatility", "sharpe", "max_drawdown", "worst_quarter")


@dataclass(frozen=True, eq=False)
class StrategyRecord:
    """What a strategy earned, net of costs, beside what it is compared with.

    Attributes
    ----------
    curves : DataFrame
        Day × `picks` (the portfolio after its costs), `universe` (all funds with equal weights), and where
        they are known `momentum` (after its costs) and `index`; each starts at 1 on its first day.
    intervals : DataFrame
        What each of them earned in the holding interval of each past decision that counts.
    trades : DataFrame
        One row per rebalance of the portfolio: executed, turnover, cost and more.
    """

    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    intervals: pd.DataFrame = field(default_factory=pd.DataFrame)
    trades: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def range(self) -> tuple[float, float]:
        """Between what the portfolio earned, net, in 80 % of the past intervals; NaN with fewer than 8."""
        earned = self.intervals[PICKS].dropna() if PICKS in self.intervals else pd.Series(dtype=float)
        if len(earned) < _FEWEST:
            return np.nan, np.nan
        low, high = earned.quantile(_INTERVAL)
        return float(low), float(high)

    def wins(self, rival: str) -> tuple[int, int]:
        """Return in how many intervals the portfolio earned more than a rival, of how many."""
        both = self.intervals[[PICKS, rival]].dropna()
        return int((both[PICKS] > both[rival]).sum()), len(both)

    @property
    def turnover(self) -> float:
        """The mean share exchanged per rebalance, ½ Σ |Δw|, without the first purchase, as in Table 1."""
        return np.nan if self.trades.empty else mean_turnover(self.trades, self.trades["decided"].min())

    @property
    def yearly_cost(self) -> float:
        """What trades cost per year, as a share of the portfolio; NaN without two days."""
        if len(self.curves) < 2 or self.trades.empty:
            return np.nan
        days = self.curves[PICKS].dropna().index
        own = self.trades[(self.trades["executed"] >= days[0]) & (self.trades["executed"] < days[-1])]
        return float(own["cost"].sum() / performance.years_between(days))

    def measures(self, risk_free: RiskFree) -> pd.DataFrame:
        """Return return, risk and worst quarter of each curve, on the days that it has.

        Parameters
        ----------
        risk_free : float or Series
            Risk-free rate per year, or such rates by day.

        Returns
        -------
        DataFrame
            By curve: first and last day, annual_return, volatility, sharpe, max_drawdown, worst_quarter.
        """
        rows = {}
        for name, curve in self.curves.items():
            own = curve.dropna()
            if len(own) > 1:
                days = {"first": own.index[0], "last": own.index[-1]}
                quarter = {"worst_quarter": worst_quarter(own)}
                rows[name] = days | performance.portfolio_row(own, risk_free) | quarter
        return pd.DataFrame.from_dict(rows, orient="index")


def worst_quarter(values: pd.Series[float]) -> float:
    """Return the lowest return of a calendar quarter; the first and the last may be incomplete.

    Parameters
    ----------
    values : Series
        Value by day, without gaps.

    Returns
    -------
    float
        NaN for a single value.
    """
    if len(values) < 2:
        return np.nan
    ends = values.groupby(pd.DatetimeIndex(values.index).to_period("Q")).last().to_numpy(float)
    ends = np.concatenate([[float(values.iloc[0])], ends])
    return float((ends[1:] / ends[:-1] - 1.0).min())


def measure_picks(nav: pd.DataFrame, funds: pd.Index[str], fees: FeeRules) -> pd.DataFrame:
    """Return what single funds risked in the last three years, and what it costs to buy and sell them.

    Parameters
    ----------
    nav : DataFrame
        Net asset values up to the day of the decision, day × fund.
    funds : Index of str
        The funds.
    fees : FeeRules
        What trades cost.

    Returns
    -------
    DataFrame
        By fund: years (of values, at most three), annual_return, volatility, max_drawdown, worst_quarter,
        sharpe, purchase (fee as a share) and redemption (rates by days held; one rate for ever has 0 days).
    """
    since = nav.index[-1] - pd.DateOffset(years=_RISK_YEARS)
    rows = {}
    for fund in funds:
        own = nav[fund].loc[since:].dropna()
        rows[fund] = {
            "years": performance.years_between(own.index),
            **performance.portfolio_row(own),
            "worst_quarter": worst_quarter(own),
            "purchase": fees.purchase_rate(fund),
            "redemption": _redemption(fees, fund),
        }
    columns = [*_NUMBERS, "purchase", "redemption"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("fund")


def _redemption(fees: FeeRules, fund: str) -> tuple[tuple[int, float], ...]:
    """Return the redemption fees of a fund: rates by days held, or one rate for ever, marked by 0 days."""
    steps = fees.own_redemption.get(fund, fees.redemption)
    return steps or ((0, fees.cost),)


def correlate_picks(nav: pd.DataFrame, funds: pd.Index[str]) -> pd.DataFrame:
    """Return how far funds move together: correlations of the weekly returns of the last year, fund × fund.

    Parameters
    ----------
    nav : DataFrame
        Net asset values up to the day of the decision, day × fund.
    funds : Index of str
        The funds.

    Returns
    -------
    DataFrame
        NaN for funds with fewer than 26 weeks, and for those that stand still.
    """
    recent = nav.loc[nav.index[-1] - pd.DateOffset(years=_OVERLAP_YEARS) :, list(funds)]
    weeks = recent.groupby(pd.DatetimeIndex(recent.index).to_period("W")).last()
    return weeks.pct_change(fill_method=None).iloc[1:].corr(min_periods=_FEWEST_WEEKS)


@dataclass(frozen=True, eq=False)
class PickCase:
    """What speaks for and against some picks, besides the picks themselves.

    Attributes
    ----------
    config : StudyConfig
        The settings of the strategy.
    record : StrategyRecord
        What it earned.
    risk : DataFrame
        What the picks risked, and their fees, as `measure_picks` has them.
    correlations : DataFrame
        How far the picks move together, as `correlate_picks` has it.
    mixed : Series
        Value of the picks together, with their weights and without trades, over three years or as long as all
        of them have values.
    n_funds : int
        Number of funds that could be chosen.
    index_name : str
        Name of the index; "" without one.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.
    """

    config: StudyConfig
    record: StrategyRecord
    risk: pd.DataFrame
    correlations: pd.DataFrame
    mixed: pd.Series[float]
    n_funds: int
    index_name: str = ""
    risk_free: RiskFree = 0.0


def mix_picks(nav: pd.DataFrame, weights: pd.Series[float]) -> pd.Series[float]:
    """Return what the funds together were worth, bought once with their weights: from 1, without trades.

    Parameters
    ----------
    nav : DataFrame
        Net asset values up to the day of the decision, day × fund.
    weights : Series
        Weight by fund; they are scaled to sum to one.

    Returns
    -------
    Series
        Over the last three years, or as long as all funds have values.
    """
    since = nav.index[-1] - pd.DateOffset(years=_RISK_YEARS)
    own = nav.loc[since:, list(weights.index)].ffill().dropna()
    if own.empty or not len(weights):
        return pd.Series(dtype=float)
    return (own / own.iloc[0]) @ (weights / weights.sum())
