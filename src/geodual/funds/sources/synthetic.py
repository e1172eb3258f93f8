"""A universe of funds that never were: documented, calibrated, with known expected returns.

Each fund's daily return is a sum of independent parts,

    r = c + signal · a  +  β m  +  Σₖ bₖ sₖ  +  e,

where c is cash, a the fund's skill, m the market, s the styles (for bond funds also rates) and e the fund's
own noise; m, s and e have mean zero. Market volatility switches between a calm and a stormy regime. Skill is
drawn anew every quarter and gives itself away at the end of the quarter before: the fund first lags for four
days and then catches up within four. So at a quarter end the skill of the quarter ahead shows in how the
shortest windows differ from the others, a small subspace of the factors; most of what the factors say is
market, style and skill that is over. With ``signal=0`` all funds have the same expected return at every time,
and nothing can be forecast. Volatilities and correlations are those of Chinese equity, mixed and bond funds,
2012–2016; the skill is larger than theirs, so that a study of a few years can find it.
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
from ..panel import Panel
from .reading.quality import inspect_quality

_DAYS = 244  # trading days in a year
_CASH = 0.02 / _DAYS
_REGIME_VOLATILITY = np.array([0.16, 0.36]) / np.sqrt(_DAYS)
_SWITCH = np.array([1 / 240, 1 / 80])  # daily probability of leaving the calm and the stormy regime
_STYLE_VOLATILITY = 0.05 / np.sqrt(_DAYS)
_N_STYLES = 4
_TELL_DAYS = 4  # for which a fund catches up at the end of a quarter, and lags before
_TELL = 0.25  # what it catches up, as a share of the next quarter's skill
_TAIL = 5.0  # degrees of freedom of the market's and the funds' noise
_HOLIDAYS = (
    (1, 1, 3),
    (2, 8, 14),
    (4, 4, 5),
    (5, 1, 3),
    (6, 12, 12),
    (9, 20, 21),
    (10, 1, 7),
)  # month, first, last


@dataclass(frozen=True)
class _Kind:
    """What funds of one kind have in common; volatilities a year, skill a quarter (standard deviations)."""

    share: float
    beta: float
    beta_spread: float
    style: float  # size of the loadings on styles
    rates: float  # loading on the rates factor, volatility 2.5 % a year
    noise: float
    skill: float


_KINDS = {
    "mixed": _Kind(0.58, 1.0, 0.17, 0.75, 0.0, 0.05, 0.06),
    "equity": _Kind(0.17, 1.0, 0.12, 0.9, 0.0, 0.06, 0.06),
    "bond": _Kind(0.25, 0.11, 0.06, 0.1, 1.0, 0.02, 0.018),
}


@dataclass(frozen=True, eq=False)
class Universe:
    """A synthetic universe; it unpacks into its three parts.

    Attributes
    ----------
    panel : Panel
        Net asset values; ``panel.nav``.
    index : Series
        An index of the equity and mixed funds: market and cash, without skill.
    expected_returns : DataFrame
        Quarter end × fund: the true expected return of the quarter that follows.
    """

    panel: Panel
    index: pd.Series[float]
    expected_returns: pd.DataFrame

    def __iter__(self) -> Iterator[Any]:
        """Give panel, index and expected returns in turn."""
        return iter((self.panel, self.index, self.expected_returns))


def synthetic_universe(
    n_funds: int = 697,
    start: str = "2012-01-04",
    end: str = "2018-12-28",
    seed: int = 0,
    signal: float = 1.0,
) -> Universe:
    """Draw a universe of funds; the module's text has the generating process.

    Parameters
    ----------
    n_funds : int
        Number of funds; about one in twelve starts late, one in twenty-five closes early.
    start, end : str
        First and last day.
    seed : int
        Of all that is drawn.
    signal : float
        Size of skill: 1 as in the module's text, 0 for none, so that nothing can be forecast.

    Returns
    -------
    Universe
        ``panel, index, expected_returns``.
    """
    if n_funds < 1 or seed < 0 or not 0.0 <= signal < np.inf:
        raise DataError(
            "`n_funds` must be positive, `seed` and `signal` not negative, "
            f"got {n_funds}, {seed} and {signal}."
        )
    days = _trading_days(start, end)
    rng = np.random.default_rng(seed)
    kinds = rng.choice(len(_KINDS), size=n_funds, p=[kind.share for kind in _KINDS.values()])
    market = _market(len(days), rng)
    quarter = np.cumsum(~days.to_period("Q").duplicated()) - 1
    skill = signal * _skill(kinds, int(quarter[-1]) + 2, rng)
    returns = _CASH + _skilled_returns(skill, quarter) + _noise(kinds, market, rng)
    names = [f"{name[0].upper()}{i:05d}" for i, name in enumerate(np.array(list(_KINDS))[kinds])]
    nav = pd.DataFrame(_to_nav(returns), index=days, columns=pd.Index(names, name="fund"))
    nav_with_lives = _with_lives(nav, rng)
    source = f"synthetic universe, seed {seed}, signal {signal:g}"
    panel = Panel(nav_with_lives, source, inspect_quality(nav_with_lives))
    index = pd.Series(_to_nav((_CASH + market)[:, None])[:, 0], index=days, name="index")
    return Universe(panel, index, _expected(nav, skill, quarter))


def _trading_days(start: str, end: str) -> pd.DatetimeIndex:
    """Return weekdays without the long Chinese holidays (roughly: the lunar ones move in truth)."""
    try:
        days = pd.bdate_range(start, end, name="date")
    except ValueError:
        raise DataError(f"`start` and `end` must be dates such as 2012-01-04, got {start}, {end}.") from None
    closed = np.zeros(len(days), dtype=bool)
    for month, first, last in _HOLIDAYS:
        closed |= (days.month == month) & (days.day >= first) & (days.day <= last)
    if len(days[~closed]) < 2:
        raise DataError(f"No trading days from {start} to {end}; choose `start` before `end`.")
    return days[~closed]


def _standard_noise(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw from Student's t, scaled to variance one."""
    return np.asarray(rng.standard_t(_TAIL, shape) * np.sqrt((_TAIL - 2.0) / _TAIL))


