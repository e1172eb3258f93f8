"""Trade forecasts: picks, books and benchmarks of a study, from its forecasts and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..decisions.observations import Observations
from ..decisions.picking import Picks, pick_funds
from ..evaluation.market import Market
from ..evaluation.random_portfolios import draw_random_portfolios
from ..evaluation.result_tables import holdings_table, neighbors_table, reasons_table
from ..evaluation.risk_free import rate_table
from ..evaluation.statistics import rank_by_ic
from ..evaluation.study_tables import no_curves
from ..forecasters.registry import UNIVERSE
from ..language import phrase
from .books import equal_weight_curve, equal_weights, rows_to_decide, run_ledgers, target_weights
from .forecasts import Forecasts
from .index_mix import IndexMix, aligned_levels, mix_indices
from .inputs import Inputs, digest_levels
from .notes import note_concentration, note_data, note_index, note_portfolios, note_rows, note_universe

EQUAL_WEIGHT = phrase("equal-weight universe")  # the index of a study without one


@dataclass(frozen=True, eq=False)
class Rivals:
    """What portfolios are compared with; the forecasts of the study change none of it.

    Attributes
    ----------
    mix : IndexMix, optional
        The indices by type.
    index : Series
        The index; all funds with equal weights if none was given.
    index_name : str
        What it is called.
    filled : list of str
        Notes on its missing levels.
    tables : dict of str to DataFrame
        Random portfolios and baselines, as `Study` has them.
    """

    mix: IndexMix | None
    index: pd.Series[float]
    index_name: str
    filled: list[str]
    tables: dict[str, pd.DataFrame]


def find_rivals(forecasts: Forecasts) -> Rivals:
    """Return what portfolios are compared with, traded by the settings of a study.

    Parameters
    ----------
    forecasts : Forecasts
        The forecasts, of which the days, the universes and the baselines are used.
    """
    given, observations = forecasts.given, forecasts.observations
    config, nav = given.config, observations.panel.nav
    rows = rows_to_decide(observations, config, given.fees)
    mix, (benchmark, filled) = find_benchmark(given, observations, rows)
    equal = equal_weight_curve(observations, rows, config)
    universes = {decision.day: decision.funds for decision in forecasts.decisions}
    drawn = draw_random_portfolios(
        Market(nav, given.fees), universes, config, observations.facts, risk_free=given.risk_free
    )
    return Rivals(
        mix,
        equal if benchmark is None else benchmark,
        EQUAL_WEIGHT if benchmark is None else str(benchmark.name),
        filled,
        {"random_portfolios": drawn, **_keep_baselines(forecasts, equal)},
    )


def trade(forecasts: Forecasts, rivals: Rivals | None = None) -> dict[str, Any]:
    """Return what `Study` is made of, but for its time: the forecasts, and the portfolios that trade them.

    Parameters
    ----------
    forecasts : Forecasts
        The forecasts, with the settings to trade by.
    rivals : Rivals, optional
        What `find_rivals` returns for these forecasts, or for others with the same days and settings of
        trading.
    """
    given, observations = forecasts.given, forecasts.observations
    config, panel = given.config, given.panel
    rivals = rivals or find_rivals(forecasts)
    picked = pick_funds(observations, forecasts.decisions, forecasts.forecasters, config)
    books = _keep_ledgers(forecasts, picked, rivals.index)
    return {
        "config": config,
        "source": panel.source,
        "digest": panel.digest,
        "findings": (*panel.findings, *given.index_findings),
        "index_name": rivals.index_name,
        "index_digest": digest_levels(given.levels),
        **forecasts.tables,
        **books,
        "benchmarks": _own_benchmarks(rivals.mix, books["holdings"], config),
        **rivals.tables,
        **_explain_picks(forecasts, picked),
        "factor_labels": observations.factors.labels,
        "facts": given.facts.of_funds(observations.funds),
        "facts_digest": given.facts.digest,
        "chosen": forecasts.chosen,
        "units": {decision.forecaster: decision.unit for decision in forecasts.decisions},
        "notes": collect_notes(forecasts, books, rivals.filled),
    }


def _keep_ledgers(
    forecasts: Forecasts, picked: Sequence[Picks], index: pd.Series[float]
) -> dict[str, pd.DataFrame]:
    """Return the tables of the portfolios by name, as `Study` has them."""
    given, observations = forecasts.given, forecasts.observations
    nav, config, fees = observations.panel.nav, given.config, given.fees
    holdings = holdings_table(picked, forecasts.tables["predictions"], observations, config)
    books = run_ledgers(nav, holdings, config.compared, config, fees)
    equity = books["equity"]
    levels = index.reindex(equity.index)
    equity["index"] = levels / levels.iloc[0]
    return {
        **books,
        "holdings": holdings,
        "equity": equity.rename_axis(index="date", columns="forecaster"),
        "risk_free": rate_table(given.risk_free, nav.index[0]),
    }


def _keep_baselines(forecasts: Forecasts, universe: pd.Series[float]) -> dict[str, pd.DataFrame]:
    """Return the tables of the baselines by name, as `Study` has them; empty without baselines.

    The baselines pick funds under the same rules, and pay the same fees. The `universe` is that of
    `equal_weight_curve`.
    """
    observations, config, made = forecasts.observations, forecasts.given.config, forecasts.baselines
    tables: dict[str, pd.DataFrame] = {}
    equity = pd.DataFrame(columns=[])
    if made.decisions:
        picked = pick_funds(observations, made.decisions, made.forecasters, config)
        holdings = holdings_table(picked, made.predictions, observations, config)
        nav, fees = observations.panel.nav, forecasts.given.fees
        books = run_ledgers(nav, holdings, tuple(made.forecasters), config, fees)
        equity = books["equity"]
        tables = {"baseline_predictions": made.predictions, "baseline_trades": books["trades"]}
    if UNIVERSE in config.baselines:
        equity = equity.reindex(universe.index).assign(**{UNIVERSE: universe})
    return tables | {"baseline_equity": equity.rename_axis(index="date", columns="forecaster")}


def _explain_picks(forecasts: Forecasts, picked: Sequence[Picks]) -> dict[str, pd.DataFrame]:
    """Return the neighbors and factors behind the picks; of a saved study, those that it has."""
    if not forecasts.saved:
        columns = forecasts.observations.factors.columns
        return {"neighbors": neighbors_table(picked), "reasons": reasons_table(picked, columns)}
    picks = pd.concat(
        [
            pd.DataFrame({"date": each.day, "forecaster": each.forecaster, "fund": each.funds})
            for each in picked
        ]
    )
    return {name: picks.merge(table, how="inner") for name, table in forecasts.saved.items()}


def collect_notes(forecasts: Forecasts, books: dict[str, pd.DataFrame], filled: list[str]) -> tuple[str, ...]:
    """Return what the reader of the study should know, from the data to the portfolios.

    Parameters
    ----------
    forecasts : Forecasts
        The forecasts, with the settings to trade by.
    books : dict of str to DataFrame
        The tables of the portfolios.
    filled : list of str
        Notes on missing levels of the index.
    """
    given, observations = forecasts.given, forecasts.observations
    return (
        *note_data(given.panel, given.config, given.fees),
        *note_rows(given.panel, observations, given.config, forecasts.rows),
        *filled,
        *note_index(given.index_findings),
        *note_universe(observations, forecasts.tables["universe"]),
        *forecasts.notes,
        *note_portfolios(books["trades"], books["holdings"], given.config, given.panel.findings),
        *_note_last_picks(observations, forecasts.tables["ic"], books["holdings"]),
    )


def _own_benchmarks(mix: IndexMix | None, holdings: pd.DataFrame, config: StudyConfig) -> pd.DataFrame:
    """Return the mix of indices that each portfolio is compared with; no rows if all have the same index."""
    if mix is None:
        return no_curves()
    curves = {
        name: mix.follow(target_weights(holdings, name), config.execution_lag) for name in config.compared
    }
    return pd.DataFrame(curves).rename_axis(index="date", columns="forecaster")


def _note_last_picks(observations: Observations, ic: pd.DataFrame, holdings: pd.DataFrame) -> list[str]:
    """Return a note on the concentration of the last picks of the forecaster with the highest mean IC."""
    name = next(iter(rank_by_ic(ic)), "")
    own = holdings[holdings["forecaster"] == name]
    day = own["date"].max()
    funds = own.loc[own["date"] == day, "fund"].tolist()
    return note_concentration(funds, day, observations, name) if funds else []


def find_benchmark(
    given: Inputs, observations: Observations, rows: list[int]
) -> tuple[IndexMix | None, tuple[pd.Series[float] | None, list[str]]]:
    """Return the indices by type, if given; the index, or their mix by the universe; notes on missing levels.

    The index begins with the execution of the first decision.

    Parameters
    ----------
    given : Inputs
        What the user gave.
    observations : Observations
        What was known at each rebalance day.
    rows : list of int
        Positions of the rebalance days.
    """
    levels, lag = given.levels, given.config.execution_lag
    if levels is None:
        return None, (None, [])
    if isinstance(levels, pd.DataFrame):
        mix = mix_indices(levels, observations, rows[0])
        curve = mix.follow(equal_weights(observations, rows), lag)
        return mix, (curve.rename(mix.name), [])
    nav = observations.panel.nav
    first = nav.index.searchsorted(observations.days[rows[0]]) + lag
    return None, aligned_levels(levels, pd.DatetimeIndex(nav.index[first:]))
