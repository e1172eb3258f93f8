"""Fetch the levels of the CSI fund index."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from geodual.errors import DataError

from .akshare_source import Akshare

INDEX_CODE = "930950"  # the CSI index of equity and mixed funds that the paper compares with


def fetch_index(
    source: Akshare, first: pd.Timestamp, last: pd.Timestamp, known: Path, failures: dict[str, str]
) -> pd.Series:
    """Return the levels of the index between two days.

    Parameters
    ----------
    source : Akshare
        Source of the data.
    first, last : Timestamp
        First and last day.
    known : Path
        File with the levels of an earlier run, if there was one; they fill in for years that fail now.
    failures : dict
        Receives the errors, by year.

    Returns
    -------
    Series
        Levels by day.
    """
    parts = [_read_known(known)]
    # Year by year, since the site cuts long answers.
    for year in range(first.year, last.year + 1):
        opening, closing = max(first, pd.Timestamp(year, 1, 1)), min(last, pd.Timestamp(year, 12, 31))
        try:
            parts.append(source.fetch_index(INDEX_CODE, opening, closing))
        except DataError as error:
            failures[f"index {year}"] = str(error)
    index = pd.concat(parts)
    latest: pd.Series = index.loc[~index.index.duplicated(keep="last")].sort_index()
    return latest.loc[first:last].rename(INDEX_CODE)


def _read_known(path: Path) -> pd.Series:
    try:
        return pd.read_csv(path, index_col="date", parse_dates=["date"])[INDEX_CODE].astype(float)
    except (OSError, ValueError, KeyError):
        return pd.Series(dtype=float, index=pd.DatetimeIndex([]))
