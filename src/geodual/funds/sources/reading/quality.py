"""What to know of a NAV table before trusting a result: idle days, gaps, jumps, survivorship."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ...factors.registry import choose_factors
from ...panel import Finding

LONG_GAP = 5
STALE_ROWS = 10
LONG_STALE_ROWS = 20
STILL_SHARE = 0.10
JUMP_SIGMAS = 8.0
JUMP_FALL = 0.03
JUMP_MOVE = 0.20
MARKET_MULTIPLE = 4.0
HOLIDAY_DAYS = 12
WEEKEND_SHARE = 0.02
ENOUGH_FUNDS = 10
TWIN_ROWS = 250
TWIN_DISTANCE = 0.0006
TWIN_SHARE = 0.1
TWIN_LEAST = 1e-6
_BLOCK = 512

Rows = NDArray[np.intp]
Days = NDArray[Any]


def inspect_quality(nav: pd.DataFrame) -> tuple[Finding, ...]:
    """Inspect a NAV table and remark what can mislead a study.

    With r the daily returns of a fund, σ = 1.4826 median|r − median r| and m the median return of all funds
    on the day:

    - ``short``: fewer rows than the longest factor of the paper needs, and one more;
    - ``calendar``: more than 12 calendar days between two rows, or rows that are not daily;
    - ``weekend``: more than 2 % of the rows are Saturdays and Sundays;
    - ``sparse-day``: rows on which most of the living funds, those between their first and their last value,
      have none; ``still-day``: rows on which no fund moves, out of 10 or more;
    - ``twin``: funds whose log NAV, less its trend over the last 250 rows, is that of another but for the
      rounding of NAVs, as for share classes: rms of the difference below 0.0006 and a tenth of its own; for
      information;
    - ``late-start``, ``early-end``, ``survivorship``: funds are born or end inside the table, or all live
      to its end; for information;
    - ``gap``: values missing between the first and the last of a fund; matters if over 5 rows in a row;
    - ``stale``: one NAV for at least 10 rows in a row while at least half of the other funds moved; matters
      if over 20 rows, or if the fund stands still on fewer than 10 % of its other days;
    - ``jump``: a fall as after a distribution or a split, max(r, r − m) < −max(8σ, 3 %) and r < 4m; or any
      |r| > 20 %.

    Parameters
    ----------
    nav : DataFrame
        Day × fund, as in `Panel.nav`.

    Returns
    -------
    tuple of Finding
        At most one a fund and kind.
    """
    index = pd.DatetimeIndex(nav.index)
    values = np.asfortranarray(nav.to_numpy(float))
    days = index.strftime("%Y-%m-%d").to_numpy()
    return (
        *_inspect_calendar(index),
        *_inspect_rows(values, days),
        *_inspect_lives(values, days),
        *_inspect_twins(nav),
        *_inspect_funds(nav, values, days),
    )


def _rows_needed() -> int:
    """Return the rows that the longest factor of the paper needs, and one more to earn something."""
    return choose_factors().values_needed + 1


def _inspect_calendar(index: pd.DatetimeIndex) -> Iterator[Finding]:
    needed = _rows_needed()
    if len(index) < needed:
        message = f"{len(index)} rows; the factors need {needed}, {needed - len(index)} more."
        yield Finding("short", True, "", "", len(index), message)
    weekends = np.flatnonzero(index.day_of_week >= 5)
    if len(weekends) > WEEKEND_SHARE * len(index):
        message = f"{len(weekends)} of {len(index)} rows are Saturdays or Sundays; leave such days out."
        yield Finding("weekend", True, "", f"{index[weekends[0]]:%Y-%m-%d}", len(weekends), message)
    apart = np.diff(index.to_numpy()) / np.timedelta64(1, "D")
    if len(apart) and (usual := float(np.median(apart))) > LONG_GAP:
        message = f"Rows are {usual:g} days apart; the factors take them for trading days."
        yield Finding("calendar", True, "", "", len(index), message)
        return
    wide = np.flatnonzero(apart > HOLIDAY_DAYS)
    if len(wide):
        longest = f"the longest gap is {apart.max():.0f} days"
        message = f"More than {HOLIDAY_DAYS} days without a row, {len(wide)} times; {longest}."
        yield Finding("calendar", True, "", f"{index[wide[0]]:%Y-%m-%d}", len(wide), message)


def _inspect_rows(values: Array, days: Days) -> Iterator[Finding]:
    """Remark rows that are no trading days for most funds: no values, or those of the row before."""
    given = ~np.isnan(values)
    born, open_ = np.logical_or.accumulate(given), np.logical_or.accumulate(given[::-1])[::-1]
    sparse = np.flatnonzero(2 * given.sum(axis=1) < (born & open_).sum(axis=1))
    if len(sparse):
        message = f"{len(sparse)} rows on which most of the living funds have no value; leave such days out."
        yield Finding("sparse-day", True, "", days[sparse[0]], len(sparse), message)
    known, moved = given[1:] & given[:-1], values[1:] != values[:-1]
    still = np.flatnonzero((known.sum(axis=1) >= ENOUGH_FUNDS) & ~(known & moved).any(axis=1)) + 1
    if len(still):
        message = f"{len(still)} rows on which no fund moves, as on a holiday; leave such days out."
        yield Finding("still-day", True, "", days[still[0]], len(still), message)


def _inspect_lives(values: Array, days: Days) -> Iterator[Finding]:
    given = ~np.isnan(values)
    given = given[:, given.any(axis=0)]
    n_rows, n_funds = given.shape
    first, last = given.argmax(axis=0), n_rows - 1 - given[::-1].argmax(axis=0)
    late, early = first[first > 0], last[last < n_rows - 1]
    if len(late):
        message = f"{len(late)} of {n_funds} funds start after the first day."
        yield Finding("late-start", False, "", days[late.min()], len(late), message)
    if len(early):
        message = f"{len(early)} of {n_funds} funds end before the last day."
        yield Finding("early-end", False, "", days[early.min()], len(early), message)
    elif n_funds:
        message = (
            "Every fund lives to the last day: closed ones seem to be missing, returns are likely too good."
        )
        yield Finding("survivorship", False, "", days[-1], n_funds, message)


def _inspect_twins(nav: pd.DataFrame) -> Iterator[Finding]:
    if len(nav) < _rows_needed():
        return
    recent = nav.iloc[-TWIN_ROWS:].dropna(axis=1).sort_index(axis=1)
    line = np.vander(np.linspace(-1.0, 1.0, len(recent)), 2)
    levels = np.log(recent.to_numpy(float))
    levels = (levels - line @ np.linalg.lstsq(line, levels)[0]) / np.sqrt(len(levels))
    bent = np.square(levels).sum(axis=0) > TWIN_LEAST**2
    names, levels = recent.columns.to_numpy()[bent], levels[:, bent]
    square = np.square(levels).sum(axis=0)
    limit = np.minimum(TWIN_DISTANCE**2, TWIN_SHARE**2 * square)
    twins: dict[str, str] = {}
    for start in range(0, len(square), _BLOCK):
        block = slice(start, start + _BLOCK)
        apart = square[block, None] + square - 2.0 * levels[:, block].T @ levels
        apart[np.arange(len(apart)), np.arange(len(apart)) + start] = np.inf
        near = apart.argmin(axis=1)
        found = np.flatnonzero(apart.min(axis=1) < limit[block])
        twins |= {names[start + at]: names[near[at]] for at in found}
    if twins:
        pair = " and ".join(min(twins.items()))
        message = (
            f"{len(twins)} funds move almost identically to another, probably share classes: {pair}, for one."
        )
        yield Finding("twin", False, "", "", len(twins), message)


def _inspect_funds(nav: pd.DataFrame, values: Array, days: Days) -> Iterator[Finding]:
    step = values[1:] / values[:-1] - 1.0
    market = pd.DataFrame(step).median(axis=1).to_numpy() if step.shape[1] > 1 else np.zeros(len(step))
    moved, seen = (np.abs(step) > 0.0).sum(axis=1), (~np.isnan(step)).sum(axis=1)
    lively = np.concatenate([[0], np.cumsum((moved > 0) & (2 * moved >= seen - 1))])
    for fund, value, r in zip(nav.columns, values.T, step.T, strict=True):
        rows = np.flatnonzero(~np.isnan(value))
        if len(rows) > 1:
            yield from _inspect_gaps(fund, rows, days)
            yield from _inspect_staleness(fund, value[rows], rows, lively, days)
            yield from _inspect_jumps(fund, r, market, days)


def _inspect_gaps(fund: str, rows: Rows, days: Days) -> Iterator[Finding]:
    missing = np.diff(rows) - 1
    total, longest = int(missing.sum()), int(missing.max())
    if total:
        first = days[rows[np.flatnonzero(missing)[0]] + 1]
        message = f"{total} values missing between the first and the last, at most {longest} in a row."
        yield Finding("gap", longest > LONG_GAP, fund, first, total, message)


def _inspect_staleness(fund: str, value: Array, rows: Rows, lively: Rows, days: Days) -> Iterator[Finding]:
    """Remark runs of equal values; `lively` counts the days on which the other funds moved."""
    change = np.flatnonzero(np.diff(value))
    start, end = np.append(0, change + 1), np.append(change, len(value) - 1)
    stale = lively[rows[end]] - lively[rows[start]] >= STALE_ROWS - 1
    if stale.any():
        start, end = start[stale], end[stale]
        length = end - start + 1
        longest, total = int(length.max()), int(length.sum())
        still = len(value) - 1 - len(change) - (total - len(length))
        matters = longest > LONG_STALE_ROWS or still < STILL_SHARE * (len(value) - total)
        message = f"The same NAV for up to {longest} rows in a row while other funds moved."
        yield Finding("stale", matters, fund, days[rows[start[0]]], total, message)


def _inspect_jumps(fund: str, r: Array, market: Array, days: Days) -> Iterator[Finding]:
    known = r[~np.isnan(r)]
    if not len(known):
        return
    sigma = 1.4826 * np.median(np.abs(known - np.median(known)))
    least = max(JUMP_SIGMAS * sigma, JUMP_FALL)
    own = (np.maximum(r, r - market) < -least) & (r < MARKET_MULTIPLE * market)
    jump = np.flatnonzero(own | (np.abs(r) > JUMP_MOVE))
    if len(jump):
        worst = r[jump][np.abs(r[jump]).argmax()]
        message = f"A one-day move of {worst:+.1%}; if it is a distribution or a split, use adjusted NAVs."
        yield Finding("jump", True, fund, days[jump[0] + 1], len(jump), message)
