"""What trading took and risked: costs, break-even costs, worst and rolling drawdowns."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .performance import DAYS_A_YEAR, annual_return, rolling_drawdown, worst_drawdowns

_DRAWDOWNS = 3
_DIGITS = 6


def measure_costs(equity: pd.DataFrame, trades: pd.DataFrame) -> pd.DataFrame:
    """Return what trading took from each metric's portfolio, and what it could have taken.

    A rebalance trades V = Σ|Δw| = 2·turnover − |Δ invested| of the portfolio's value. A cost c per traded
    value takes, to first order, the factor exp(−c Σ V) from the final value. So the return over the index is
    zero at the break-even cost c* = ln(G/I)/Σ V, where G and I are the final values of the portfolio before
    cost and of the index.

    Parameters
    ----------
    equity : DataFrame
        Day × metric and `index`, from 1 on.
    trades : DataFrame
        One row per metric and rebalance, as in `Study`.

    Returns
    -------
    DataFrame
        By metric: `turnover` and `traded` per year, `cost` paid per year as a share of the portfolio's value,
        `gross` and `net` annual return, `excess` (net, over the index), `break_even` (negative where the
        portfolio is behind the index before any cost).
    """
    years = (len(equity) - 1) / DAYS_A_YEAR
    rows = {}
    for name in equity.columns.drop("index"):
        own = trades[(trades["metric"] == name) & (trades["executed"] < equity.index[-1])]
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


def list_drawdowns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return the worst drawdowns of each curve: metric, depth, peak, trough, recovery and days between."""
    tables = [worst_drawdowns(equity[name], _DRAWDOWNS).assign(metric=str(name)) for name in equity]
    table = pd.concat(tables, ignore_index=True)
    days = (table["recovery"] - table["peak"]).dt.days.astype("Int64")
    return table.assign(days=days)[["metric", "depth", "peak", "trough", "recovery", "days"]]


def roll_drawdowns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return the one-year rolling maximum drawdown, day × metric and `index`, to six decimals."""
    table = pd.DataFrame({name: rolling_drawdown(equity[name]) for name in equity})
    return table.rename_axis(index="date", columns="metric").round(_DIGITS)
