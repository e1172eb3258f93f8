"""The portfolios of a study: from decisions to holdings, and from holdings to the books of each metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..decisions.decision import Decision
from ..decisions.observations import Observations
from ..decisions.picks import Picks
from ..evaluation.fees import FeeRules
from ..evaluation.forecast_diagnostics import ic_decay
from ..evaluation.ledger import run_ledger
from ..evaluation.market import Market
from ..evaluation.random_portfolios import draw_random_portfolios
from ..evaluation.result_tables import holdings_table, ic_table, predictions_table

EQUAL_WEIGHT = "equal-weight universe"  # the index of a study without one


def keep_ledgers(
    observations: Observations,
    decisions: Sequence[Decision],
    picked: Sequence[Picks],
    config: StudyConfig,
    fees: FeeRules,
    benchmark: pd.Series[float] | None,
) -> dict[str, Any]:
    """Return the tables of forecasts and portfolios by name, as `Study` has them."""
    nav = observations.panel.nav
    predictions = predictions_table(decisions, observations)
    holdings = holdings_table(picked, predictions, observations, config)
    ledgers = {
        name: run_ledger(nav, _targets(holdings, name), fees=fees, execution_lag=config.execution_lag)
        for name in config.metrics
    }
    equity = pd.DataFrame({name: ledger.equity for name, ledger in ledgers.items()})
    equity["index"] = _index_curve(nav, decisions, benchmark, pd.DatetimeIndex(equity.index))
    cash = pd.DataFrame({name: ledger.cash for name, ledger in ledgers.items()})
    universes = {decision.day: decision.funds for decision in decisions}
    return {
        "predictions": predictions,
        "ic": ic_table(predictions),
        "ic_decay": ic_decay(predictions, nav),
        "holdings": holdings,
        "equity": equity.rename_axis(index="date", columns="metric"),
        "cash": cash.rename_axis(index="date", columns="metric"),
        "trades": _joined({name: ledger.trades for name, ledger in ledgers.items()}),
        "fills": _joined({name: ledger.fills for name, ledger in ledgers.items()}),
        "random_portfolios": draw_random_portfolios(Market(nav, fees), universes, config, observations.facts),
    }


def _targets(holdings: pd.DataFrame, name: str) -> dict[Any, pd.Series[float]]:
    own = holdings[holdings["metric"] == name]
    return {day: group.set_index("fund")["weight"] for day, group in own.groupby("date")}


def _joined(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, names=["metric", None]).reset_index("metric").reset_index(drop=True)


def _index_curve(
    nav: pd.DataFrame,
    decisions: Sequence[Decision],
    benchmark: pd.Series[float] | None,
    days: pd.DatetimeIndex,
) -> pd.Series[float]:
    """Return the benchmark, starting at 1: the index given, or the universe with equal weights."""
    if benchmark is None:  # rebalanced on the same days, without cost
        targets = {d.day: pd.Series(1.0 / len(d.funds), index=d.funds) for d in decisions}
        benchmark = run_ledger(nav, targets).equity.reindex(days)
    return benchmark.reindex(days) / benchmark[days[0]]
