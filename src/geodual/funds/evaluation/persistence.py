"""Persistence: whether the best funds of a calendar year are among the best of the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodual.arrays import Indices

from ..config import FREQUENCIES
from ..panel import Panel
from .statistics import newey_west_t, spearman_ic
from .trailing import year_returns

CLOSED = "closed"
_FEWEST = 10  # funds of a year: deciles need as many
_TENTHS = 10
_QUARTILES = ("1", "2", "3", "4")
_YEARLY = ("rank_correlation", "funds", CLOSED, "stay_top", "stay_bottom", "top_to_bottom")
_PARTS = {"monthly": 12, "quarterly": 4, "yearly": 1}  # holding intervals per year


@dataclass(frozen=True, eq=False)
class Persistence:
    """How the funds of each quartile of a year are distributed over the quartiles of the next year.

    Quartile 1 and decile 1 have the highest returns. A fund counts as closed if it has no return in the next
    year.

    Attributes
    ----------
    counts : DataFrame
        Number of funds, quartile of a year × quartile of the next ("1" to "4") and `closed`, over all years.
    years : DataFrame
        By the second year of each pair: rank_correlation (Spearman's, of funds with both returns), funds (of
        the first year), closed (share of them), stay_top, stay_bottom and top_to_bottom (shares of the
        quartile).
    deciles : DataFrame
        By decile of a year: excess (return in the next year less the mean of all funds with a return in both,
        mean over the years), t (Newey–West, over the years), closed (share), funds.

    See Also
    --------
    measure_persistence : Make it from net asset values.
    draw_persistence : Draw it.

    Examples
    --------
    >>> from geodual.funds import measure_persistence, synthetic_universe
    >>> found = measure_persistence(synthetic_universe(100, "2011-12-26", "2014-12-31").panel)
    >>> found.transitions.shape, found.deciles.index.tolist()
    ((4, 5), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    """

    counts: pd.DataFrame
    years: pd.DataFrame
    deciles: pd.DataFrame

    @property
    def transitions(self) -> pd.DataFrame:
        """The counts as shares of each quartile; rows add up to 1."""
        return self.counts.div(self.counts.sum(axis=1), axis=0)


def measure_persistence(nav: Panel | pd.DataFrame) -> Persistence:
    """Measure persistence: quartiles from year to year, rank correlations, and what deciles earned next.

    Parameters
    ----------
    nav : Panel or DataFrame
        Net asset values, day × fund. A fund has a return in a complete calendar year if it has values in the
        last week before its start and in its last week. If closed funds are missing from the table, the
        result describes survivors only.

    Returns
    -------
    Persistence
        Tables; without rows if no two complete years with ten funds follow each other.

    See Also
    --------
    measure_survivorship : Find out whether closed funds are missing.

    Examples
    --------
    >>> from geodual.funds import measure_persistence, synthetic_universe
    >>> found = measure_persistence(synthetic_universe(100, "2011-12-26", "2014-12-31").panel)
    >>> found.years.index.tolist(), int(found.counts.loc["1"].sum())
    ([2013, 2014], 47)
    """
    return compare_years(year_returns(nav.nav if isinstance(nav, Panel) else nav))


def compare_years(returns: pd.DataFrame) -> Persistence:
    """Return the persistence of returns, year × fund, NaN where a fund has none."""
    years, counts, rows, tenths = [int(year) for year in returns.index], np.zeros((4, 5), int), {}, []
    for year in years:
        if year + 1 not in years:
            continue
        before, after = (pd.Series(returns.loc[each], dtype=float).dropna() for each in (year, year + 1))
        if min(len(before), len(after)) < _FEWEST:
            continue
        found = _count(before, after)
        counts += found
        rows[year + 1] = _describe(found, before, after)
        tenths.append(_by_decile(before, after))
    quartiles = pd.Index(_QUARTILES, name="quartile")
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(_YEARLY)).astype(float)
    return Persistence(
        pd.DataFrame(counts, quartiles, pd.Index([*_QUARTILES, CLOSED], name="next")),
        table.rename_axis("year"),
        _summarize(pd.concat(tenths) if tenths else pd.DataFrame(columns=["excess", CLOSED, "funds"])),
    )


def returns_by_year(predictions: pd.DataFrame, frequency: str) -> pd.DataFrame:
    """Return the returns of calendar years, year × fund, from the realized returns of a study.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund, forecaster and rebalance day: date, forecaster, fund, realized.
    frequency : str
        "monthly", "quarterly" or "yearly": how often the study rebalances.

    Returns
    -------
    DataFrame
        Only years with all their holding intervals; NaN for a fund without a return in one of them.
    """
    first = predictions[predictions["forecaster"] == predictions["forecaster"].min()]
    table = first.pivot(index="date", columns="fund", values="realized").dropna(how="all")
    # An interval belongs to the period after the rebalance day, which is the last of a period.
    days = pd.DatetimeIndex(table.index)
    years = (days.to_period(FREQUENCIES[frequency]) + 1).year
    parts = {year: 1.0 + group for year, group in table.groupby(years) if len(group) == _PARTS[frequency]}
    compounded = {year: part.prod(skipna=False) - 1.0 for year, part in parts.items()}
    return pd.DataFrame.from_dict(compounded, orient="index", columns=table.columns).rename_axis("year")


def fractions(returns: pd.Series[float], n: int) -> pd.Series[int]:
    """Return the part of n of each fund, from 1 (highest returns) to n; equal returns share a part."""
    ranks = returns.rank(ascending=False).to_numpy(float)
    parts = np.minimum(np.ceil(ranks * n / max(len(returns), 1)), n)
    return pd.Series(parts.astype(int), index=returns.index)


def _count(before: pd.Series[float], after: pd.Series[float]) -> Indices:
    """Return the number of funds by quartile of the first year, and of the second year or closed."""
    first = fractions(before, 4).to_numpy()
    second = fractions(after, 4).reindex(before.index).fillna(5).astype(int).to_numpy()
    counts = np.zeros((4, 5), dtype=np.intp)
    np.add.at(counts, (first - 1, second - 1), 1)
    return counts


def _describe(counts: Indices, before: pd.Series[float], after: pd.Series[float]) -> list[float]:
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    both = before.index.intersection(after.index)
    correlation = spearman_ic(before[both], after[both])
    closed = counts[:, -1].sum() / len(before)
    return [correlation, len(before), float(closed), share[0, 0], share[3, 3], share[0, 3]]


def _by_decile(before: pd.Series[float], after: pd.Series[float]) -> pd.DataFrame:
    later = after.reindex(before.index)
    table = pd.DataFrame({"excess": later - later.mean(), CLOSED: later.isna(), "funds": 1})
    groups = table.groupby(fractions(before, _TENTHS).rename("decile"))
    return groups.agg({"excess": "mean", CLOSED: "sum", "funds": "sum"})


def _summarize(tenths: pd.DataFrame) -> pd.DataFrame:
    groups = tenths.groupby(level=0)
    funds = groups["funds"].sum()
    table = {
        "excess": groups["excess"].mean(),
        "t": groups["excess"].agg(newey_west_t),
        CLOSED: groups[CLOSED].sum() / funds,
        "funds": funds,
    }
    return pd.DataFrame(table).rename_axis("decile").rename_axis(columns=None)
