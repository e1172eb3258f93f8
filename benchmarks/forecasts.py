"""Learnt forecasters against momentum: on real tables of funds, and on universes with planted skill.

``python -m benchmarks forecasts`` runs the frozen settings of ``forecast_settings.toml`` and some rivals. The
environment variable in `TABLES` names the real tables; without it only the synthetic universes are run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.funds import Study, backtest, read_config, synthetic_universe
from geodual.funds.evaluation.performance import annual_return
from geodual.funds.evaluation.statistics import newey_west_t, stationary_bootstrap_interval

from .timing import format_table

TABLES = "GEODUAL_FUND_TABLES"
"""Environment variable with folders of nav.parquet and index.csv, one per table, separated as in PATH."""

SETTINGS = Path(__file__).with_name("forecast_settings.toml")
INDEX = "930950"  # the index of the paper, if a table has several
MOMENTUM, RECORD = "momentum", "best record so far"
FREQUENCIES = ("quarterly", "monthly")
HEADER = ("forecaster", "IC", "t", "less momentum", "95 % interval", "return", "less momentum", "less index")

# What else one might do. The first two are the baselines of every study.
RIVALS: dict[str, dict[str, Any]] = {
    MOMENTUM: {"factor": "sharpe_90"},
    "return_12m": {"factor": "return_12m"},
    "factor_ic": {"estimator": "geodual.funds.forecasters.factor_ic:FactorICRegressor"},
    "ridge": {"estimator": "sklearn.linear_model:Ridge", "parameters": {"alpha": 1000.0}},
    "neighbours": {"metric": "euclidean", "target": "rank", "window": "all", "k": 200},
    "rpdml": {"metric": "rpdml"},
}
_FIRST_CHOICE = 4  # intervals before the best record so far is followed


def forecasts_table(n_funds: int = 400, seeds: int = 3) -> str:
    """Run the frozen forecasters and their rivals on all tables, and return what they achieved."""
    parts = [
        f"{folder.name}, {frequency}, {len(study.ic)} intervals\n{format_table(HEADER, list(_rows(study)))}"
        for folder in _folders()
        for frequency in FREQUENCIES
        for study in [study_table(folder, frequency)]
    ]
    parts += [
        f"synthetic universe with hidden skill, seed {seed}\n{format_table(HEADER, list(_rows(study)))}"
        for seed in range(seeds)
        for study in [study_hidden_skill(n_funds, seed)]
    ]
    return "\n\n".join(parts)


def study_table(folder: Path, frequency: str) -> Study:
    """Run the frozen settings and the rivals on a real table."""
    levels = pd.read_csv(folder / "index.csv", parse_dates=["date"], index_col="date")
    index = levels[INDEX] if INDEX in levels else levels.iloc[:, 0]
    return backtest(folder / "nav.parquet", index, n_jobs=1, **settings(RIVALS), frequency=frequency)


def study_hidden_skill(n_funds: int, seed: int) -> Study:
    """Run them on a universe whose skill no single factor sees in full; slow rivals are left out."""
    universe = synthetic_universe(n_funds, seed=seed, hidden=True)
    quick = {name: table for name, table in RIVALS.items() if "metric" not in table}
    return backtest(universe.panel, universe.index, n_jobs=1, **settings(quick))


def settings(rivals: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the frozen settings, with rivals among the forecasters; their baselines are rivals already."""
    frozen = read_config(SETTINGS)
    return {**frozen, "forecasters": {**rivals, **frozen["forecasters"]}, "baselines": ()}


def follow_the_record(ic: pd.DataFrame) -> pd.Series[float]:
    """Return the IC of one who always uses the forecaster with the highest mean IC so far.

    Momentum is used at first, and wins ties.
    """
    ordered = ic[[MOMENTUM, *(name for name in ic if name != MOMENTUM)]]
    chosen = [
        MOMENTUM if at < _FIRST_CHOICE else ordered.iloc[:at].mean().idxmax() for at in range(len(ordered))
    ]
    return pd.Series([ordered[name].iloc[at] for at, name in enumerate(chosen)], index=ic.index)


def _rows(study: Study) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table per forecaster, and one for following the record."""
    earned = {name: annual_return(study.equity[name]) for name in study.equity}
    for name in study.ic:
        returns = [earned[name], earned[name] - earned[MOMENTUM], earned[name] - earned["index"]]
        yield str(name), *_told(study.ic[name], study.ic[MOMENTUM]), *(f"{100 * r:+.1f} %" for r in returns)
    yield RECORD, *_told(follow_the_record(study.ic), study.ic[MOMENTUM]), "", "", ""


def _told(ic: pd.Series[float], momentum: pd.Series[float]) -> tuple[str, ...]:
    """Return mean IC and t, and the mean difference from momentum with its interval."""
    less = (ic - momentum).dropna()
    low, high = stationary_bootstrap_interval(less)
    interval = f"{low:+.3f} to {high:+.3f}" if np.ptp(less) > 0.0 else ""
    return f"{ic.mean():.3f}", f"{newey_west_t(ic):.1f}", f"{less.mean():+.3f}", interval


def _folders() -> list[Path]:
    return [Path(folder) for folder in os.environ.get(TABLES, "").split(os.pathsep) if folder]
