"""A synthetic universe of funds, calibrated to Chinese funds, with known expected returns.

`synthetic_universe` documents the generating process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError

from ..calendar import rebalance_days
from ..config import check_day, check_integer
from ..language import phrase
from ..panel import Panel
from .reading.fund_facts import FundFacts, read_facts
from .reading.quality import inspect_quality

_STRONGEST = 100.0  # signal; far stronger ones make values that overflow
_DAYS = 244  # trading days per year in China
_QUARTER_DAYS = _DAYS / 4
_CASH = 0.02 / _DAYS  # interest of 2 % per year
_REGIME_VOLATILITY = np.array([0.16, 0.36]) / np.sqrt(_DAYS)  # market in the calm and the stormy regime
_SWITCH = np.array([1 / 240, 1 / 80])  # daily probability of leaving the calm and the stormy regime
_STYLE_VOLATILITY = 0.05 / np.sqrt(_DAYS)
_N_STYLES = 4
_TELL_DAYS = 4  # days at the end of a quarter on which a fund catches up; it lags on as many days before
_TELL = 0.25  # return that it catches up, as a share of the skill of the next quarter
# Spans of days before the end of a quarter; hidden skill shows in all, with signs that alternate.
_HIDDEN_SPANS = ((10, 14), (14, 21), (21, 28), (28, 42))
_TAIL = 5.0  # degrees of freedom of the noise of the market and the funds: heavy tails, as in reality
_HOLIDAYS = (
    (1, 1, 3),
    (2, 8, 14),
    (4, 4, 5),
    (5, 1, 3),
    (6, 12, 12),
    (9, 20, 21),
    (10, 1, 7),
)  # month, first and last day


@dataclass(frozen=True)
class _Kind:
    """What funds of one kind have in common; volatilities are per year, skill (a deviation) per quarter."""

    share: float
    beta: float
    beta_spread: float
    style: float  # size of the loadings on styles
    rates: float  # loading on the rates factor, whose volatility is 2.5 % per year
    noise: float
    skill: float


_KINDS = {
    "mixed": _Kind(0.58, 1.0, 0.17, 0.75, 0.0, 0.05, 0.06),
    "equity": _Kind(0.17, 1.0, 0.12, 0.9, 0.0, 0.06, 0.06),
    "bond": _Kind(0.25, 0.11, 0.06, 0.1, 1.0, 0.02, 0.018),
}


@dataclass(frozen=True, eq=False)
class Universe:
    """A synthetic universe of funds; it unpacks into panel, index and expected returns.

    Parameters
    ----------
    panel : Panel
        Net asset values.
    index : Series of shape (n_days,)
        Levels of an index of the equity and mixed funds: market and cash, without skill.
    expected_returns : DataFrame of shape (n_quarters, n_funds)
        Quarter end × fund: the true expected return of the quarter that follows.

    See Also
    --------
    synthetic_universe : Draw a universe.

    Examples
    --------
    >>> from geodual.funds import synthetic_universe
    >>> panel, index, expected = synthetic_universe(5, "2014-01-02", "2014-12-31", seed=1)
    >>> panel.nav.shape, len(index)
    ((244, 5), 244)
    >>> expected.loc["2014-09-30"].round(3).to_dict()
    {'M00000': -0.016, 'B00001': 0.001, 'M00002': -0.016, 'B00003': -0.001, 'M00004': -0.131}
    """

    panel: Panel
    index: pd.Series[float]
    expected_returns: pd.DataFrame

    @property
    def facts(self) -> FundFacts:
        """The types of the funds: mixed, equity or bond."""
        codes = self.panel.nav.columns
        types = {name[0].upper(): name for name in _KINDS}
        return read_facts(pd.DataFrame({"code": codes, "type": [types[code[0]] for code in codes]}))

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over panel, index and expected returns."""
        return iter((self.panel, self.index, self.expected_returns))


