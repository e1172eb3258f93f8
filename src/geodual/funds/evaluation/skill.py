"""What forecasters know: more than the baselines, more than chance, and more than momentum explains.

Without skill, the ICs of a day could as well have had the other sign: what was known before does not say in
which direction the market will go. So the record is compared with those in which the signs of random days
are turned. All series of a day are turned together, as they resemble each other.

A forecaster whose ranks resemble momentum's may only repeat it. So the map also shows the IC of the part of
its ranks that momentum does not explain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..config import StudyConfig
from ..decisions.observations import Observations
from ..forecasters.learning import centered_ranks
from ..forecasters.peers import ranks_within
from ..forecasters.registry import find_forecaster, is_known
from .statistics import corrected_p, newey_west_t, rank_correlations, simultaneous_interval, spearman_ic

_FLIPS = 9_999
_SEED = 0
_LEVEL = 0.05
_MIN_COUNT = 3  # fewest values for an interval
_CONSTANT = 1e-12  # spread, relative to the size of a series, that is rounding only
_TIE = 1e-9  # relative difference of means that is rounding only
MOMENTUM = "momentum"  # the forecaster that all others are compared with
_NOTHING = 1e-9  # share of the ranks' variance below which nothing is left
_DECIMALS = 9  # of the part that is left: ranks that tie must not differ by rounding
COLUMNS = (
    *("ic_mean", "t", "low", "high", "p", "n"),
    *("momentum", "rest_ic", "rest_low", "rest_high", "rest_p"),
)


@dataclass(frozen=True)
class AgainstBaseline:
    """The best of what was learned against the best baseline, on the same rebalance days.

    Attributes
    ----------
    learned, baseline : str
        The two names: each has the highest mean IC among its kind, over the days that all have in common.
    learned_ic, baseline_ic : float
        Their mean ICs over the rebalance days on which both have one.
    difference : float
        The first of these minus the second.
    low, high : float
        95 % interval of the difference, corrected as p is: it excludes zero if p is below 0.05.
    p : float
        Two-sided p-value of the difference, corrected for the choice of both; NaN if it cannot be known.
    n : int
        Number of rebalance days on which both have an IC.
    n_shared : int
        Number of those on which all have one, and the best were chosen.
    is_topped : bool
        Whether another baseline has a higher mean IC over the days that it has.
    """

    learned: str
    baseline: str
    learned_ic: float
    baseline_ic: float
    difference: float
    low: float
    high: float
    p: float
    n: int
    n_shared: int
    is_topped: bool


def learned_names(config: StudyConfig) -> tuple[str, ...]:
    """Return the names of those compared that learn from the past; ranking by single factors does not."""
    tables = config.forecasters if isinstance(config.forecasters, dict) else {}
    return tuple(name for name in config.compared if name not in config.baselines and _learns(name, tables))


def _learns(name: str, tables: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a forecaster learns: one of a table, a copy of another, or a registered one."""
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
    ic: pd.DataFrame, baseline_ic: pd.DataFrame, learned: tuple[str, ...], compared: pd.DataFrame
) -> AgainstBaseline | None:
    """Return the best of what was learned against the best baseline; None if one of the two is missing.

    Parameters
    ----------
    ic, baseline_ic : DataFrame
        Information coefficients, rebalance day × name.
    learned : tuple of str
        Names of those that learn from the past.
    compared : DataFrame
        From `compare_with_baselines`.
    """
    own = ic.reindex(columns=list(learned)).dropna(axis="columns", how="all")
    others = baseline_ic.dropna(axis="columns", how="all")
    if own.empty or others.empty:
        return None
    # A factor over 12 months is known later than others: what is compared must have the same days.
    shared = own.notna().all(axis=1) & others.notna().all(axis=1).reindex(own.index, fill_value=False)
    days = own.index[shared] if shared.any() else own.index
    best, rival = (str(table.reindex(days).mean().idxmax()) for table in (own, others))
    row = {key: float(compared[key][best, rival]) for key in ("difference", "low", "high", "p")}
    both = pd.DataFrame({"learned": own[best], "baseline": others[rival]}).dropna().mean()
    return AgainstBaseline(
        best,
        rival,
        learned_ic=float(both["learned"]),
        baseline_ic=float(both["baseline"]),
        **row,
        n=int(compared["n"][best, rival]),
        n_shared=len(days),
        is_topped=bool(others.mean().max() > both["baseline"]),
    )


