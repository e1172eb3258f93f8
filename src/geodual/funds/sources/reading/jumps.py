"""Find moves that similar funds do not share: distributions, splits, wrong values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from ...panel import Finding
from .beyond_chance import beyond_chance
from .peers import compare_with_peers, median_of_known, robust_deviation

LEAST_MOVE = 0.008  # a smaller share of the NAV hardly changes a result: a bond fund earns it in a quarter
DOUBT = 0.10  # share by which an expected move may be wrong: on a day of large moves, funds differ more
UNDONE = 0.5  # a move is taken back if the move before or after undoes more than this share of it
OWN = 0.5  # share of the difference from similar funds that must be a move of the fund itself
SPLIT = 0.40  # a larger move, up or down, is that of a split: it halves or doubles a NAV
MARKET_FUNDS = 10  # the median of this many funds is a market
MARKET_SIGMAS = 8.0  # the market jumps if it moves by more than this many of its robust standard deviations

Mask = NDArray[np.bool_]


def inspect_jumps(funds: Any, step: Array, days: NDArray[Any]) -> Iterator[Finding]:
    """Return the jumps of each fund; `step` holds the returns, day × fund, and `days` one day more."""
    if not step.size:
        return
    peers = compare_with_peers(step)
    alone = np.isnan(peers.expected)
    market = np.nan_to_num(median_of_known(step, axis=1, least=2))[:, None]
    expected = np.where(alone, market, peers.expected)
    scale = np.where(alone, robust_deviation(step, axis=0), peers.scale)
    excess = _without_catching_up(_against_jumping_market(step - expected, step), step)
    # A fund that hardly moves while similar funds do pays nothing: it is late, or in cash.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        move = np.where(step / excess > OWN, excess, 0.0)
        size = move / np.hypot(scale, DOUBT * expected)
    size[~np.isfinite(size)] = 0.0
    spread, matters = median_of_known(scale, axis=0), np.abs(move) > LEAST_MOVE
    stays, back = np.where(_is_undone(excess), 0.0, size), _taken_back(size)
    fall = beyond_chance(-stays, stays, spread) & matters
    wrong = _both_days(beyond_chance(back, back, spread)) & matters
    found = fall | wrong | (np.abs(move) > SPLIT)
    for at in np.flatnonzero(found.any(axis=0)):
        rows = np.flatnonzero(found[:, at])
        worst = rows[np.abs(move[rows, at]).argmax()]
        against = np.nan if alone[worst, at] else excess[worst, at]
        message = _describe(step[worst, at], against, bool(wrong[worst, at]))
        yield Finding("jump", True, funds[at], days[rows[0] + 1], len(rows), message)


def _describe(move: float, excess: float, wrong: bool) -> str:
    text = f"A one-day move of {move:+.1%}"
    if not np.isnan(excess):
        text += f", {100.0 * excess:+.1f} points against similar funds"
    if wrong:
        return f"{text}, is taken back at once; it looks like a wrong value."
    return f"{text}; if it is a distribution or a split, use adjusted NAVs."


def _smaller(one: Array, other: Array) -> Array:
    """Return the smaller of two moves, 0 if their signs differ."""
    smaller = np.sign(one) * np.minimum(np.abs(one), np.abs(other))
    return np.asarray(np.where(np.sign(one) * np.sign(other) < 0.0, 0.0, smaller))


def _against_jumping_market(excess: Array, step: Array) -> Array:
    """Return the differences; on days on which the whole market jumps, those from the market if smaller."""
    market = median_of_known(step, axis=1, least=MARKET_FUNDS)
    jumps = np.abs(market) > MARKET_SIGMAS * robust_deviation(market, axis=0)
    return np.where(jumps[:, None], _smaller(excess, step - market[:, None]), excess)


def _without_catching_up(excess: Array, step: Array) -> Array:
    """Return the differences; after days without a move, those over all these days if smaller."""
    missed, over_all = np.zeros(step.shape[1]), excess.copy()
    for row in range(len(step)):
        over_all[row] += missed
        missed = np.where(step[row] == 0.0, over_all[row], 0.0)
    return np.where(step == 0.0, excess, _smaller(excess, over_all))


def _is_undone(excess: Array) -> Mask:
    """Return which moves the move before or after takes back: a value was wrong, or one fund was late."""
    move = np.log1p(np.maximum(excess, -0.99))  # so that a rise by a half and a fall by a third are equal
    edge = np.full((1, move.shape[1]), np.nan)
    neighbours = np.vstack([edge, move[:-1]]), np.vstack([move[1:], edge])
    back = [(other * move < 0.0) & (np.abs(other) > UNDONE * np.abs(move)) for other in neighbours]
    return np.asarray(back[0] | back[1])


def _taken_back(size: Array) -> Array:
    """Return how much of each move the next takes back, in scales; negative if it goes on instead."""
    smaller = np.minimum(np.abs(size[:-1]), np.abs(size[1:]))
    return np.asarray(-np.sign(size[:-1]) * np.sign(size[1:]) * smaller)


def _both_days(pairs: Mask) -> Mask:
    edge = np.zeros((1, pairs.shape[1]), dtype=bool)
    return np.asarray(np.vstack([pairs, edge]) | np.vstack([edge, pairs]))
