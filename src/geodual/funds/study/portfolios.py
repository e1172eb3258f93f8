"""The portfolios of a study: from decisions to holdings, and from holdings to books; and the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..decisions.decision import Decision
from ..decisions.observations import Observations
from ..decisions.picking import pick_funds
from ..decisions.picks import Picks
from ..decisions.walk_forward import walk_forward
from ..evaluation.fees import FeeRules
from ..evaluation.forecast_diagnostics import ic_decay
from ..evaluation.ledger import run_ledger
from ..evaluation.market import Market
from ..evaluation.random_portfolios import draw_random_portfolios
from ..evaluation.result_tables import holdings_table, ic_table, predictions_table
from ..forecasters.chosen import resolve_baselines
from ..forecasters.registry import UNIVERSE

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
    books = _keep_books(nav, holdings, config.compared, config, fees)
    equity = books["equity"]
    equity["index"] = _index_curve(nav, decisions, benchmark, pd.DatetimeIndex(equity.index))
    universes = {decision.day: decision.funds for decision in decisions}
    return {
        **books,
        "predictions": predictions,
        "ic": ic_table(predictions),
        "ic_decay": ic_decay(predictions, nav),
        "holdings": holdings,
        "equity": equity.rename_axis(index="date", columns="forecaster"),
        "random_portfolios": draw_random_portfolios(Market(nav, fees), universes, config, observations.facts),
    }


def keep_baselines(
    observations: Observations, rows: Sequence[int], config: StudyConfig, fees: FeeRules
) -> dict[str, pd.DataFrame]:
    """Return the tables of the baselines by name, as `Study` has them; empty without baselines.

    The baselines pick funds under the same rules, and pay the same fees. The universe with equal weights is
    rebalanced on the same days without cost, as an index is.
    """
    nav, forecasters = observations.panel.nav, resolve_baselines(config)
    tables: dict[str, pd.DataFrame] = {}
    equity = pd.DataFrame(columns=[])
    if forecasters:
        decisions = walk_forward(observations, forecasters, rows)
        predictions = predictions_table(decisions, observations)
        picked = pick_funds(observations, decisions, forecasters, config)
        holdings = holdings_table(picked, predictions, observations, config)
        books = _keep_books(nav, holdings, tuple(forecasters), config, fees)
        equity = books["equity"]
        tables = {"baseline_predictions": predictions, "baseline_trades": books["trades"]}
    if UNIVERSE in config.baselines:
        targets = {
            section.day: pd.Series(1.0 / len(section.funds), index=section.funds)
            for section in (observations.sections[t] for t in rows)
        }
        curve = run_ledger(nav, targets, execution_lag=config.execution_lag).equity
        equity = equity.reindex(curve.index).assign(**{UNIVERSE: curve})
    return tables | {"baseline_equity": equity.rename_axis(index="date", columns="forecaster")}


def _keep_books(
    nav: pd.DataFrame, holdings: pd.DataFrame, names: Sequence[str], config: StudyConfig, fees: FeeRules
) -> dict[str, pd.DataFrame]:
    """Return equity, cash, trades and fills of the portfolios of some forecasters."""
    ledgers = {
        name: run_ledger(nav, _targets(holdings, name), fees=fees, execution_lag=config.execution_lag)
        for name in names
    }
    cash = pd.DataFrame({name: ledger.cash for name, ledger in ledgers.items()})
    return {
        "equity": pd.DataFrame({name: ledger.equity for name, ledger in ledgers.items()}),
        "cash": cash.rename_axis(index="date", columns="forecaster"),
        "trades": _joined({name: ledger.trades for name, ledger in ledgers.items()}),
        "fills": _joined({name: ledger.fills for name, ledger in ledgers.items()}),
    }


def _targets(holdings: pd.DataFrame, name: str) -> dict[Any, pd.Series[float]]:
    own = holdings[holdings["forecaster"] == name]
    return {day: group.set_index("fund")["weight"] for day, group in own.groupby("date")}


def _joined(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, names=["forecaster", None]).reset_index("forecaster").reset_index(drop=True)


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
