"""Measure survivorship: whether closed funds are missing, and how much returns would gain without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import pdtr

from geodual.arrays import Array

from ...calendar import half_gap

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

USUAL_RATE = 0.03  # share of funds that close per year; 3 to 8 % in the large markets
LOW_RATE = 0.005  # closed funds seem to be missing below this share per year,
LEAST_YEARS = 2.0  # in a table of at least this many years,
CHANCE = 0.05  # if so few closures are less likely than this at the usual rate
LATE_MULTIPLE = 10.0  # funds close only lately if the rate of the last year is this multiple of that before
DELAY_DAYS = 31  # a fund whose last value is not older than this may only report late
LEAST_CLOSED = 10  # closed funds, and
LEAST_MONTHS = 24  # months that are needed to estimate the bias
_DRAWS, _BLOCK_MONTHS, _SEED = 1000, 3, 0  # of the bootstrap; blocks keep what months in a row share
_YEAR = 365.25


@dataclass(frozen=True)
class Survivorship:
    """How many funds of a table close, whether closed funds seem to be missing, and what they are worth.

    A fund is closed if its last value is more than 31 days older than the last day of the table.

    Parameters
    ----------
    funds : int
        Number of funds with a value.
    closed : int
        Number of funds that are closed.
    years : float
        Years from the first to the last day.
    fund_years : float
        Years that the funds live, summed over funds, up to 31 days before the last day.
    bias : float
        How much larger the annual return of an equal-weight portfolio, rebalanced monthly, would be if only
        the funds that live to the end were in it. NaN if fewer than 10 funds close or there are fewer than
        24 months.
    interval : tuple of float
        95 % interval of the bias, from a bootstrap of blocks of three months.
    closed_lately : int
        Number of funds that close in the last year.
    rate_lately : float
        Share of the funds alive a year before the end that close in this year.

    See Also
    --------
    measure_survivorship : Measure it.

    Examples
    --------
    >>> from geodual.funds.sources.reading.survivorship import Survivorship
    >>> nan = float("nan")
    >>> measured = Survivorship(300, 2, 5.0, 1400.0, nan, (nan, nan))
    >>> round(measured.rate, 4), measured.seems_incomplete
    (0.0014, True)
    """

    funds: int
    closed: int
    years: float
    fund_years: float
    bias: float
    interval: tuple[float, float]
    closed_lately: int = 0
    rate_lately: float = 0.0

    @property
    def rate(self) -> float:
        """Number of funds that close per fund and year."""
        return self.closed / self.fund_years if self.fund_years > 0.0 else 0.0

    @property
    def seems_incomplete(self) -> bool:
        """Whether closed funds seem to be missing, in the whole table or before its last year."""
        too_few = self.years >= LEAST_YEARS and _are_too_few(self.closed, self.fund_years)
        return too_few or self.closes_only_lately

    @property
    def closed_before(self) -> int:
        """Number of funds that close before the last year."""
        return self.closed - self.closed_lately

    @property
    def closes_only_lately(self) -> bool:
        """Whether funds close in the last year, but hardly before: earlier closures seem to be missing.

        Such a table lists the funds of its last year. Those that end may also only report late.
        """
        if self.years < LEAST_YEARS + 1.0 or self.closed_lately < LEAST_CLOSED:
            return False
        fund_years = self.fund_years - self.funds  # before the last year, in which each lives for at most one
        much_fewer = LATE_MULTIPLE * self.closed_before < self.rate_lately * fund_years
        return much_fewer and _are_too_few(self.closed_before, fund_years)


def _are_too_few(closed: int, fund_years: float) -> bool:
    """Return whether fewer funds close than 0.5 % per year, and not by chance."""
    by_chance = float(pdtr(closed, USUAL_RATE * max(fund_years, 0.0)))
    return closed < LOW_RATE * fund_years and by_chance < CHANCE


def measure_survivorship(nav: pd.DataFrame) -> Survivorship:
    """Measure how many funds close, and how much better returns would look without them.

    Some 3 to 8 % of the open-end funds of large markets close or merge per year; in young markets it may be
    less than 1 %. A table of two years or more seems to lack its closed funds if fewer than 0.5 % per year
    close, and not by chance; a table of three years or more also if that holds before its last year, and ten
    times as many close in the last.

    Funds close after poor years, so those that remain did better: by 0.07 points per year in tables of one
    year, and by 1 point in tables of more than 15 years [1]_; see also [2]_.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        NAVs, day × fund, such as the `nav` of a `Panel`; NaN where a fund has no value.

    Returns
    -------
    Survivorship
        Numbers of closed funds, and the bias with its interval.

    See Also
    --------
    Survivorship : What is measured.
    inspect_quality : Makes a finding of it.

    References
    ----------
    .. [1] M. M. Carhart, J. N. Carpenter, A. W. Lynch and D. K. Musto, "Mutual fund survivorship", Review of
       Financial Studies 15 (2002), 1439–1463.
    .. [2] E. J. Elton, M. J. Gruber and C. R. Blake, "Survivorship bias and mutual fund performance", Review
       of Financial Studies 9 (1996), 1097–1120.

    Examples
    --------
    Twenty of a hundred funds lose 2 % per month more than the others and close in the course of five years.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from geodual.funds.sources.reading.survivorship import measure_survivorship
    >>> months = pd.date_range("2010-01-31", periods=61, freq="ME")
    >>> growth = np.where(np.arange(100) < 80, 1.01, 0.99)
    >>> nav = pd.DataFrame(growth ** np.arange(61)[:, None], index=months)
    >>> for fund in range(80, 100):
    ...     nav.iloc[3 * (fund - 79) :, fund] = np.nan
    >>> measured = measure_survivorship(nav)
    >>> measured.closed, measured.seems_incomplete, round(measured.bias, 3)
    (19, False, 0.026)
    >>> measure_survivorship(nav.iloc[:, :80]).seems_incomplete
    True
    """
    index = pd.DatetimeIndex(nav.index)
    values = nav.to_numpy(float)
    given = ~np.isnan(values)
    values, given = values[:, given.any(axis=0)], given[:, given.any(axis=0)]
    n_rows, n_funds = values.shape
    if n_rows < 2 or not n_funds:
        return Survivorship(n_funds, 0, 0.0, 0.0, np.nan, (np.nan, np.nan))
    first, last = given.argmax(axis=0), n_rows - 1 - given[::-1].argmax(axis=0)
    day = np.asarray((index - index[0]) / np.timedelta64(1, "D"), dtype=float)
    delay = DELAY_DAYS + half_gap(index).days
    closed = day[last] < day[-1] - delay
    lived = np.minimum(day[last], day[-1] - delay) - day[first]
    months = np.flatnonzero(~index.to_period("M").duplicated(keep="last"))
    bias, interval = np.nan, (np.nan, np.nan)
    if closed.sum() >= LEAST_CLOSED and len(months) > LEAST_MONTHS:
        bias, interval = _estimate_bias(values, months, first, last, closed, day)
    year_ago = int(np.searchsorted(day, day[-1] - _YEAR))
    alive = (first <= year_ago) & (last >= year_ago)
    closed_lately, years = int((alive & closed).sum()), (day[-1] - day[year_ago]) / _YEAR
    return Survivorship(
        funds=n_funds,
        closed=int(closed.sum()),
        years=float(day[-1] / _YEAR),
        fund_years=float(np.maximum(lived, 0.0).sum() / _YEAR),
        bias=bias,
        interval=interval,
        closed_lately=closed_lately,
        rate_lately=float(1.0 - (1.0 - closed_lately / max(alive.sum(), 1)) ** (1.0 / years)),
    )


def _estimate_bias(
    values: Array, months: Rows, first: Rows, last: Rows, closed: Mask, day: Array
) -> tuple[float, tuple[float, float]]:
    """Return the difference in annual return between the survivors and all funds, with its interval."""
    # A fund that closes in a month keeps its last value to the end of it, as in the ledger.
    ends = pd.DataFrame(values).ffill().to_numpy()[months]
    start = months[:-1, None]
    alive = (first <= start) & (last > start)
    with np.errstate(invalid="ignore"):  # funds that have not started
        returns = np.nan_to_num(ends[1:] / ends[:-1] - 1.0)
    survive = alive & ~closed
    usable = np.asarray(survive.any(axis=1))
    means = [(returns * held)[usable].sum(axis=1) / held[usable].sum(axis=1) for held in (survive, alive)]
    n = int(usable.sum())
    per_year = len(usable) * _YEAR / (day[months[-1]] - day[months[0]])
    rng = np.random.default_rng(_SEED)
    blocks = rng.integers(0, n, (_DRAWS, -(-n // _BLOCK_MONTHS)))[:, :, None] + np.arange(_BLOCK_MONTHS)
    drawn = blocks.reshape(_DRAWS, -1)[:, :n] % n
    logs = [np.log1p(mean) for mean in means]
    survivors, everyone = (np.exp(per_year * log.mean()) for log in logs)
    draws = [np.exp(per_year * log[drawn].mean(axis=1)) for log in logs]
    low, high = np.quantile(draws[0] - draws[1], [0.025, 0.975])
    return float(survivors - everyone), (float(low), float(high))