def judge_means(series: pd.DataFrame, n_choices: int) -> pd.DataFrame:
    """Return intervals and p-values of several means that hold for all of them together.

    The largest |t| of all series is compared with its distribution over random signs (Westfall and Young's
    max-t method). In contrast to Student's distribution with Bonferroni's correction, this heeds that ICs of
    few days may have one size and two signs: then large t-statistics come about by chance more often.

    Parameters
    ----------
    series : DataFrame
        Information coefficients, rebalance day × name; NaN is left out.
    n_choices : int
        Number of series that were tried. If it is larger than the number of columns, p-values are multiplied
        by their ratio.

    Returns
    -------
    DataFrame
        By name: low, high (95 % intervals, within −1 and 1) and p. NaN for fewer than three values or a
        constant series. An interval excludes zero if and only if p is below 0.05.
    """
    values = series.to_numpy(float)
    known = np.isfinite(values)
    n, x = known.sum(axis=0), np.where(known, values, 0.0)
    mean = x.sum(axis=0) / np.maximum(n, 1)
    size = np.sqrt(np.square(x).sum(axis=0) / np.maximum(n, 1))
    spread = np.sqrt(np.square(np.where(known, values - mean, 0.0)).sum(axis=0) / np.maximum(n, 1))
    tested = (n >= _MIN_COUNT) & (spread > _CONSTANT * size)
    table = pd.DataFrame(np.nan, index=series.columns, columns=["low", "high", "p"])
    if not tested.any():
        return table
    n, x, mean, size, spread = n[tested], x[:, tested], mean[tested], size[tested], spread[tested]
    signs = np.random.default_rng(_SEED).choice([-1.0, 1.0], size=(_FLIPS, len(x)))
    largest = np.sort(_t(np.abs(signs @ x) / n, size, n).max(axis=1))[::-1]
    ratio = max(1.0, n_choices / len(n))
    # A little smaller, so that records with the same t count, whatever the rounding.
    t = _t((1.0 - _TIE) * np.abs(mean), size, n)
    p = ratio * (1.0 + np.searchsorted(-largest, -t, side="right")) / (1.0 + _FLIPS)
    # The smallest t with p < 0.05 lies above this one.
    at = int(np.ceil(_LEVEL / ratio * (1.0 + _FLIPS))) - 2
    half = (largest[at] if at >= 0 else np.inf) * spread / np.sqrt(n - 1.0)
    # If the record itself is that one, rounding must not push zero out of the interval.
    within = np.where(p < _LEVEL, -np.inf, np.abs(mean))
    half = np.maximum(half, within)
    low, high = np.maximum(mean - half, -1.0), np.minimum(mean + half, 1.0)
    table.loc[tested] = np.column_stack([low, high, np.minimum(p, 1.0)])
    return table


