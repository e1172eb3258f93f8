"""The books of portfolios, that of all funds with equal weights, and the days on which they can trade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..calendar import DAYS_PER_YEAR, rows_in
from ..config import StudyConfig
from ..decisions.observations import Observations, decision_rows
from ..evaluation.ledger import run_ledger
from ..evaluation.market import FeeRules


def rows_to_decide(observations: Observations, config: StudyConfig, fees: FeeRules) -> list[int]:
    """Return the rebalance days to decide on; raise if orders cannot be filled in time."""
    rows = decision_rows(observations, config)
    at = observations.panel.nav.index.get_indexer(observations.days[rows])
    left = len(observations.panel.nav) - 1 - int(at[0])
    if config.execution_lag > left:
        raise DataError(
            f"`execution_lag` must be at most {left}, the number of rows after the first decision, got "
            f"{config.execution_lag}; 1 is usual."
        )
    shortest = int(np.diff(at).min()) if len(at) > 1 else len(observations.panel.nav)
    per_year = observations.factors.rows_per_year
    longest = max((fees.delay.get(fund, 0) for fund in observations.funds), default=0)
    if rows_in(longest, per_year) >= shortest:
        apart = round(shortest * DAYS_PER_YEAR / per_year)
        raise DataError(
            f"`settlement_lag` must be shorter than the {apart} trading days between two rebalances, got "
            f"{longest}; lower it, or rebalance less often."
        )
    return rows


def equal_weight_curve(
    observations: Observations, rows: Sequence[int], config: StudyConfig
) -> pd.Series[float]:
    """Return the value of all funds with equal weights: the index of a study without one, and a baseline.

    On each decision day all funds that could be chosen get the same weight. Orders are filled on the same
    days as those of the portfolios, without cost, as in an index.
    """
    targets = equal_weights(observations, rows)
    return run_ledger(observations.panel.nav, targets, execution_lag=config.execution_lag).equity


def equal_weights(observations: Observations, rows: Sequence[int]) -> dict[Any, pd.Series[float]]:
    """Return equal weights of all funds that could be chosen, by decision day."""
    sections = (observations.sections[t] for t in rows)
    return {each.day: pd.Series(1.0 / len(each.funds), index=each.funds) for each in sections}


def run_ledgers(
    nav: pd.DataFrame, holdings: pd.DataFrame, names: Sequence[str], config: StudyConfig, fees: FeeRules
) -> dict[str, pd.DataFrame]:
    """Return equity, cash, trades and fills of the portfolios of some forecasters."""
    ledgers = {
        name: run_ledger(nav, target_weights(holdings, name), fees=fees, execution_lag=config.execution_lag)
        for name in names
    }
    cash = pd.DataFrame({name: ledger.cash for name, ledger in ledgers.items()})
    return {
        "equity": pd.DataFrame({name: ledger.equity for name, ledger in ledgers.items()}),
        "cash": cash.rename_axis(index="date", columns="forecaster"),
        "trades": _joined({name: ledger.trades for name, ledger in ledgers.items()}),
        "fills": _joined({name: ledger.fills for name, ledger in ledgers.items()}),
    }


def target_weights(holdings: pd.DataFrame, name: str) -> dict[Any, pd.Series[float]]:
    """Return the weights that a forecaster wants to hold, by decision day."""
    own = holdings[holdings["forecaster"] == name]
    return {day: group.set_index("fund")["weight"] for day, group in own.groupby("date")}


def _joined(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, names=["forecaster", None]).reset_index("forecaster").reset_index(drop=True)
