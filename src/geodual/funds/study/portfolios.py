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
    index: pd.Series[float],
) -> dict[str, Any]:
    """Return the tables of forecasts and portfolios by name, as `Study` has them."""
    nav = observations.panel.nav
    predictions = predictions_table(decisions, observations)
    holdings = holdings_table(picked, predictions, observations, config)
    books = _keep_books(nav, holdings, config.compared, config, fees)
    equity = books["equity"]
    levels = index.reindex(equity.index)
    equity["index"] = levels / levels.iloc[0]
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


def equal_weight_curve(
    observations: Observations, rows: Sequence[int], config: StudyConfig
) -> pd.Series[float]:
    """Return the value of all funds with equal weights: the index of a study without one, and a baseline.

    On each decision day all funds that could be chosen get the same weight. Orders are filled on the same
    days as those of the portfolios, without cost, as in an index.
    """
    sections = (observations.sections[t] for t in rows)
    targets = {each.day: pd.Series(1.0 / len(each.funds), index=each.funds) for each in sections}
    return run_ledger(observations.panel.nav, targets, execution_lag=config.execution_lag).equity


def keep_baselines(
    observations: Observations,
    rows: Sequence[int],
    config: StudyConfig,
    fees: FeeRules,
    universe: pd.Series[float],
) -> dict[str, pd.DataFrame]:
    """Return the tables of the baselines by name, as `Study` has them; empty without baselines.

    The baselines pick funds under the same rules, and pay the same fees. The `universe` is that of
    `equal_weight_curve`.
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
        equity = equity.reindex(universe.index).assign(**{UNIVERSE: universe})
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