def synthetic_universe(
    n_funds: int = 697,
    start: str = "2012-01-04",
    end: str = "2018-12-28",
    seed: int = 0,
    signal: float = 1.0,
    hidden: bool = False,
) -> Universe:
    """Draw a synthetic universe of funds with known expected returns, to try a study on.

    The daily return of each fund is a sum of independent parts,

        r = c + signal · a  +  β m  +  Σₖ bₖ sₖ  +  e,

    where c is cash, a the skill of the fund, m the market, s the styles (for bond funds also rates) and e the
    noise of the fund; m, s and e have mean zero.

    Parameters
    ----------
    n_funds : int
        Number of funds; about one in twelve starts late, one in twenty-five closes early.
    start : str
        First day.
    end : str
        Last day.
    seed : int
        Seed of the random numbers.
    signal : float
        Size of the skill. With 0 all funds have the same expected return at all times, so that nothing can be
        forecast.
    hidden : bool
        Whether single factors see little of the skill, so that only a combination of them finds most of it.

    Returns
    -------
    Universe
        Panel, index and true expected returns.

    Raises
    ------
    DataError
        If an argument is out of range, or there are no trading days from `start` to `end`.

    See Also
    --------
    Universe : The parts of a universe.
    backtest : Run a study on its panel.

    Notes
    -----
    The volatility of the market switches between a calm and a stormy regime. Skill is drawn anew every
    quarter and shows at the end of the quarter before: the fund first lags for four days and then catches up
    within four. So at a quarter end, the skill of the next quarter shows in how the shortest windows differ
    from the others, a small subspace of the factors. The rest shows market, style and skill that is over.

    One factor, MACD over 10 days, sees most of this. Hidden skill shows otherwise: the fund gains 11 to 14
    days before the quarter end, lags 15 to 21 days before, gains 22 to 28 days before, and lags 29 to 42 days
    before, always by the same sum. A single window mixes these spans with each other and with other days;
    differences between windows tell them apart.

    Volatilities and correlations are those of Chinese equity, mixed and bond funds, 2012–2016. The skill is
    larger than theirs, so that a study of a few years can find it.

    Examples
    --------
    >>> from geodual.funds import synthetic_universe
    >>> universe = synthetic_universe(n_funds=20, start="2014-01-02", end="2015-12-31", signal=0.0)
    >>> universe.panel.nav.shape
    (490, 20)
    >>> bool((universe.expected_returns.std(axis=1) < 1e-12).all())  # no skill, so all funds are alike
    True
    """
    n_funds, seed = check_integer("n_funds", n_funds, 1, 697), check_integer("seed", seed, 0, 0)
    if not isinstance(signal, int | float | np.floating) or not 0.0 <= signal <= _STRONGEST:
        raise DataError(f"`signal` must be from 0 to {_STRONGEST:g}, got {signal!r}; 1.0 is usual.")
    days = _trading_days(start, end)
    rng = np.random.default_rng(seed)
    kinds = rng.choice(len(_KINDS), size=n_funds, p=[kind.share for kind in _KINDS.values()])
    market = _market(len(days), rng)
    quarter = np.cumsum(~days.to_period("Q").duplicated()) - 1
    # Skill is drawn anew every quarter.
    skill = signal * (_of_kind("skill", kinds) * rng.standard_normal((int(quarter[-1]) + 2, n_funds)))
    returns = _CASH + _skilled_returns(skill, quarter, hidden) + _noise(kinds, market, rng)
    # The first letter is the kind: M, E or B.
    names = [f"{name[0].upper()}{i:05d}" for i, name in enumerate(np.array(list(_KINDS))[kinds])]
    nav = pd.DataFrame(_to_nav(returns), index=days, columns=pd.Index(names, name="fund"))
    nav_with_lives = _with_lives(nav, rng)
    name = phrase("synthetic universe, seed {n}, signal {n_signal:g}")
    if hidden:
        name = phrase("synthetic universe, seed {n}, signal {n_signal:g}, hidden")
    source = phrase(name, n=seed, n_signal=signal)
    panel = Panel(nav_with_lives, source, inspect_quality(nav_with_lives))
    index = pd.Series(_to_nav((_CASH + market)[:, None])[:, 0], index=days, name="index")
    return Universe(panel, index, _expected(nav, skill, quarter))


def _trading_days(start: str, end: str) -> pd.DatetimeIndex:
    """Return weekdays without the long Chinese holidays, on fixed dates (the real lunar ones move)."""
    days = pd.bdate_range(check_day("start", start), check_day("end", end), name="date")
    closed = np.zeros(len(days), dtype=bool)
    for month, first, last in _HOLIDAYS:
        closed |= (days.month == month) & (days.day >= first) & (days.day <= last)
    if len(days[~closed]) < 2:
        raise DataError(
            f"There are fewer than two trading days from {start} to {end}; choose `start` before `end`."
        )
    return days[~closed]


