"""What a portfolio is made of: weights by type of fund."""

from __future__ import annotations

import pandas as pd

UNKNOWN = "unknown"  # stands for the type of funds without one


def type_exposure(holdings: pd.DataFrame, types: pd.Series[str]) -> pd.DataFrame:
    """Return the weight of each type of funds in each portfolio at its decision.

    Parameters
    ----------
    holdings : DataFrame
        One row per holding: date, forecaster, fund, weight.
    types : Series
        Type by fund.

    Returns
    -------
    DataFrame
        Indexed by (date, forecaster), in the order of the holdings. Columns: the types held, by name, then
        "unknown" if funds without a type are held.
    """
    held = holdings["fund"].map(types).fillna(UNKNOWN).rename("type")
    weights = holdings["weight"].groupby([holdings["date"], holdings["forecaster"], held], sort=False).sum()
    table = weights.unstack("type").fillna(0.0)
    return table[sorted(table.columns, key=lambda name: (name == UNKNOWN, name))]
