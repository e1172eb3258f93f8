"""The funds of one day: which belong to the universe, and their standardised factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodual.arrays import Array

_LIMIT = 3.0  # z-scores are clipped to ±3, so that one outlier cannot dominate a distance


@dataclass(frozen=True, eq=False)
class CrossSection:
    """The universe of one day with its standardised factors.

    Attributes
    ----------
    day : Timestamp
        The day.
    funds : Index
        Funds with a value on that day and a history long enough for every factor.
    features : array of shape (n_funds, n_factors)
        z-scores across these funds, clipped to ±3; 0 where a factor is missing.
    coverage : float
        Share of the factors that are not missing.
    """

    day: pd.Timestamp
    funds: pd.Index[str]
    features: Array
    coverage: float


def take_cross_section(
    nav: pd.DataFrame, factors: Array, day: pd.Timestamp, values_needed: int
) -> CrossSection:
    """Return the universe of a day, without looking at later rows.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        NAVs, day × fund.
    factors : array of shape (n_funds, n_factors)
        Factors of the day, in the order of the columns of `nav`.
    day : Timestamp
        A row of `nav`.
    values_needed : int
        Number of values that a fund must have before every factor is defined.
    """
    known = nav.loc[:day].notna().to_numpy()
    member = known[-1] & (known.sum(axis=0) >= values_needed)
    raw = factors[member]
    coverage = float(np.isfinite(raw).mean()) if raw.size else 0.0
    return CrossSection(day, nav.columns[member], standardised(raw), coverage)


def standardised(raw: Array) -> Array:
    """Return z-scores by column, clipped to ±3; 0 where a value is missing or a column is constant."""
    known = np.isfinite(raw)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, raw, 0.0)
    centred = np.where(known, raw - centred.sum(axis=0) / count, 0.0)
    # Scaling by the largest value first keeps the squares from overflowing or vanishing.
    size = np.maximum(np.abs(centred).max(axis=0, initial=0.0), np.finfo(float).tiny)
    spread = size * np.sqrt(np.square(centred / size).sum(axis=0) / count)
    # A spread that is only rounding error means that the column is constant.
    negligible = spread <= 1e-12 * np.abs(np.where(known, raw, 0.0)).max(axis=0, initial=0.0)
    scores = centred / np.where(negligible | (spread == 0.0), np.inf, spread)
    return np.asarray(np.clip(scores, -_LIMIT, _LIMIT))