def _standard_noise(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw from Student's t distribution, scaled to variance 1."""
    return np.asarray(rng.standard_t(_TAIL, shape) * np.sqrt((_TAIL - 2.0) / _TAIL))


def _market(n_days: int, rng: np.random.Generator) -> Array:
    """Return the daily returns of the market, whose volatility follows a Markov chain of two regimes."""
    draws, regime = rng.random(n_days), np.zeros(n_days, dtype=int)
    for day in range(1, n_days):
        regime[day] = regime[day - 1] ^ int(draws[day] < _SWITCH[regime[day - 1]])
    return np.asarray(_REGIME_VOLATILITY[regime] * _standard_noise((n_days,), rng))


def _of_kind(field: str, kinds: NDArray[np.int64]) -> Array:
    """Return, for each fund, a property of its kind."""
    return np.array([getattr(kind, field) for kind in _KINDS.values()])[kinds]


def _skilled_returns(skill: Array, quarter: NDArray[np.int64], hidden: bool) -> Array:
    """Return what skill adds to each day: an even part, and the hint at the skill of the next quarter."""
    starts = np.searchsorted(quarter, np.arange(1, quarter[-1] + 2))
    days_left = starts[quarter] - np.arange(len(quarter))  # in the quarter, this day included
    spans = _HIDDEN_SPANS if hidden else ((0, _TELL_DAYS), (_TELL_DAYS, 2 * _TELL_DAYS))
    # The fund catches up in every other span, and lags in those between, so that the sum is zero.
    tell = np.zeros(len(quarter))
    for number, (after, until) in enumerate(spans):
        tell[(after < days_left) & (days_left <= until)] = (-1) ** number / (until - after)
    return (skill / _QUARTER_DAYS)[quarter] + _TELL * tell[:, None] * skill[quarter + 1]


def _noise(kinds: NDArray[np.int64], market: Array, rng: np.random.Generator) -> Array:
    """Return the part of the returns that has mean zero, day × fund."""
    n_days, n_funds = len(market), len(kinds)
    beta = _of_kind("beta", kinds) + _of_kind("beta_spread", kinds) * rng.standard_normal(n_funds)
    loadings = _of_kind("style", kinds) * rng.standard_normal((_N_STYLES, n_funds))
    styles = _STYLE_VOLATILITY * rng.standard_normal((n_days, _N_STYLES))
    rates = 0.025 / np.sqrt(_DAYS) * rng.standard_normal(n_days)
    own = _of_kind("noise", kinds) / np.sqrt(_DAYS) * _standard_noise((n_days, n_funds), rng)
    spread = rng.uniform(0.5, 1.5, n_funds)  # funds of a kind differ in how much risk they take
    common = np.outer(market, beta) + styles @ loadings + np.outer(rates, _of_kind("rates", kinds))
    return np.asarray(common + spread * own)


def _to_nav(returns: Array) -> Array:
    # The first return is not used: every NAV starts at 1. Clipping keeps NAVs positive.
    growth = np.vstack([np.ones(returns.shape[1]), 1.0 + np.clip(returns[1:], -0.5, 0.5)])
    return np.asarray(np.cumprod(growth, axis=0), dtype=float)


def _with_lives(nav: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Hide the days before a late start and after a closure; every fund starts at 1."""
    n_days, n_funds = nav.shape
    first = np.where(rng.random(n_funds) < 1 / 12, rng.integers(0, max(n_days // 2, 1), n_funds), 0)
    closes = rng.random(n_funds) < 1 / 25
    last = np.where(closes, rng.integers(n_days // 2, n_days, n_funds), n_days - 1)
    row = np.arange(n_days)[:, None]
    values = nav.to_numpy() / nav.to_numpy()[first, np.arange(n_funds)]
    lives = (row >= first) & (row <= last)
    return pd.DataFrame(np.where(lives, values, np.nan), index=nav.index, columns=nav.columns)


def _expected(nav: pd.DataFrame, skill: Array, quarter: NDArray[np.int64]) -> pd.DataFrame:
    """Return the expected returns of the quarter after each quarter end except the last."""
    ends = rebalance_days(pd.DatetimeIndex(nav.index))
    rows = nav.index.get_indexer(ends)
    drift = _CASH + (skill / _QUARTER_DAYS)[quarter[rows[1:]]]
    return pd.DataFrame((1.0 + drift) ** np.diff(rows)[:, None] - 1.0, index=ends[:-1], columns=nav.columns)
