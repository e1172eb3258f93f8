"""Persistence: whether the best funds of a calendar year are among the best of the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..panel import Panel
from .statistics import newey_west_t, spearman_ic
from .trailing import year_returns

CLOSED = "closed"
_FEWEST = 10  # funds of a year: deciles need as many
_QUARTERS, _TENTHS = 4, 10


@dataclass(frozen=True, eq=False)
class Persistence:
    """Where the funds of each quartile of a year are found in the next year.

    Quartile 1 and decile 1 have the highest returns. A fund counts as closed if it has no return in the next
    year.

    Attributes
    ----------
    counts : DataFrame
        Number of funds, quartile of a year × quartile of the next (1 to 4) and `closed`, over all years.
    years : DataFrame
        By the second year of each pair: rank_correlation (Spearman's, of the funds with returns in both), funds
        (of the first year), closed (share of them), stay_top, stay_bottom and top_to_bottom (shares of the
        quartile).
    deciles : DataFrame
        By decile of a year: excess (return in the next year less the mean of all funds with a return in both,
        mean over the years), t (Newey–West, over the years), closed (share), funds.

    See Also
    --------
    measure_persistence : Make it from net asset values.
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
        last week before its start and in its last week. Where closed funds are missing from the table, the
        result is of survivors only.

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
    >>> found.years.index.tolist(), found.counts.loc[1].sum()
    ([2013, 2014], np.int64(50))
    """
    return compare_years(year_returns(nav.nav if isinstance(nav, Panel) else nav))


def compare_years(returns: pd.DataFrame) -> Persistence:
    """Return the persistence of returns, year × fund, NaN where a fund has none; gaps between years count."""
    pairs = [
        (year, before.dropna(), returns.loc[year + 1].dropna())
        for year, before in returns.iterrows()
        if year + 1 in returns.index
    ]
    pairs = [pair for pair in pairs if min(len(pair[1]), len(pair[2])) >= _FEWEST]
    rows, counts, tenths = [], np.zeros((_QUARTERS, _QUARTERS + 1), dtype=int), []
    for year, before, after in pairs:
        found = _count(before, after)
        counts += found
        rows.append({"year": int(year) + 1, **_describe(found, before, after)})
        tenths.append(_by_decile(before, after).assign(year=int(year) + 1))
    quartiles = pd.RangeIndex(1, _QUARTERS + 1)
    columns = pd.Index([*quartiles, CLOSED], dtype=object, name="next")
    return Persistence(
        pd.DataFrame(counts, quartiles.rename("quartile"), columns),
        pd.DataFrame(rows, columns=["year", *_YEARLY]).set_index("year"),
        _summarise(pd.concat(tenths) if tenths else pd.DataFrame(columns=["excess", "closed", "funds", "year"])),
    )


_YEARLY = ("rank_correlation", "funds", CLOSED, "stay_top", "stay_bottom", "top_to_bottom")


def fractions(returns: pd.Series[float], n: int) -> pd.Series[int]:
    """Return the part of n of each fund, from 1 (highest returns) to n; equal returns are in the same part."""
    ranks = returns.rank(ascending=False)
    return np.ceil(ranks * n / len(returns)).clip(upper=n).astype(int)


def _count(before: pd.Series[float], after: pd.Series[float]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the number of funds by quartile of the first year, and of the second year or closed."""
    first = fractions(before, _QUARTERS)
    second = fractions(after, _QUARTERS).reindex(before.index).fillna(_QUARTERS + 1).astype(int)
    counts = np.zeros((_QUARTERS, _QUARTERS + 1), dtype=np.int64)
    np.add.at(counts, (first.to_numpy() - 1, second.to_numpy() - 1), 1)
    return counts


def _describe(
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]], before: pd.Series[float], after: pd.Series[float]
) -> dict[str, float]:
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    both = before.index.intersection(after.index)
    return {
        "rank_correlation": spearman_ic(before[both], after[both]),
        "funds": len(before),
        CLOSED: float(counts[:, -1].sum() / len(before)),
        "stay_top": float(share[0, 0]),
        "stay_bottom": float(share[-1, _QUARTERS - 1]),
        "top_to_bottom": float(share[0, _QUARTERS - 1]),
    }


def _by_decile(before: pd.Series[float], after: pd.Series[float]) -> pd.DataFrame:
    later = after.reindex(before.index)
    table = pd.DataFrame({"excess": later - later.mean(), CLOSED: later.isna(), "funds": 1})
    groups = table.groupby(fractions(before, _TENTHS).rename("decile"))
    return groups.agg({"excess": "mean", CLOSED: "sum", "funds": "sum"})


def _summarise(tenths: pd.DataFrame) -> pd.DataFrame:
    groups = tenths.groupby(level=0)
    funds = groups["funds"].sum()
    table = {
        "excess": groups["excess"].mean(),
        "t": groups["excess"].agg(newey_west_t),
        CLOSED: groups[CLOSED].sum() / funds,
        "funds": funds,
    }
    return pd.DataFrame(table).rename_axis("decile").rename_axis(columns=None)
