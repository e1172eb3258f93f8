"""Concentration of picks: many of one type, of one company, or that move together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from geodual.arrays import Array, Indices

from ..calendar import DAYS_PER_YEAR, rows_in, rows_per_year
from ..language import phrase

# Two funds with this correlation share 81 % of their variance: holding both in place of one lowers the
# volatility by 1 − √((1 + 0.9)/2), less than 3 %.
TOGETHER = 0.9
CONCENTRATION = "Concentration: "  # how a note on it begins
_SHARE = 0.4  # of the picks; if four of ten funds are as one, the others decide little more than half
_FEWEST = 3  # picks
_LEAST_ROWS = 36  # of a monthly table, over which correlations are measured; else those of a year
_ENOUGH = 60  # trading days of these on which both funds must have returns: about a quarter
_ENOUGH_ROWS = 12  # the same for weekly and monthly tables


def tell_concentration(
    picks: Sequence[str], nav: pd.DataFrame, types: Mapping[str, str], companies: Mapping[str, str]
) -> list[str]:
    """Return what many of the picks have in common: their type, their company, or how they move.

    Parameters
    ----------
    picks : sequence of str
        The funds picked.
    nav : DataFrame
        Day × fund, up to the day of the decision.
    types, companies : mapping of str to str
        Of the funds for which they are known.

    Returns
    -------
    list of str
        Parts of a sentence, such as "5 of 10 are of the type pharma"; none if nothing is concentrated.
    """
    told = []
    texts = (
        (types, phrase("{n} of {n_picks} are of the type {kind}")),
        (companies, phrase("{n} of {n_picks} are of the company {company}")),
    )
    for kinds, text in texts:
        named = Counter(kinds[fund] for fund in picks if fund in kinds)
        for kind, n in named.most_common(1):
            if _is_many(n, len(picks)):
                told.append(phrase(text, n=n, n_picks=len(picks), kind=kind, company=kind))
    correlations = _correlations(nav[list(picks)])
    cluster = largest_cluster(correlations)
    if _is_many(len(cluster), len(picks)):
        among = correlations[np.ix_(cluster, cluster)][np.triu_indices(len(cluster), 1)]
        told.append(
            phrase(
                "{n} of {n_picks} move together (mean correlation {n_mean:.2f})",
                n=len(cluster),
                n_picks=len(picks),
                n_mean=among.mean(),
            )
        )
    return told


def _is_many(n: int, n_picks: int) -> bool:
    return n >= _FEWEST and n >= _SHARE * n_picks


def _correlations(nav: pd.DataFrame) -> Array:
    """Return the correlations of returns over the last year; 0 where they are not known."""
    per_year = rows_per_year(nav.index)
    rows, enough = rows_in(DAYS_PER_YEAR, per_year, _LEAST_ROWS), rows_in(_ENOUGH, per_year, _ENOUGH_ROWS)
    returns = nav.iloc[-rows - 1 :].pct_change(fill_method=None)
    found = returns.corr(min_periods=enough).to_numpy(float)
    return np.where(np.isfinite(found), found, 0.0)


def largest_cluster(correlations: Array) -> Indices:
    """Return the rows of the largest group of funds of which each two have a correlation of 0.9 or more.

    Parameters
    ----------
    correlations : array of shape (n, n)
        Symmetric, finite.

    Returns
    -------
    array of int
        Found by complete linkage, and so not always the largest possible.
    """
    if len(correlations) < 2:
        return np.arange(len(correlations))
    apart = 1.0 - correlations
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(np.clip(apart, 0.0, None), checks=False), method="complete")
    labels = fcluster(tree, 1.0 - TOGETHER, criterion="distance")
    return np.asarray(np.flatnonzero(labels == np.bincount(labels).argmax()))