def _market(n_days: int, rng: np.random.Generator) -> Array:
    draws, regime = rng.random(n_days), np.zeros(n_days, dtype=int)
    for day in range(1, n_days):
        regime[day] = regime[day - 1] ^ int(draws[day] < _SWITCH[regime[day - 1]])
    return np.asarray(_REGIME_VOLATILITY[regime] * _standard_noise((n_days,), rng))


def _of_kind(field: str, kinds: NDArray[np.int64]) -> Array:
    """Return a property of its kind for each fund."""
    return np.array([getattr(kind, field) for kind in _KINDS.values()])[kinds]


def _skill(kinds: NDArray[np.int64], n_quarters: int, rng: np.random.Generator) -> Array:
    """Return the skill of each fund in each quarter, drawn anew every time."""
    return np.asarray(_of_kind("skill", kinds) * rng.standard_normal((n_quarters, len(kinds))))


def _skilled_returns(skill: Array, quarter: NDArray[np.int64]) -> Array:
    """Return what skill adds to each day: an even part, and how the next quarter's gives itself away."""
    starts = np.searchsorted(quarter, np.arange(1, quarter[-1] + 2))
    days_left = starts[quarter] - np.arange(len(quarter))  # in the quarter, this day included
    tell = np.where(days_left <= _TELL_DAYS, 1.0, np.where(days_left <= 2 * _TELL_DAYS, -1.0, 0.0))
    return _daily(skill)[quarter] + (_TELL / _TELL_DAYS) * tell[:, None] * skill[quarter + 1]


def _daily(skill: Array) -> Array:
    return skill / (_DAYS / 4)


def _noise(kinds: NDArray[np.int64], market: Array, rng: np.random.Generator) -> Array:
    """Return the part of the returns with mean zero, day × fund."""
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
    growth = np.vstack([np.ones(returns.shape[1]), 1.0 + np.clip(returns[1:], -0.5, 0.5)])
    return np.asarray(np.cumprod(growth, axis=0), dtype=float)


def _with_lives(nav: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Hide the days before a late start and after a closure; every start is at 1."""
    n_days, n_funds = nav.shape
    first = np.where(rng.random(n_funds) < 1 / 12, rng.integers(0, max(n_days // 2, 1), n_funds), 0)
    closes = rng.random(n_funds) < 1 / 25
    last = np.where(closes, rng.integers(n_days // 2, n_days, n_funds), n_days - 1)
    row = np.arange(n_days)[:, None]
    values = nav.to_numpy() / nav.to_numpy()[first, np.arange(n_funds)]
    lives = (row >= first) & (row <= last)
    return pd.DataFrame(np.where(lives, values, np.nan), index=nav.index, columns=nav.columns)


def _expected(nav: pd.DataFrame, skill: Array, quarter: NDArray[np.int64]) -> pd.DataFrame:
    """Return the expected return of the quarter after each quarter end, but the last."""
    ends = rebalance_days(pd.DatetimeIndex(nav.index))
    rows = nav.index.get_indexer(ends)
    drift = _CASH + _daily(skill)[quarter[rows[1:]]]
    return pd.DataFrame((1.0 + drift) ** np.diff(rows)[:, None] - 1.0, index=ends[:-1], columns=nav.columns)
