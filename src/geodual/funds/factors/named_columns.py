"""Single factors by the name of their column, such as ``sharpe_90``, also those that a study does not use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError

from ..panel import Panel
from .compute import compute_factors
from .factor import FactorSet
from .registry import FACTORS

_MONTHS = re.compile(r"return_(\d{1,3})m")


def compute_columns(
    panel: Panel, days: pd.DatetimeIndex, names: Iterable[str], factors: FactorSet
) -> dict[str, Array]:
    """Compute single factors for all funds on some days, each from the NAVs up to its day only.

    Parameters
    ----------
    panel : Panel
        Net asset values.
    days : DatetimeIndex
        Days; they must be rows of the panel.
    names : iterable of str
        Name and window of a factor, such as "sharpe_90"; or "return_12m" for the return over 12 months, which
        is not among the factors of the paper.
    factors : FactorSet
        The factors of the study: factors of one's own are found in it.

    Returns
    -------
    dict of str to array of shape (n_days, n_funds)
        Raw values by name, NaN where a factor is not defined.
    """
    computed = {}
    for name in dict.fromkeys(names):
        if found := _MONTHS.fullmatch(name):
            computed[name] = return_over_months(panel.nav, days, int(found[1]))
        else:
            table = compute_factors(panel, days, _find_column(name, factors))
            computed[name] = table.to_numpy(float).reshape(len(days), panel.nav.shape[1])
    return computed


def return_over_months(nav: pd.DataFrame, days: pd.DatetimeIndex, months: int) -> Array:
    """Return what funds earned over the last months before each day, shape (n_days, n_funds).

    It is P_t / P_s − 1 with the last values up to the day and up to the day that many months earlier; NaN if
    a fund has no value that early.
    """
    filled = nav.where((nav > 0.0) & np.isfinite(nav)).ffill()
    ends = np.asarray(filled.index.searchsorted(days, side="right")) - 1
    starts = np.asarray(filled.index.searchsorted(days - pd.DateOffset(months=months), side="right")) - 1
    values = filled.to_numpy(float)
    # A start before the first row has the position −1, which would be the last row.
    before = np.where((starts >= 0)[:, None], values[np.maximum(starts, 0)], np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(values[ends] / before - 1.0)


def _find_column(name: str, factors: FactorSet) -> FactorSet:
    kind, _, window = name.rpartition("_")
    known = FACTORS | {factor.name: factor for factor in factors.factors}
    if kind not in known or not window.isdecimal() or int(window) < 1:
        raise DataError(
            f"`factor`: {name!r} is not a factor with a window; write one such as sharpe_90 or return_12m. "
            f"Known are {', '.join(known)}."
        )
    return FactorSet((replace(known[kind], windows=(int(window),)),))
