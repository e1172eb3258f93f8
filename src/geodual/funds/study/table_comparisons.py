"""Compare the tables of a run with each other: numbers that follow from others must agree with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation.forecast_tables import portfolio_row
from ..evaluation.result_tables import ic_table

# Tables are written with all digits. Sums of up to a million numbers may be rounded in another order.
_ROUNDING = 1e-9
_KEY = ["date", "forecaster", "fund"]


def compare_tables(tables: Mapping[str, pd.DataFrame]) -> None:
    """Raise if tables of a run disagree.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables by name, as `Study` has them.

    Raises
    ------
    ValueError
        With the file, the row, what is there and what should be.
    """
    _compare(tables["ic"], ic_table(tables["predictions"]), "ic.csv", "predictions.csv")
    _compare_holdings(tables["holdings"], tables["predictions"])
    fills = tables["fills"]
    values = fills.set_index(["day", "forecaster", "fund"])[["value"]].astype(float)
    products = (fills["units"] * fills["price"]).to_numpy(float)
    _compare(values, values.assign(value=products), "fills.csv", "its units and prices")
    for forecaster, trades in tables["trades"].groupby("forecaster"):
        own = fills[fills["forecaster"] == forecaster]
        _compare_books(str(forecaster), trades.set_index("decided"), own, tables["equity"])


def compare_summary(summary: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
    """Raise if the results in ``summary.json`` do not follow from the tables.

    Every day of a curve has its part in the volatility, so that a change of any is noticed.

    Parameters
    ----------
    summary : mapping
        The summary.
    tables : mapping of str to DataFrame
        The tables by name, as `Study` has them.
    """
    for part, table in (("table1", "equity"), ("baselines", "baseline_equity")):
        rows = summary.get(part, {}).get("both")
        for name, curve in tables.get(table, pd.DataFrame()).items():  # old folders have no baselines
            found = rows.get(name) if isinstance(rows, dict) else None
            if not isinstance(found, dict):
                raise ValueError(f"summary.json: there are no results of {name!r}")
            _compare_measures(found, portfolio_row(curve), str(name), f"{table}.csv")
            if table == "equity" and name in tables["ic"]:
                _compare_measures(found, {"ic_mean": tables["ic"][name].mean()}, str(name), "ic.csv")


def _compare_measures(found: dict[str, Any], expected: dict[str, Any], name: str, source: str) -> None:
    values = {measure: found.get(measure) for measure in expected}
    wrong = [measure for measure, value in values.items() if not isinstance(value, int | float | None)]
    if wrong:
        raise ValueError(f"summary.json: `{wrong[0]}` of {name!r} is no number")
    table = pd.DataFrame([values], index=[name], dtype=float)
    _compare(table, pd.DataFrame([expected], index=[name], dtype=float), "summary.json", source)


def _compare_holdings(holdings: pd.DataFrame, predictions: pd.DataFrame) -> None:
    columns = ["forecast", "realised"]
    found = holdings.set_index(_KEY)[columns]
    _compare(found, predictions.set_index(_KEY)[columns], "holdings.csv", "predictions.csv")


def _compare_books(forecaster: str, trades: pd.DataFrame, fills: pd.DataFrame, equity: pd.DataFrame) -> None:
    """Compare fees with costs and, on days of trades, the equity with what the fills leave in the books."""
    before = equity[forecaster].reindex(trades["executed"]).set_axis(trades.index)
    fees = fills.groupby("decided")["fee"].sum().reindex(trades.index, fill_value=0.0)
    _compare(trades[["cost"]], (fees / before).to_frame("cost"), f"trades.csv, {forecaster}", "fills.csv")
    # Orders that waited, and funds that closed, change the books on days that the fills do not tell.
    executed = trades["executed"].reindex(fills["decided"]).to_numpy()
    if fills.empty or (fills["side"] == "closure").any() or (fills["day"].to_numpy() != executed).any():
        return
    sign = np.where(fills["side"] == "buy", 1.0, -1.0)
    own = fills.assign(units=sign * fills["units"], spent=sign * fills["value"] + fills["fee"])
    by_fund = own.groupby(["decided", "fund"])
    price: pd.DataFrame = by_fund["price"].first().unstack()
    held: pd.DataFrame = by_fund["units"].sum().unstack().fillna(0.0).cumsum()
    is_known = (price.notna() | (held.abs() < _ROUNDING * held.abs().max())).all(axis=1)
    money = 1.0 - own.groupby("decided")["spent"].sum().cumsum()
    worth = (money + (held * price).sum(axis=1) + fees.reindex(money.index))[is_known]
    worth = worth.set_axis(trades["executed"].reindex(worth.index))
    _compare(equity[[forecaster]].reindex(worth.index), worth.to_frame(forecaster), "equity.csv", "fills.csv")


def _compare(found: pd.DataFrame, expected: pd.DataFrame, file: str, source: str) -> None:
    """Raise for the first number that is not as expected, up to rounding; NaN equals NaN."""
    there = found.to_numpy(float)
    wanted = expected.reindex(index=found.index, columns=found.columns).to_numpy(float)
    wrong = ~np.isclose(there, wanted, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        place = ", ".join(_shown(part) for part in np.atleast_1d(np.asarray(found.index[row], dtype=object)))
        raise ValueError(
            f"{file}, {place}: `{found.columns[column]}` is {there[row, column]:.12g}, and {source} gives "
            f"{wanted[row, column]:.12g}"
        )


def _shown(part: Any) -> str:
    return f"{part:%Y-%m-%d}" if isinstance(part, pd.Timestamp) else str(part)
