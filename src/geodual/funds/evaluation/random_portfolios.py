"""Random portfolios: what luck earns under the rules of the study.

All portfolios move side by side as arrays, a hundred times faster than one ledger per portfolio. Some rules
are simpler than those of the study: weights are equal, and where limits lower one, the rest stays in cash; an
order is filled on the day of execution at the last known value, without waiting or settlement lag; and all
units of a fund are as old as the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodual.arrays import Array, Indices

from ..config import StudyConfig
from ..decisions.picking import group_limits, most_funds
from ..sources.reading.fund_facts import FundFacts
from .market import Market
from .performance import rows_per_year, years_between
from .risk_free import RiskFree, row_rates

N_RANDOM = 1000
_MEASURES = ("annual_return", "volatility", "sharpe", "max_drawdown")
_ITERATIONS = 60  # of a contraction by at least ten: far more than rounding errors need
_NEVER = -1  # row of purchase of a fund that is not held


def draw_random_portfolios(
    market: Market,
    universes: Mapping[pd.Timestamp, pd.Index[str]],
    config: StudyConfig,
    facts: FundFacts,
    n: int = N_RANDOM,
    seed: int = 0,
    risk_free: RiskFree = 0.0,
) -> pd.DataFrame:
    """Draw portfolios of random funds, with equal weights, and measure what they earned.

    On each decision day every portfolio ranks the funds of the universe at random and picks by the rules of
    the study: the number of funds, the limits by type and company, `keep_rank` and `min_holding`. It trades
    with the same execution lag and fees.

    Parameters
    ----------
    market : Market
        Prices and fees.
    universes : mapping of Timestamp to Index
        The funds that could be chosen on each decision day, in order of time.
    config : StudyConfig
        The rules.
    facts : FundFacts
        Types and companies.
    n : int
        Number of portfolios.
    seed : int
        Seed of the random numbers.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.

    Returns
    -------
    DataFrame
        One row per portfolio: annual_return, volatility, sharpe, max_drawdown.
    """
    rng = np.random.default_rng(seed)
    rows = market.days.get_indexer(pd.DatetimeIndex(list(universes))).tolist()
    decided = dict(zip(rows, universes.values(), strict=True))
    executed = [row + config.execution_lag for row in decided]
    last = len(market.days) - 1
    book, limits = _Book(market, n, executed[0]), _limits(market, config, facts)
    for (row, funds), at, stop in zip(decided.items(), executed, [*executed[1:], last], strict=True):
        if at > last:
            break
        columns = np.asarray(pd.Index(market.funds).get_indexer(funds))
        urgency = urgency_of(rng, columns, book, row, config)
        picked = pick_at_random(columns, urgency, config.top, limits)
        book.rebalance(at, picked, weights_within(picked, limits))
        book.advance(min(stop, last))
    return _measure(book.equity, market.days[executed[0] :], risk_free)


def rank_among_random(measured: pd.DataFrame, random: pd.DataFrame) -> pd.DataFrame:
    """Return the share of the random portfolios that each portfolio beats.

    Parameters
    ----------
    measured : DataFrame
        Portfolio × measure, with the columns annual_return and sharpe.
    random : DataFrame
        From `draw_random_portfolios`.

    Returns
    -------
    DataFrame
        By portfolio: annual_return, sharpe; each is the share of random portfolios with a smaller value. NaN
        where a value is missing.
    """
    columns = {}
    for name in ("annual_return", "sharpe"):
        drawn, own = random[name].dropna().to_numpy(float), measured[name]
        shares = [(drawn < value).mean() if len(drawn) and pd.notna(value) else np.nan for value in own]
        columns[name] = pd.Series(shares, index=measured.index, dtype=float)
    return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Limit:
    """The share and the number of funds of one kind in a portfolio; `kind` is −1 where it is not known."""

    kind: Indices
    share: float
    most: int


def _limits(market: Market, config: StudyConfig, facts: FundFacts) -> list[Limit]:
    found = []
    for of_fund, share in group_limits(config, facts):
        kinds = pd.factorize(np.array([of_fund.get(fund) for fund in market.funds], dtype=object))[0]
        found.append(Limit(kinds, share, most_funds(share, config.top)))
    return found


def urgency_of(
    rng: np.random.Generator, columns: Indices, book: _Book, row: int, config: StudyConfig
) -> Array:
    """Return the order in which each portfolio fills its places, portfolio × fund; the smallest is first."""
    drawn = rng.random((book.n, len(columns)))
    if not (config.keep_rank or config.min_holding):
        return drawn
    bought = book.bought[:, columns]
    held, numbers = bought != _NEVER, np.array(book.market.day_numbers)
    # Purchases are decided as many rows earlier as trades lag.
    age = numbers[row] - numbers[np.maximum(bought - config.execution_lag, 0)]
    rank = drawn.argsort(axis=1).argsort(axis=1)
    stays = held & (rank < config.keep_rank)
    return np.where(held & (age < config.min_holding), -2.0, np.where(stays, -1.0, 0.0)) + drawn


def pick_at_random(columns: Indices, urgency: Array, top: int, limits: list[Limit]) -> Indices:
    """Return the funds of each portfolio, portfolio × place; −1 for a place that the limits leave empty."""
    if not limits:
        size = min(top, len(columns))
        best = np.argpartition(urgency, size - 1, axis=1)[:, :size]
        return np.asarray(np.sort(columns[best], axis=1))
    n = len(urgency)
    picked, filled = np.full((n, top), -1), np.zeros(n, dtype=np.intp)
    counts = [np.zeros((n, limit.kind.max() + 2), dtype=np.intp) for limit in limits]  # unknown: the last
    every = np.arange(n)
    # Candidate by candidate, all portfolios at once.
    for candidate in columns[urgency.argsort(axis=1)].T:
        room = filled < top
        for limit, count in zip(limits, counts, strict=True):
            kind = limit.kind[candidate]
            room &= (kind < 0) | (count[every, kind] < limit.most)
        for limit, count in zip(limits, counts, strict=True):
            counted = room & (limit.kind[candidate] >= 0)
            count[every[counted], limit.kind[candidate][counted]] += 1
        picked[every[room], filled[room]] = candidate[room]
        filled += room
    return picked


def weights_within(picked: Indices, limits: list[Limit]) -> Array:
    """Return the weights of the picks, portfolio × place: equal, but no kind has more than its share."""
    held, every = picked >= 0, np.arange(len(picked))[:, None]
    weights = held / np.maximum(held.sum(axis=1, keepdims=True), 1)
    for limit in limits:
        kind = np.where(held, limit.kind[picked], -1)
        counts = np.zeros((len(picked), limit.kind.max() + 2))
        np.add.at(counts, (every, kind), 1.0)  # unknown kinds are counted in the last column
        most = np.where(kind >= 0, limit.share / np.maximum(counts[every, kind], 1.0), 1.0)
        weights = np.minimum(weights, most)
    return np.asarray(weights)


class _Book:
    """The portfolios: in each place a fund, its units, and since when it is held."""

    def __init__(self, market: Market, n: int, first: int) -> None:
        self.market, self.n, self._first, self._row = market, n, first, first
        self._every = np.arange(n)[:, None]
        # Portfolio × place; an empty place has fund 0, no units, and is held since `_NEVER`.
        self._held = np.empty((n, 0), dtype=np.intp)
        self._since = np.empty((n, 0), dtype=np.intp)
        self._units = np.empty((n, 0))
        self._cash = np.ones(n)
        self.equity = np.ones((n, len(market.days) - first))
        self._redemption = _RedemptionRates(market)
        self._places = np.full((n, len(market.funds)), -1, dtype=np.int32)  # of the picks, while rebalancing

    @property
    def bought(self) -> Indices:
        """Rows of purchase, portfolio × fund; −1 of funds that are not held."""
        bought = np.full(self._places.shape, _NEVER)
        # The largest, because places that stay empty stand for the first fund.
        np.maximum.at(bought, (self._every, self._held), self._since)
        return bought

    def rebalance(self, row: int, picked: Indices, weights: Array) -> None:
        """Bring every portfolio to the weights of its picks; it pays the fees itself."""
        price, funds = self.market.filled[row], np.maximum(picked, 0)
        worth, leaving, since = self._match(picked, self._units * price[self._held])
        before = self._cash + (self._units * price[self._held]).sum(axis=1)
        fixed = (leaving * self._redemption.of(self._held, self._since, row)).sum(axis=1)
        buying, selling = self.market.purchase_rates[funds], self._redemption.of(funds, since, row)
        after = before.copy()
        for _ in range(_ITERATIONS):
            change = weights * after[:, None] - worth
            fees = fixed + (np.maximum(change, 0.0) * buying + np.maximum(-change, 0.0) * selling).sum(axis=1)
            if np.array_equal(after, before - fees):
                break
            after = before - fees
        self._since = np.where(weights > 0.0, np.where(since == _NEVER, row, since), _NEVER)
        self._held, invested = funds, after[:, None] * weights
        self._units = np.divide(
            invested, price[self._held], out=np.zeros_like(invested), where=invested > 0.0
        )
        self._cash = after - invested.sum(axis=1)
        self._row = row

    def _match(self, picked: Indices, worth: Array) -> tuple[Array, Array, Indices]:
        """Return what is held of the picks, what leaves, and the rows of purchase of the picks."""
        rows, places = np.nonzero(picked >= 0)
        self._places[rows, picked[rows, places]] = places
        place = np.where(self._since == _NEVER, -1, self._places[self._every, self._held])
        self._places[rows, picked[rows, places]] = -1
        stays = place >= 0
        owners = np.nonzero(stays)[0]
        own, since = np.zeros(picked.shape), np.full(picked.shape, _NEVER)
        own[owners, place[stays]], since[owners, place[stays]] = worth[stays], self._since[stays]
        return own, np.where(stays, 0.0, worth), since

    def advance(self, row: int) -> None:
        """Value the portfolios on the rows after the last rebalance, up to a row."""
        part = slice(self._row + 1 - self._first, row + 1 - self._first)
        prices = self.market.filled[self._row + 1 : row + 1]
        # Place by place, to keep arrays small: portfolio × row.
        value = np.repeat(self._cash[:, None], len(prices), axis=1)
        for place in range(self._held.shape[1]):
            value += self._units[:, place, None] * prices[:, self._held[:, place]].T
        self.equity[:, part] = value
        self._row = row


class _RedemptionRates:
    """Redemption fees of many funds and holding times at once."""

    def __init__(self, market: Market) -> None:
        self._market = market
        fees = market.fees
        tables = [fees.own_redemption.get(fund, fees.redemption) for fund in market.funds]
        self._tables = list(dict.fromkeys(tables))
        self._table_of = np.array([self._tables.index(table) for table in tables], dtype=np.intp)

    def of(self, funds: Indices, bought: Indices, row: int) -> Array:
        """Return the rates of sales on a row, given the funds and their rows of purchase."""
        numbers = np.array(self._market.day_numbers)
        held = numbers[row] - numbers[np.maximum(bought, 0)]
        rates = np.full(bought.shape, self._market.fees.cost)
        for number, steps in enumerate(self._tables):
            if steps:
                days, levels = (
                    np.array([day for day, _ in steps]),
                    np.array([rate for _, rate in steps] + [0.0]),
                )
                own = self._table_of[funds] == number
                rates[own] = levels[np.searchsorted(days, held[own], side="right")]
        return rates


def _measure(equity: Array, days: pd.DatetimeIndex, risk_free: RiskFree) -> pd.DataFrame:
    """Return the measures of `performance.describe` for each row of `equity`."""
    unknown = np.full(len(equity), np.nan)
    depth = (equity / np.maximum.accumulate(equity, axis=1)).min(axis=1) - 1.0
    table = pd.DataFrame(dict.fromkeys(_MEASURES, unknown)).assign(max_drawdown=depth)
    if len(days) < 3:  # too few returns for a spread
        return table
    steps, per_year = equity[:, 1:] / equity[:, :-1] - 1.0, rows_per_year(days)
    spread = steps.std(axis=1, ddof=1) * np.sqrt(per_year)
    growth = np.expm1(np.log(equity[:, -1] / equity[:, 0]) / years_between(days))
    excess = steps - row_rates(days, risk_free)
    beyond = np.where(spread > 0.0, excess.std(axis=1, ddof=1) * np.sqrt(per_year), np.nan)
    sharpe = excess.mean(axis=1) * per_year / beyond
    return table.assign(annual_return=growth, volatility=spread, sharpe=sharpe)
