"""Adjust published unit NAVs: reinvest dividends and undo splits."""

from __future__ import annotations

import numpy as np
import pandas as pd

# Growth is published with two decimals of a percent, NAVs with three or four: a larger difference between
# the two is a payment.
_ROUNDING = 5e-4
_JUMP = 0.1  # the daily limit of most Chinese stocks: a larger move that the NAV does not show is a misprint


def adjust_nav(history: pd.DataFrame, events: pd.DataFrame | None = None) -> pd.DataFrame:
    r"""Chain the daily returns of a fund, with all distributions reinvested.

    With unit NAV :math:`u_t`, cash :math:`c_t` and split ratio :math:`s_t` recorded for day t, the return is

    .. math:: r_t = (s_t u_t + c_t)/u_{t-1} - 1, \qquad A_t = A_{t-1}(1 + r_t), \quad A_0 = 1.

    If the published growth differs from it by more than rounding, a payment or split is missing in the
    record, and the growth is taken as the return. A growth or a record that implies a move of more than 10 %
    which the unit NAV does not show is a misprint and is not used.

    Parameters
    ----------
    history : DataFrame
        Columns `date`, `unit_nav` and `growth` (percent, as published), in any order of days.
    events : DataFrame, optional
        Columns `date`, `cash` per unit and `split` (new units for one). An event counts on the first day with
        a NAV on or after its date.

    Returns
    -------
    DataFrame
        The rows in the order of days, with the additional column `adjusted`. It is missing in rows that have
        no positive NAV or are corrected by a later row; such rows are skipped.
    """
    table = history.sort_values("date", kind="stable", ignore_index=True)
    usable = _find_usable(table)
    rows = table[usable]
    unit = rows["unit_nav"].to_numpy(float)
    adjusted = np.full(len(table), np.nan)
    if len(rows):
        cash, split = _place_events(rows["date"], events)
        before = unit[:-1]
        plain = unit[1:] / before - 1
        recorded = (split[1:] * unit[1:] + cash[1:]) / before - 1
        growth = _read_growth(table, usable)[1:]
        returns = np.where(_is_plausible(recorded, plain), recorded, plain)
        published = _is_plausible(growth, plain) & (np.abs(growth - returns) > _ROUNDING)
        adjusted[usable] = np.cumprod(np.append(1.0, 1 + np.where(published, growth, returns)))
    return table.assign(adjusted=adjusted)


def needs_events(history: pd.DataFrame) -> bool:
    """Tell whether the growth of a day is not published, so that only the record shows a payment or split.

    Parameters
    ----------
    history : DataFrame
        Columns `date`, `unit_nav` and `growth` (percent, as published).

    Returns
    -------
    bool
        Whether any day except the first has no growth.
    """
    table = history.sort_values("date", kind="stable", ignore_index=True)
    return bool(np.isnan(_read_growth(table, _find_usable(table))[1:]).any())


def _find_usable(table: pd.DataFrame) -> np.ndarray:
    """Mark the last row of each day, if its NAV is a positive number."""
    unit = table["unit_nav"].to_numpy(float)
    positive: np.ndarray = np.isfinite(unit) & (unit > 0)
    return positive & ~table["date"].where(positive).duplicated(keep="last").to_numpy(bool)


def _read_growth(table: pd.DataFrame, usable: np.ndarray) -> np.ndarray:
    """Return the growth of usable rows as a fraction; NaN if it is missing or refers to an unusable NAV."""
    unit = table["unit_nav"].to_numpy(float)
    follows_a_nav = np.append(True, (np.isfinite(unit) & (unit > 0))[:-1])
    growth = table["growth"].to_numpy(float)[usable] / 100
    return np.where(follows_a_nav[usable] & (growth > -1) & np.isfinite(growth), growth, np.nan)


def _place_events(days: pd.Series, events: pd.DataFrame | None) -> tuple[np.ndarray, np.ndarray]:
    """Return cash and split ratio for each day; events after the last day are not yet in the NAV."""
    cash, split = np.zeros(len(days)), np.ones(len(days))
    if events is not None:
        # `add.at` and `multiply.at`: several events may fall on one day.
        row = days.searchsorted(events["date"])
        counts = row < len(days)
        np.add.at(cash, row[counts], events["cash"].to_numpy(float)[counts])
        np.multiply.at(split, row[counts], events["split"].to_numpy(float)[counts])
    return cash, split


def _is_plausible(candidate: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Tell which returns are known and show no jump that the unit NAV does not show."""
    plausible: np.ndarray = np.abs(candidate) <= np.maximum(np.abs(plain), _JUMP)
    return plausible
