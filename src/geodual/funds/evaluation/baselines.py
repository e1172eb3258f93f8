"""The baselines of a study, and whether what was learnt beats them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..forecasters.registry import find_forecaster, is_known
from .simultaneous_interval import simultaneous_interval
from .statistics import corrected_p, newey_west_t


@dataclass(frozen=True)
class AgainstBaseline:
    """The best of what was learnt against the best baseline, on the same rebalance days.

    Attributes
    ----------
    learnt, baseline : str
        The two names: each has the highest mean IC among its kind, over the days that all have in common.
    learnt_ic, baseline_ic : float
        Their mean ICs over the rebalance days on which both have one.
    difference : float
        The first of these minus the second.
    low, high : float
        95 % interval of the difference, corrected as p is: it excludes zero if p is below 0.05.
    p : float
        Two-sided p-value of the difference, corrected for the choice of both; NaN if it cannot be known.
    n : int
        Number of rebalance days on which both have an IC.
    """

    learnt: str
    baseline: str
    learnt_ic: float
    baseline_ic: float
    difference: float
    low: float
    high: float
    p: float
    n: int


def learnt_names(config: StudyConfig) -> tuple[str, ...]:
    """Return the names of those compared that learn from the past; ranking by single factors does not."""
    tables = config.forecasters if isinstance(config.forecasters, dict) else {}
    return tuple(name for name in config.compared if name not in config.baselines and _learns(name, tables))


def _learns(name: str, tables: Mapping[str, Mapping[str, Any]]) -> bool:
    """Tell whether a forecaster learns: one of a table, a copy of another, or a registered one."""
    table = tables.get(name, {})
    if "factor" in table:
        return False
    # Without its own table, so that a table that copies itself ends here.
    others = {other: settings for other, settings in tables.items() if other != name}
    if "members" in table:
        return any(_learns(member, others) for member in table["members"])
    if "like" in table:
        return _learns(table["like"], others)
    return not is_known(name) or find_forecaster(name).learns or bool({"metric", "estimator"} & set(table))


def compare_with_baselines(ic: pd.DataFrame, baseline_ic: pd.DataFrame, n_choices: int) -> pd.DataFrame:
    """Compare each forecaster with each baseline, paired by rebalance day.

    Parameters
    ----------
    ic, baseline_ic : DataFrame
        Information coefficients, rebalance day × name, in order of time.
    n_choices : int
        Number of forecasters and settings that the best was chosen from.

    Returns
    -------
    DataFrame
        One row per pair, indexed by (forecaster, baseline): difference (mean IC of forecaster minus that of
        baseline), t (Newey–West), low, high (95 % interval), p (two-sided), n (number of shared rebalance
        days). Interval and p are corrected for the choice among forecasters, settings and baselines.
    """
    columns = ["difference", "t", "low", "high", "p", "n"]
    rows: dict[tuple[str, str], tuple[float, ...]] = {}
    n_pairs = n_choices * baseline_ic.shape[1]
    for name in ic:
        for baseline in baseline_ic:
            paired = ic[name] - baseline_ic[baseline].reindex(ic.index)
            interval, p = simultaneous_interval(paired, n_pairs), corrected_p(paired, n_pairs)
            row = paired.mean(), newey_west_t(paired), *interval, p, paired.count()
            rows[str(name), str(baseline)] = row
    index = pd.MultiIndex.from_tuples(rows, names=["forecaster", "baseline"])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns).astype({"n": int})


def choose_rivals(
    ic: pd.DataFrame, baseline_ic: pd.DataFrame, learnt: tuple[str, ...], compared: pd.DataFrame
) -> AgainstBaseline | None:
    """Return the best of what was learnt against the best baseline; None if one of the two is missing.

    Parameters
    ----------
    ic, baseline_ic : DataFrame
        Information coefficients, rebalance day × name.
    learnt : tuple of str
        Names of those that learn from the past.
    compared : DataFrame
        From `compare_with_baselines`.
    """
    own = ic.reindex(columns=list(learnt)).dropna(axis="columns", how="all")
    others = baseline_ic.dropna(axis="columns", how="all")
    if own.empty or others.empty:
        return None
    # A factor over 12 months is known later than others: what is compared must have the same days.
    shared = own.notna().all(axis=1) & others.notna().all(axis=1).reindex(own.index, fill_value=False)
    days = own.index[shared] if shared.any() else own.index
    best, rival = (str(table.reindex(days).mean().idxmax()) for table in (own, others))
    row = {key: float(compared[key][best, rival]) for key in ("difference", "low", "high", "p")}
    both = pd.DataFrame({"learnt": own[best], "baseline": others[rival]}).dropna().mean()
    return AgainstBaseline(
        best,
        rival,
        learnt_ic=float(both["learnt"]),
        baseline_ic=float(both["baseline"]),
        **row,
        n=int(compared["n"][best, rival]),
    )
