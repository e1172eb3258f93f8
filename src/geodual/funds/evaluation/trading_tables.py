"""Trading costs and risks of a study: turnover, break-even costs, worst and rolling drawdowns."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .performance import annual_return, rolling_drawdown, worst_drawdowns, years_between

_DRAWDOWNS = 3  # listed per curve
_DIGITS = 6  # of rolling drawdowns: the report embeds them, and full precision would take twice the space


def measure_costs(equity: pd.DataFrame, trades: pd.DataFrame, cash: pd.DataFrame) -> pd.DataFrame:
    """Return turnover, cost and break-even cost of each forecaster's portfolio.

    A rebalance trades the share V = Σ|Δw| of the portfolio's value, over the funds. To first
    order, a cost of c per traded value multiplies the final value by exp(−c Σ V). The break-even cost, at
    which the portfolio earns as much as the index, is therefore c* = ln(G/I)/Σ V, where G is the final value
    of the portfolio before cost and I that of the index.

    Parameters
    ----------
    equity : DataFrame
        Day × forecaster and `index`, starting at 1.
    trades : DataFrame
        One row per forecaster and rebalance: forecaster, executed, turnover, traded, cost, unfilled.
    cash : DataFrame
        Day × forecaster: share of the portfolio in cash.

    Returns
    -------
    DataFrame
        By forecaster: `turnover` and `traded` (V) per year; `cost` paid per year, as a share of the
        portfolio's value; the mean share in `cash` and the mean weight `unfilled` per rebalance; annual
        return `gross` (before cost) and `net`; `excess`, net minus the index; `break_even`, negative if the
        portfolio trails the index even before cost.
    """
    years = years_between(equity.index) or np.nan  # a single day has no measure per year
    rows = {}
    for name in equity.columns.drop("index"):
        # A trade on the last day is left out: its cost would show on the day after.
        own = trades[(trades["forecaster"] == name) & (trades["executed"] < equity.index[-1])]
        kept = (1.0 - own.set_index("executed")["cost"]).reindex(equity.index, fill_value=1.0)
        # Equity is taken before the trades of a day, so a cost shows from the next day on.
        gross = equity[name] / kept.cumprod().shift(1, fill_value=1.0)
        traded = float(own["traded"].sum()) or np.nan
        net = annual_return(equity[name])
        rows[name] = {
            "turnover": own["turnover"].sum() / years,
            "traded": own["traded"].sum() / years,
            "cost": own["cost"].sum() / years,
            "cash": cash[name].mean(),
            "unfilled": own["unfilled"].mean(),
            "gross": annual_return(gross),
            "net": net,
            "excess": net - annual_return(equity["index"]),
            "break_even": np.log(gross.iloc[-1] / equity["index"].iloc[-1]) / traded,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("forecaster")


def list_drawdowns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return the worst drawdowns of each curve, with their length in days from peak to recovery."""
    tables = [worst_drawdowns(equity[name], _DRAWDOWNS).assign(forecaster=str(name)) for name in equity]
    table = pd.concat(tables, ignore_index=True)
    days = (table["recovery"] - table["peak"]).dt.days.astype("Int64")
    return table.assign(days=days)[["forecaster", "depth", "peak", "trough", "recovery", "days"]]


def roll_drawdowns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return one-year rolling maximum drawdowns, day × forecaster and `index`, rounded to six decimals."""
    table = pd.DataFrame({name: rolling_drawdown(equity[name]) for name in equity})
    return table.rename_axis(index="date", columns="forecaster").round(_DIGITS)
