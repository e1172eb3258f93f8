"""Peer groups: which funds are compared with each other, and ranks within these groups.

A bond fund that ranks first among bond funds is as good a find as the first of the equity funds, although it
earned less. Where the types of funds are known, funds are compared within their type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from geodual.arrays import Array

from ..config import StudyConfig

FEWEST_PEERS = 10  # funds of a type from which it is a group of its own: as many as a study needs to decide
OTHER = "other"  # the group of the types with fewer funds, and of funds whose type is not known

Groups = NDArray[np.str_]


def types_compared(config: StudyConfig, types: Mapping[str, str], funds: Iterable[str]) -> dict[str, str]:
    """Return the type of each fund if funds are compared within types; nothing if all are of one kind.

    Parameters
    ----------
    config : StudyConfig
        The setting `relative_to`.
    types : mapping of str to str
        Types by fund, as far as they are known.
    funds : iterable of str
        All funds of the study.
    """
    of_funds = {fund: types.get(fund, OTHER) for fund in funds}
    several = config.relative_to == "type" and len(set(of_funds.values())) > 1
    return of_funds if several else {}


def types_of_study(config: StudyConfig, facts: pd.DataFrame) -> dict[str, str]:
    """Return `types_compared` of a study with these facts: one row per fund, by code.

    Parameters
    ----------
    config : StudyConfig
        The settings.
    facts : DataFrame
        With a column `type`, missing where unknown; or empty.
    """
    known = facts["type"].dropna() if "type" in facts else pd.Series(dtype=str)
    return types_compared(config, {str(fund): kind for fund, kind in known.items()}, facts.index)


def peer_groups(funds: Iterable[str], types: Mapping[str, str]) -> Groups:
    """Return the peer group of each fund of a day: its type, or "other" if fewer than ten are of this type.

    Parameters
    ----------
    funds : iterable of str
        The universe of the day.
    types : mapping of str to str
        From `types_compared`.

    Returns
    -------
    array of shape (n_funds,)
        Empty if funds are not compared within types.
    """
    if not types:
        return np.empty(0, dtype=str)
    own = [types.get(fund, OTHER) for fund in funds]
    count = Counter(own)
    return np.array([kind if count[kind] >= FEWEST_PEERS else OTHER for kind in own], dtype=str)


def rows_of_groups(groups: Groups, n: int) -> list[NDArray[np.intp]]:
    """Return the rows of each group; all n rows without groups."""
    if not len(groups):
        return [np.arange(n)]
    return [np.flatnonzero(groups == each) for each in np.unique(groups)]


def average_ranks(values: Array) -> Array:
    """Return the ranks of values, from 1; equal values get their mean rank.

    The result is that of `scipy.stats.rankdata`, which takes five times as long for a few hundred values.

    Parameters
    ----------
    values : array of shape (n,)
        Without missing values.
    """
    order = values.argsort(kind="stable")
    ordered = values[order]
    is_new = np.ones(len(values), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    ends = np.append(np.flatnonzero(is_new), len(values))  # of the runs of equal values
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(0.5 * (ends[1:] + ends[:-1] + 1), np.diff(ends))
    return ranks


def ranks_within(values: ArrayLike, groups: Groups) -> Array:
    """Return the rank of each value in its group, (rank − (n + 1)/2) / n; NaN where a value is missing.

    Ranks lie between −½ (lowest) and ½; ties get their mean. The first of a few has a lower rank than the
    first of many: ¼ of two funds, and 0 if a fund is alone.

    Parameters
    ----------
    values : array of shape (n,)
        What to rank.
    groups : array of shape (n,)
        The group of each; empty if all belong together.
    """
    given = np.asarray(values, dtype=float)
    ranks = np.full(len(given), np.nan)
    for rows in rows_of_groups(groups, len(given)):
        known = rows[~np.isnan(given[rows])]
        n = len(known)
        ranks[known] = (average_ranks(given[known]) - (n + 1.0) / 2.0) / max(n, 1)
    return ranks


def rank_predictions(predictions: pd.DataFrame, types: Mapping[str, str], *columns: str) -> pd.DataFrame:
    """Return predictions with some columns as ranks within the peer groups of each day.

    Parameters
    ----------
    predictions : DataFrame
        One row per decision and fund; each decision has all funds of its universe.
    types : mapping of str to str
        From `types_compared`; without any, the predictions are returned as they are.
    *columns : str
        The columns to rank, such as "forecast" and "realized".
    """
    if not types or predictions.empty:
        return predictions
    kinds = predictions["fund"].map(types).fillna(OTHER)
    decision = [predictions["date"], predictions["forecaster"]]
    size = kinds.groupby([*decision, kinds]).transform("size")
    groups = [*decision, kinds.where(size >= FEWEST_PEERS, OTHER)]
    ranked = {}
    for name in columns:
        own = predictions[name].groupby(groups)
        n = own.transform("count")
        ranked[name] = (own.rank() - (n + 1.0) / 2.0) / n
    return predictions.assign(**ranked)
