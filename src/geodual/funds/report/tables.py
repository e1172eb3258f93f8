"""Tables that the report adds to those of a study: costs, drawdowns, fifths of the forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..evaluation.performance import DAYS_A_YEAR, annual_return, rolling_drawdown, worst_drawdowns
from ..evaluation.periods import PERIODS

if TYPE_CHECKING:
    from ..study import Study

FIFTHS = (1, 2, 3, 4, 5)
_DRAWDOWNS = 3
_DIGITS = 6


def known_periods(study: Study) -> list[str]:
    """Return the periods that have at least one information coefficient; the last is "both" if there is any.

    Parameters
    ----------
    study : Study
        A finished study.
    """
    return [period for period in PERIODS if study.ic.loc[study.decided(period)].notna().any(axis=None)]


def measure_costs(study: Study) -> pd.DataFrame:
    """Return what trading took from each metric's portfolio, and what it could have taken.

    A rebalance trades V = Σ|Δw| = 2·turnover − |Δ invested| of the portfolio's value. A cost c per traded
    value takes, to first order, the factor exp(−c Σ V) from the final value, so the return over the index is
    nil at the break-even cost c* = ln(G/I)/Σ V, where G and I are the final values of the portfolio before
    cost and of the index.

    Parameters
    ----------
    study : Study
        A finished study.

    Returns
    -------
    DataFrame
        By metric: `turnover` and `traded` a year, `cost` paid a year as a share of the portfolio's value,
        `gross` and `net` annual return, `excess` (net, over the index), `break_even` (negative where the
        portfolio is behind the index before any cost).
    """
    equity = study.equity
    years = (len(equity) - 1) / DAYS_A_YEAR
    rows = {}
    for name in study.config.metrics:
        own = study.trades[(study.trades["metric"] == name) & (study.trades["executed"] < equity.index[-1])]
        kept = (1.0 - own.set_index("executed")["cost"]).reindex(equity.index, fill_value=1.0)
        gross = equity[name] / kept.cumprod().shift(1, fill_value=1.0)
        invested = 1.0 - own["unfilled"]
        traded = (2.0 * own["turnover"] - invested.diff().fillna(invested).abs()).sum()
        net = annual_return(equity[name])
        rows[name] = {
            "turnover": own["turnover"].sum() / years,
            "traded": traded / years,
            "cost": own["cost"].sum() / years,
            "gross": annual_return(gross),
            "net": net,
            "excess": net - annual_return(equity["index"]),
            "break_even": np.log(gross.iloc[-1] / equity["index"].iloc[-1]) / traded,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")


def list_drawdowns(study: Study) -> pd.DataFrame:
    """Return the worst drawdowns of each curve: metric, depth, peak, trough, recovery and days between.

    Parameters
    ----------
    study : Study
        A finished study.
    """
    tables = [
        worst_drawdowns(study.equity[name], _DRAWDOWNS).assign(metric=str(name)) for name in study.equity
    ]
    table = pd.concat(tables, ignore_index=True)
    days = (table["recovery"] - table["peak"]).dt.days.astype("Int64")
    return table.assign(days=days)[["metric", "depth", "peak", "trough", "recovery", "days"]]


def measure_fifths(study: Study) -> pd.DataFrame:
    """Return the mean realised return by fifth of the forecasts, for each known period.

    Parameters
    ----------
    study : Study
        A finished study.

    Returns
    -------
    DataFrame
        Indexed by (period, metric): columns 1 … 5 (5 the best forecasts), `spread` (5 less 1) and `rising`
        (whether no fifth earned less than the one below it).
    """
    periods = known_periods(study)
    if not periods:
        return pd.DataFrame(columns=[*map(str, FIFTHS), "spread", "rising"])
    tables = {period: study.quantile_returns(period).reindex(columns=FIFTHS) for period in periods}
    table = pd.concat(tables, names=["period"])
    rising = table.notna().all(axis=1) & (table.diff(axis=1).iloc[:, 1:] >= 0.0).all(axis=1)
    spread = table[FIFTHS[-1]] - table[FIFTHS[0]]
    return table.rename(columns=str).rename_axis(columns=None).assign(spread=spread, rising=rising)


def compare_by_period(study: Study) -> pd.DataFrame:
    """Return the paired comparisons of all metrics, indexed by (period, metric, against).

    Parameters
    ----------
    study : Study
        A finished study.
    """
    periods = known_periods(study) if len(study.config.metrics) > 1 else []
    tables = {period: study.comparisons(period) for period in periods}
    return pd.concat(tables, names=["period"]) if tables else pd.DataFrame()


def roll_drawdowns(study: Study) -> pd.DataFrame:
    """Return the one-year rolling maximum drawdown, day × metric and `index`, to six decimals.

    Parameters
    ----------
    study : Study
        A finished study.
    """
    table = pd.DataFrame({name: rolling_drawdown(study.equity[name]) for name in study.equity})
    return table.rename_axis(index="date", columns="metric").round(_DIGITS)


@dataclass(frozen=True, eq=False)
class Tables:
    """What a report shows, computed once.

    Attributes
    ----------
    periods : list of str
        As `known_periods`.
    table1, annual_returns : DataFrame
        Of the study.
    comparisons, fifths, costs, drawdowns, rolling : DataFrame
        As `compare_by_period`, `measure_fifths`, `measure_costs`, `list_drawdowns`, `roll_drawdowns`.
    """

    periods: list[str]
    table1: pd.DataFrame
    annual_returns: pd.DataFrame
    comparisons: pd.DataFrame
    fifths: pd.DataFrame
    costs: pd.DataFrame
    drawdowns: pd.DataFrame
    rolling: pd.DataFrame


def collect_tables(study: Study) -> Tables:
    """Compute the tables of a report.

    Parameters
    ----------
    study : Study
        A finished study.
    """
    return Tables(
        periods=known_periods(study),
        table1=study.table(),
        annual_returns=study.annual_returns(),
        comparisons=compare_by_period(study),
        fifths=measure_fifths(study),
        costs=measure_costs(study),
        drawdowns=list_drawdowns(study),
        rolling=roll_drawdowns(study),
    )
