"""Find what can mislead a study in a NAV table or an index: idle days, gaps, jumps, survivorship."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ...calendar import DAYS_PER_YEAR, row_name, rows_in, rows_per_year
from ...factors.factor import choose_factors
from ...language import phrase
from ...panel import Finding
from .jumps import inspect_jumps
from .survivorship import USUAL_RATE, Survivorship, measure_survivorship

LONG_GAP = 5  # a gap of more trading days matters, and in a weekly or monthly table one of more than a row
STALE_ROWS = 10  # as many equal values in a row are stale if the fund seldom stands still,
STILL_SHARE = 0.10  # on a smaller share than this of its other days
LONG_STALE_ROWS = 20  # more equal values are always stale
LEAST_STALE_ROWS = 3  # as many equal values in a weekly or monthly table, for both
WEEKEND_SHARE = 0.02  # warn above this share of rows at weekends; a few are working days in China
HOLIDAY_DAYS = 12  # calendar days between two rows that a long holiday can explain
ENOUGH_FUNDS = 10  # with fewer funds, a row without a move may be chance
TWIN_ROWS = 250  # twins are looked for in the last rows, about a year of trading days
LEAST_TWIN_ROWS = 36  # or as many rows of a monthly table: over twelve, two funds may look alike by chance
TWIN_DISTANCE = 0.0006  # rms difference of log NAVs; rounding to three decimals alone gives about 0.0004
TWIN_SHARE = 0.1  # the difference must also be below this share of a fund's own rms: some funds hardly move
TWIN_LEAST = 1e-6  # a fund with a smaller rms only follows its trend and cannot be compared
_YEAR = 365.25  # calendar days
BLOCK = 512  # number of funds compared with all others at a time, to limit memory

Rows = NDArray[np.intp]
Days = NDArray[Any]
_BESIDE = 100  # funds to compare the index with: enough to find similar ones among them, and quick


def inspect_quality(nav: pd.DataFrame) -> tuple[Finding, ...]:
    """Find what can mislead a study in a NAV table.

    These kinds of findings matter:

    - ``short``: there are fewer rows than the longest factor of the paper needs, plus one to earn a return;
    - ``calendar``: there are more than 12 calendar days between two rows of a daily table, or a row of a
      weekly or monthly one is missing;
    - ``weekend``: more than 2 % of the rows of a daily table are Saturdays or Sundays;
    - ``sparse-day``: on some rows most of the funds between their first and their last value have none;
    - ``still-day``: on some rows no fund moves, out of 10 or more;
    - ``gap``: values are missing between the first and the last of a fund; matters only if more than 5 in a
      row are missing;
    - ``stale``: a NAV stays the same for more than 20 values while at least half of the other funds move, or
      for at least 10 values if the fund stands still on fewer than 10 % of its other days. (A bond fund that
      is quoted in three decimals may well stand still for two weeks.) It matters only if the NAV then moves
      by more than it usually does, or never moves again; otherwise the fund may have been in cash;
    - ``jump``: a fall against similar funds, as after a distribution that was not reinvested; a move that is
      reversed immediately, as after a wrong value; or a move of more than 40 %, as after a split. A fall is
      found if it is larger than chance explains. What chance does is seen in the rises, since a distribution
      makes none. The limit is set so that at most about a quarter of the funds found are found by chance; a
      clean table seldom has one. Small moves, up to 0.8 %, are not found.

    These are for information:

    - ``late-start``, ``early-end``: funds start or end inside the table; if enough end, how much
      returns would change without them;
    - ``sparse-rows``: the table is weekly or monthly, so windows of factors are fewer rows, and 10 or 20 rows
      of a rule above are as many as cover that time;
    - ``survivorship``: fewer funds close than usual, in the whole table or before its last year, so closed
      funds seem to be missing, see `measure_survivorship`; or no fund closes in a table too small to tell;
    - ``twin``: funds move almost identically to another, as share classes do. Over the last 250 rows, their
      detrended log NAVs differ by less than 0.0006 and a tenth of their own size (rms).

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        NAVs, day × fund, such as the `nav` of a `Panel`; NaN where a fund has no value.

    Returns
    -------
    tuple of Finding
        At most one per fund and kind.

    See Also
    --------
    read_nav : Read a table and inspect it.
    Finding : The fields of a finding.

    Examples
    --------
    >>> from geodual.funds import inspect_quality, synthetic_universe
    >>> nav = synthetic_universe(12, "2014-01-02", "2014-12-31").panel.nav.copy()
    >>> nav.iloc[100:, 0] *= 0.6  # a distribution that was not reinvested
    >>> for finding in inspect_quality(nav):
    ...     if finding.matters:
    ...         print(finding.kind, finding.fund, finding.date, finding.count)
    jump E00000 2014-06-05 1
    """
    index = pd.DatetimeIndex(nav.index)
    values = np.asfortranarray(nav.to_numpy(float))  # most checks go through the table fund by fund
    days = index.strftime("%Y-%m-%d").to_numpy()
    return (
        *_inspect_calendar(index),
        *_inspect_rows(values, days),
        *_inspect_lives(nav, values, days),
        *_inspect_twins(nav),
        *_inspect_funds(nav, values, days),
    )


def _rows_needed(index: pd.Index) -> int:
    """Return the number of rows that the longest factor of the paper needs, plus one to earn a return."""
    return choose_factors().on(index).values_needed + 1


def _inspect_calendar(index: pd.DatetimeIndex) -> Iterator[Finding]:
    """Find tables that are too short, rows at weekends, rows that are not daily, and long gaps."""
    needed, per_year = _rows_needed(index), rows_per_year(index)
    if len(index) < needed:
        message = phrase(
            "There are {n} rows; the factors need {n_needed}, {n_more} more.",
            n=len(index),
            n_needed=needed,
            n_more=needed - len(index),
        )
        yield Finding("short", matters=True, fund="", date="", count=len(index), message=message)
    weekends = np.flatnonzero(index.day_of_week >= 5)
    if len(weekends) > WEEKEND_SHARE * len(index) and per_year == DAYS_PER_YEAR:
        message = phrase(
            "{n} of {n_rows} rows are Saturdays or Sundays; remove such days.",
            n=len(weekends),
            n_rows=len(index),
        )
        first = f"{index[weekends[0]]:%Y-%m-%d}"
        yield Finding("weekend", matters=True, fund="", date=first, count=len(weekends), message=message)
    apart, limit = np.diff(index.to_numpy()) / np.timedelta64(1, "D"), HOLIDAY_DAYS
    if per_year != DAYS_PER_YEAR:
        message = phrase(
            "The table has a row per {row}: windows of factors are fewer rows.", row=row_name(per_year)
        )
        yield Finding("sparse-rows", matters=False, fund="", date="", count=len(index), message=message)
        limit += int(_YEAR / per_year)
    wide = np.flatnonzero(apart > limit)
    if len(wide):
        message = phrase(
            "There are {n} gaps of more than {n_days} days; the longest gap is {n_longest:.0f} days.",
            n=len(wide),
            n_days=limit,
            n_longest=apart.max(),
        )
        first = f"{index[wide[0]]:%Y-%m-%d}"
        yield Finding("calendar", matters=True, fund="", date=first, count=len(wide), message=message)


def _inspect_rows(values: Array, days: Days) -> Iterator[Finding]:
    """Find rows that are no trading days for most funds: without values, or with those of the row before."""
    given = ~np.isnan(values)
    born, open_ = np.logical_or.accumulate(given), np.logical_or.accumulate(given[::-1])[::-1]
    sparse = np.flatnonzero(2 * given.sum(axis=1) < (born & open_).sum(axis=1))
    if len(sparse):
        message = phrase(
            "On {n} rows most of the funds that exist have no value; remove such days.", n=len(sparse)
        )
        yield Finding("sparse-day", True, "", days[sparse[0]], len(sparse), message)
    known, moved = given[1:] & given[:-1], values[1:] != values[:-1]
    still = np.flatnonzero((known.sum(axis=1) >= ENOUGH_FUNDS) & ~(known & moved).any(axis=1)) + 1
    if len(still):
        message = phrase("On {n} rows no fund moves, as on a holiday; remove such days.", n=len(still))
        yield Finding("still-day", True, "", days[still[0]], len(still), message)


def _inspect_lives(nav: pd.DataFrame, values: Array, days: Days) -> Iterator[Finding]:
    """Find funds that start late or end early, and whether closed funds are missing."""
    given = ~np.isnan(values)
    given = given[:, given.any(axis=0)]
    n_rows, n_funds = given.shape
    first, last = given.argmax(axis=0), n_rows - 1 - given[::-1].argmax(axis=0)
    late, early = first[first > 0], last[last < n_rows - 1]
    measured = measure_survivorship(nav)
    if len(late):
        message = phrase("{n} of {n_funds} funds start after the first day.", n=len(late), n_funds=n_funds)
        yield Finding("late-start", False, "", days[late.min()], len(late), message)
    if len(early):
        message = _describe_ends(len(early), n_funds, measured)
        yield Finding("early-end", False, "", days[early.min()], len(early), message)
    if n_funds and (measured.seems_incomplete or not len(early)):
        message = _describe_survivorship(measured, not len(early))
        yield Finding("survivorship", False, "", days[-1], n_funds, message)


def _describe_ends(n: int, n_funds: int, measured: Survivorship) -> str:
    if np.isnan(measured.bias) or measured.seems_incomplete:
        if n == 1:
            return phrase("{n} of {n_funds} funds ends before the last day.", n=n, n_funds=n_funds)
        return phrase("{n} of {n_funds} funds end before the last day.", n=n, n_funds=n_funds)
    # Adding 0.0 turns a rounded −0.0 into 0.0.
    points = [round(100.0 * value, 1) + 0.0 for value in (measured.bias, *measured.interval)]
    return phrase(
        "{n} of {n_funds} funds end before the last day, {rate:.1%} per year; without them, returns would "
        "change by {n_bias:+.1f} points per year ({n_low:+.1f} to {n_high:+.1f}).",
        n=n,
        n_funds=n_funds,
        rate=measured.rate,
        **dict(zip(("n_bias", "n_low", "n_high"), points, strict=True)),
    )


def _describe_survivorship(measured: Survivorship, all_live: bool) -> str:
    lead = _describe_closures(measured, all_live)
    if not measured.seems_incomplete:
        return phrase(
            "{lead}, which may be chance; but if closed funds were left out, returns are likely too good.",
            lead=lead,
        )
    return phrase(
        "{lead}, where at least {rate:.0%} per year are usual: closed funds seem to be missing, returns are "
        "likely too good.",
        lead=lead,
        rate=USUAL_RATE,
    )


def _describe_closures(measured: Survivorship, all_live: bool) -> str:
    told: dict[str, float] = {"n": measured.closed, "n_funds": measured.funds, "n_years": measured.years}
    if measured.closes_only_lately:
        told |= {"n": measured.closed_lately, "n_before": measured.closed_before}
        told["n_years"] = measured.years - 1.0
        if not measured.closed_before:
            return phrase(
                "{n} of {n_funds} funds end in the last year, but none in the {n_years:.1f} years before",
                **told,
            )
        return phrase(
            "{n} of {n_funds} funds end in the last year, but {n_before} in the {n_years:.1f} years before",
            **told,
        )
    if all_live:
        return phrase("Every fund lives to the last day, {n_funds} funds in {n_years:.1f} years", **told)
    if not measured.closed:
        return phrase(
            "None of {n_funds} funds closes in {n_years:.1f} years, up to a month before the end", **told
        )
    if measured.closed == 1:
        return phrase("Only {n} of {n_funds} funds closes in {n_years:.1f} years", **told)
    return phrase("Only {n} of {n_funds} funds close in {n_years:.1f} years", **told)


def _inspect_twins(nav: pd.DataFrame) -> Iterator[Finding]:
    """Find funds that move alike up to their trend, as share classes of one fund do."""
    if len(nav) < _rows_needed(nav.index):  # too few rows to tell twins from funds with the same market
        return
    n_rows = rows_in(TWIN_ROWS, rows_per_year(nav.index), LEAST_TWIN_ROWS)
    recent = nav.iloc[-n_rows:].dropna(axis=1).sort_index(axis=1)
    # Remove the trend, in which share classes differ by their fees; divided by √n, norms are rms values.
    line = np.vander(np.linspace(-1.0, 1.0, len(recent)), 2)
    levels = np.log(recent.to_numpy(float))
    levels = (levels - line @ np.linalg.lstsq(line, levels)[0]) / np.sqrt(len(levels))
    bent = np.square(levels).sum(axis=0) > TWIN_LEAST**2
    names, levels = recent.columns.to_numpy()[bent], levels[:, bent]
    square = np.square(levels).sum(axis=0)
    limit = np.minimum(TWIN_DISTANCE**2, TWIN_SHARE**2 * square)
    twins: dict[str, str] = {}
    for start in range(0, len(square), BLOCK):
        block = slice(start, start + BLOCK)
        # |a − b|² = |a|² + |b|² − 2ab for all pairs of a block; a fund is not its own twin.
        apart = square[block, None] + square - 2.0 * levels[:, block].T @ levels
        apart[np.arange(len(apart)), np.arange(len(apart)) + start] = np.inf
        near = apart.argmin(axis=1)
        found = np.flatnonzero(apart.min(axis=1) < limit[block])
        twins |= {names[start + at]: names[near[at]] for at in found}
    if twins:
        fund, other = min(twins.items())
        message = phrase(
            "{n} funds move almost identically to another, probably share classes: {fund} and {other}, for "
            "one.",
            n=len(twins),
            fund=fund,
            other=other,
        )
        yield Finding("twin", False, "", "", len(twins), message)


def _inspect_funds(nav: pd.DataFrame, values: Array, days: Days) -> Iterator[Finding]:
    step, per_year = values[1:] / values[:-1] - 1.0, rows_per_year(nav.index)
    moved, seen = (np.abs(step) > 0.0).sum(axis=1), (~np.isnan(step)).sum(axis=1)
    # Rows on which at least half of the other funds moved.
    lively = np.concatenate([[False], (moved > 0) & (2 * moved >= seen - 1)])
    for fund, value in zip(nav.columns, values.T, strict=True):
        rows = np.flatnonzero(~np.isnan(value))
        if len(rows) > 1:
            yield from _inspect_gaps(fund, rows, days, rows_in(LONG_GAP, per_year, 1))
            yield from _inspect_staleness(fund, value[rows], rows, lively, days, per_year)
    yield from inspect_jumps(nav.columns, step, days, row_name(per_year))


def _inspect_gaps(fund: str, rows: Rows, days: Days, limit: int) -> Iterator[Finding]:
    missing = np.diff(rows) - 1
    total, longest = int(missing.sum()), int(missing.max())
    if total:
        first = days[rows[np.flatnonzero(missing)[0]] + 1]
        message = phrase(
            "{n} values are missing between the first and the last, at most {n_longest} in a row.",
            n=total,
            n_longest=longest,
        )
        yield Finding("gap", longest > limit, fund, first, total, message)


def _inspect_staleness(
    fund: str, value: Array, rows: Rows, lively: NDArray[np.bool_], days: Days, per_year: int
) -> Iterator[Finding]:
    """Find runs of equal values; `lively` marks the rows on which the other funds moved."""
    change = np.flatnonzero(np.diff(value))
    start, end = np.append(0, change + 1), np.append(change, len(value) - 1)
    # Only values that the fund has count: a few values of a fund that is quoted weekly are no run.
    seen = np.cumsum(lively[rows])
    short, long = (rows_in(each, per_year, LEAST_STALE_ROWS) for each in (STALE_ROWS, LONG_STALE_ROWS))
    stale = seen[end] - seen[start] >= short - 1
    if not stale.any():
        return
    start, end = start[stale], end[stale]
    length = end - start + 1
    longest, total = int(length.max()), int(length.sum())
    # Rows outside these runs on which the fund stands still.
    still = len(value) - 1 - len(change) - (total - len(length))
    if longest > long or still < STILL_SHARE * (len(value) - total):
        message = phrase(
            "The NAV stays the same for up to {n} values in a row while other funds move.", n=longest
        )
        yield Finding("stale", _catches_up(value, end), fund, days[rows[start[0]]], total, message)


def _catches_up(value: Array, end: Rows) -> bool:
    """Return whether the first move after some run is larger than usual, or none follows.

    Then values were missing. A fund that was in cash goes on with a small move.
    """
    size = np.abs(np.diff(np.log(value)))
    moves = size[size > 0.0]
    return bool(end[-1] == len(value) - 1 or (size[end] > np.median(moves)).any())


def inspect_index(levels: pd.Series[float], nav: pd.DataFrame) -> tuple[Finding, ...]:
    """Find gaps, stale levels and jumps in an index, by the rules for funds.

    Parameters
    ----------
    levels : Series
        Levels by day, such as `read_index` returns. Levels on days that `nav` does not have are ignored.
    nav : DataFrame of shape (n_days, n_funds)
        NAVs of the funds that the index is compared with, such as the `nav` of a `Panel`.

    Returns
    -------
    tuple of Finding
        Their fund is the word "index", followed by the name of the index.

    See Also
    --------
    inspect_quality : The rules, and findings about the funds.
    read_index : Read the levels of an index.

    Examples
    --------
    >>> from geodual.funds import inspect_index, synthetic_universe
    >>> universe = synthetic_universe(12, "2014-01-02", "2014-12-31")
    >>> levels = universe.index.copy()
    >>> levels.iloc[100:] /= 1000.0  # 1.003 in place of 1,003
    >>> for finding in inspect_index(levels, universe.panel.nav):
    ...     print(finding.kind, finding.fund, finding.date, finding.matters)
    jump index 2014-06-05 True
    """
    name = phrase("index")
    if levels.name not in (None, "index"):
        name = phrase("index {index}", index=levels.name)
    beside = nav.iloc[:, :: max(nav.shape[1] // _BESIDE, 1)]
    table = pd.concat([levels.reindex(nav.index).rename(name), beside], axis=1)
    return tuple(finding for finding in inspect_quality(table) if finding.fund == name)