def _t(mean: np.ndarray, size: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return t-statistics of absolute means; the root mean square does not depend on the signs."""
    share = np.minimum(np.square(mean / size), 1.0 - 1e-15)
    return np.asarray(np.sqrt((n - 1.0) * share / (1.0 - share)))


def factor_ics(observations: Observations, rows: Sequence[int]) -> pd.DataFrame:
    """Return the information coefficients of every factor alone, decision day × factor.

    Funds are ranked by the z-scores that forecasters see, so a missing value counts as the mean.

    Parameters
    ----------
    observations : Observations
        What was known at each rebalance day.
    rows : sequence of int
        Positions of the decision days.

    Returns
    -------
    DataFrame
        NaN for the last day, whose returns are not known yet, and where all funds have the same value.
    """
    columns, last = observations.factors.columns, len(observations.days) - 1
    values = np.full((len(rows), len(columns)), np.nan)
    for i, t in enumerate(rows):
        if t < last:
            section = observations.sections[t]
            realized = observations.returns(t + 1).to_numpy(float)
            if len(section.groups):
                realized = ranks_within(realized, section.groups)
            known = np.isfinite(realized)
            features = section.features[known]
            values[i] = rank_correlations(features.T, realized[None, known])[:, 0]
    days = pd.DatetimeIndex(observations.days[list(rows)], name="date")
    return pd.DataFrame(values, index=days, columns=pd.Index(columns, name="forecaster"))


def unexplained_ic(forecast: ArrayLike, momentum: ArrayLike, realized: ArrayLike) -> float:
    """Return the IC of what momentum leaves of a forecast: of the residuals r − b m.

    r and m are the centered ranks of forecast and momentum, and b = (rᵀm)/(mᵀm).

    Parameters
    ----------
    forecast, momentum, realized : array of shape (n_funds,)
        Matched by position. Funds without three finite values are left out.

    Returns
    -------
    float
        NaN as in `spearman_ic`, and if momentum explains all.
    """
    given = np.column_stack([np.asarray(each, dtype=float) for each in (forecast, momentum, realized)])
    given = given[np.isfinite(given).all(axis=1)]
    if not len(given):
        return np.nan
    r, m = centered_ranks(given[:, 0]), centered_ranks(given[:, 1])
    rest = r - (r @ m) / (m @ m) * m if m @ m > 0.0 else r
    if rest @ rest <= _NOTHING * (r @ r):
        return np.nan
    return spearman_ic(np.round(rest, _DECIMALS), given[:, 2])


def compare_with_momentum(
    predictions: pd.DataFrame, momentum: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare forecasts with those of momentum, day by day.

    Parameters
    ----------
    predictions : DataFrame
        One row per decision and fund: date, forecaster, fund, forecast, realized.
    momentum : DataFrame
        The same of momentum alone.

    Returns
    -------
    alike, rest : DataFrame
        Decision day × forecaster: Spearman's correlation of the forecast with momentum's, and
        `unexplained_ic`.
    """
    known = momentum.set_index(["date", "fund"])["forecast"].rename(MOMENTUM)
    joined = predictions.join(known, on=["date", "fund"])
    alike, rest = {}, {}
    for key, group in joined.groupby(["date", "forecaster"], sort=False):
        alike[key] = spearman_ic(group["forecast"], group[MOMENTUM])
        rest[key] = unexplained_ic(group["forecast"], group[MOMENTUM], group["realized"])
    return pd.Series(alike, dtype=float).unstack(), pd.Series(rest, dtype=float).unstack()


def summarize_skill(
    ic: pd.DataFrame, n_choices: int, alike: pd.DataFrame | None = None, rest: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the rows of the skill map for some factors or forecasters.

    Parameters
    ----------
    ic : DataFrame
        Information coefficients, decision day × name, in order of time.
    n_choices : int
        Number of factors, or of forecasters and settings. Intervals hold for all of them together, and for
        their rests.
    alike, rest : DataFrame, optional
        From `compare_with_momentum`.

    Returns
    -------
    DataFrame
        By name: the columns of `COLUMNS`, as in `StudyTables.skill_map`.
    """
    if rest is not None:
        n_choices = 2 * n_choices  # each forecaster is tested twice: its IC, and that of the rest
    mean, t, n = ic.mean(), [newey_west_t(ic[name]) for name in ic], ic.count()
    table = _judge(ic, n_choices).assign(ic_mean=mean, t=t, n=n)
    if alike is not None and rest is not None:
        own = rest.reindex(index=ic.index, columns=ic.columns)
        table["momentum"], table["rest_ic"] = alike.reindex(index=ic.index).mean(), own.mean()
        table = table.join(_judge(own, n_choices).add_prefix("rest_"))
    table.index = pd.Index(map(str, table.index), name="name")
    table = table.reindex(columns=list(COLUMNS))
    return table.astype({column: int if column == "n" else float for column in COLUMNS})


def _judge(ic: pd.DataFrame, n_choices: int) -> pd.DataFrame:
    """Return the wider of two intervals and the larger of two p-values: by signs, and by Student's t.

    With few days the first heeds that ICs may have one size and two signs; the second heeds that they may
    depend on those before.
    """
    by_signs = judge_means(ic, n_choices)
    by_t = [(*simultaneous_interval(ic[name], n_choices), corrected_p(ic[name], n_choices)) for name in ic]
    low, high, p = np.array(by_t).reshape(-1, 3).T
    return pd.DataFrame(
        {
            "low": np.minimum(by_signs["low"], np.maximum(low, -1.0)),
            "high": np.maximum(by_signs["high"], np.minimum(high, 1.0)),
            "p": np.maximum(by_signs["p"], p),
        },
        index=by_signs.index,
    )
