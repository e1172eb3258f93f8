"""The skill map: what every factor alone knows, what every forecaster knows, and what momentum does not.

A forecaster whose ranks resemble momentum's may only repeat it. So the map also shows the IC of the part of
its ranks that momentum does not explain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..decisions.observations import Observations
from ..forecasters.learning import centred_ranks
from .sign_flips import judge_means
from .simultaneous_interval import simultaneous_interval
from .statistics import corrected_p, newey_west_t, rank_correlations, spearman_ic

MOMENTUM = "momentum"  # the forecaster that all others are compared with
_NOTHING = 1e-9  # share of the ranks' variance below which nothing is left
_DECIMALS = 9  # of the part that is left: ranks that tie must not differ by rounding
COLUMNS = (
    *("ic_mean", "t", "low", "high", "p", "n"),
    *("momentum", "rest_ic", "rest_low", "rest_high", "rest_p"),
)


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
            realised = observations.returns(t + 1).to_numpy(float)
            known = np.isfinite(realised)
            features = observations.sections[t].features[known]
            values[i] = rank_correlations(features.T, realised[None, known])[:, 0]
    days = pd.DatetimeIndex(observations.days[list(rows)], name="date")
    return pd.DataFrame(values, index=days, columns=pd.Index(columns, name="forecaster"))


def unexplained_ic(forecast: ArrayLike, momentum: ArrayLike, realised: ArrayLike) -> float:
    """Return the IC of what momentum leaves of a forecast: of the residuals r − b m.

    r and m are the centred ranks of forecast and momentum, and b = (rᵀm)/(mᵀm).

    Parameters
    ----------
    forecast, momentum, realised : array of shape (n_funds,)
        Matched by position. Funds without three finite values are left out.

    Returns
    -------
    float
        NaN as in `spearman_ic`, and if momentum explains all.
    """
    given = np.column_stack([np.asarray(each, dtype=float) for each in (forecast, momentum, realised)])
    given = given[np.isfinite(given).all(axis=1)]
    if not len(given):
        return np.nan
    r, m = centred_ranks(given[:, 0]), centred_ranks(given[:, 1])
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
        One row per decision and fund: date, forecaster, fund, forecast, realised.
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
        rest[key] = unexplained_ic(group["forecast"], group[MOMENTUM], group["realised"])
    return pd.Series(alike, dtype=float).unstack(), pd.Series(rest, dtype=float).unstack()


def summarise_skill(
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
        By name: the columns of `COLUMNS`, as `StudyTables.skill_map` tells.
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
