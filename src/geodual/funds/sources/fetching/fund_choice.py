"""Choose the funds to fetch: by kind and by size."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from geodual.errors import DataError

from .akshare_source import SIZE_CLASSES, Akshare


def choose_funds(
    source: Akshare, kinds: Sequence[str], minimum_size: float, limit: int | None, failures: dict[str, str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the funds to fetch, and the numbers of funds listed, left out and chosen.

    Parameters
    ----------
    source : Akshare
        Source of the data.
    kinds : sequence of str
        Beginnings of the types to take.
    minimum_size : float
        Funds known to be smaller, in yuan, are left out.
    limit : int or None
        Take at most this number of funds.
    failures : dict
        Receives the errors, by class of funds.

    Returns
    -------
    meta : DataFrame
        Columns `name`, `type` and `size`, by code.
    counts : dict of str to int
        The fields `listed`, `unwanted`, `small`, `unknown_size` and `wanted` of the summary.
    """
    listed = source.list_funds().set_index("code")
    back_end = listed["name"].str.contains("后端")  # back-end classes repeat the NAVs of another code
    chosen = listed[listed["type"].str.startswith(tuple(kinds)) & ~back_end]
    if chosen.empty:
        raise DataError(
            f"None of the {len(listed)} listed funds is of the kinds {', '.join(kinds)}; change `kinds`."
        )
    chosen = chosen.assign(size=_fetch_sizes(source, failures).reindex(chosen.index))
    # Written as "not smaller", the condition keeps funds of unknown size (NaN).
    meta = chosen[~(chosen["size"] < minimum_size)].sort_index().iloc[:limit]
    return meta, {
        "listed": len(listed),
        "unwanted": len(listed) - len(chosen),
        "small": int((chosen["size"] < minimum_size).sum()),
        "unknown_size": int(meta["size"].isna().sum()),
        "wanted": len(meta),
    }


def _fetch_sizes(source: Akshare, failures: dict[str, str]) -> pd.Series:
    """Return the known sizes by code; a class that cannot be fetched is recorded in `failures`."""
    parts = [pd.Series(dtype=float, index=pd.Index([], dtype=str))]
    for size_class in SIZE_CLASSES:
        try:
            parts.append(source.fetch_sizes(size_class))
        except DataError as error:
            failures[f"size {size_class}"] = str(error)
    size: pd.Series = pd.concat(parts)
    return size.loc[~size.index.duplicated()]
