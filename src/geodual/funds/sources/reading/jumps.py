"""Find moves that similar funds do not share: distributions, splits, wrong values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from ...panel import Finding
from .peers import compare_with_peers, median_of_known, robust_deviation

# The difference from similar funds is measured in its own robust scale, see `PeerComparison`.
FALL_SCALES = 5.0  # a fall against similar funds is found if it exceeds this many scales,
TAIL_MULTIPLE = 1.35  # this multiple of the fund's largest rise, which shows how large its chance moves are,
TAIL_MOST = 7.0  # but at most this many scales,
LEAST_FALL = 0.008  # and this share of the NAV
DOUBT = 0.10  # share by which an expected move may be wrong: on a day of large moves, funds differ more
SURE_SCALES = 10.0  # a fall matters if it exceeds this many scales, which chance does not explain,
SURE_FALL = 0.04  # or this share of the NAV, which changes results
UNDONE = 0.5  # a move is taken back if the move before or after undoes more than this share of it
WRONG_SCALES = 8.0  # a move that is taken back is found if it exceeds this many scales
WRONG_MOVE = 0.03  # and this share of the NAV
JUMP_MOVE = 0.20  # a larger difference, up or down, is always found
# Without similar funds, a fall must exceed
JUMP_SIGMAS = 8.0  # this many robust standard deviations of the fund,
JUMP_FALL = 0.03  # this share of the NAV,
MARKET_MULTIPLE = 4.0  # and this multiple of the fall of the market
MARKET_FUNDS = 10  # the median of this many funds is a market
MARKET_SIGMAS = 8.0  # the market jumps if it moves by more than this many of its robust standard deviations

Mask = NDArray[np.bool_]


def inspect_jumps(funds: Any, step: Array, days: NDArray[Any]) -> Iterator[Finding]:
    """Return the jumps of each fund; `step` holds the returns, day × fund, and `days` one day more."""
    if not step.size:
        return
    peers = compare_with_peers(step)
    excess = _against_jumping_market(step - peers.expected, step)
    with np.errstate(invalid="ignore"):  # comparisons with NaN are false, as they should be
        size = excess / np.hypot(peers.scale, DOUBT * peers.expected)
        undone = _is_undone(excess)
        fall = (excess < -LEAST_FALL) & (size < -_limits(size, undone)) & ~undone
        sure = fall & ((size < -SURE_SCALES) | (excess < -SURE_FALL))
        wrong = undone & (np.abs(size) > WRONG_SCALES) & (np.abs(excess) > WRONG_MOVE)
        large = (np.abs(excess) > JUMP_MOVE) & (np.abs(size) > FALL_SCALES)
    alone = _jumps_alone(step) & np.isnan(excess)
    found = fall | wrong | large | alone
    for at in np.flatnonzero(found.any(axis=0)):
        rows = np.flatnonzero(found[:, at])
        # Without similar funds, a move is compared with no move at all.
        moves = np.where(np.isnan(excess[rows, at]), step[rows, at], excess[rows, at])
        worst = rows[np.abs(moves).argmax()]
        matters = bool((sure | wrong | large | alone)[rows, at].any())
        message = _describe(step[worst, at], excess[worst, at], bool(wrong[worst, at]))
        yield Finding("jump", matters, funds[at], days[rows[0] + 1], len(rows), message)


def _describe(move: float, excess: float, wrong: bool) -> str:
    text = f"A one-day move of {move:+.1%}"
    if not np.isnan(excess):
        text += f", {100.0 * excess:+.1f} points against similar funds"
    if wrong:
        return f"{text}, is taken back at once; it looks like a wrong value."
    return f"{text}; if it is a distribution or a split, use adjusted NAVs."


def _limits(size: Array, undone: Mask) -> Array:
    """Return, for each fund, the number of scales from which on a fall is not chance."""
    rises = np.where(undone | np.isnan(size), 0.0, size)
    return np.asarray(np.clip(TAIL_MULTIPLE * rises.max(axis=0), FALL_SCALES, TAIL_MOST))


def _is_undone(excess: Array) -> Mask:
    """Tell which moves the move before or after takes back: a value was wrong, or one fund was late."""
    move = np.log1p(np.maximum(excess, -0.99))  # so that a rise by a half and a fall by a third are equal
    edge = np.full((1, move.shape[1]), np.nan)
    neighbours = np.vstack([edge, move[:-1]]), np.vstack([move[1:], edge])
    back = [(other * move < 0.0) & (np.abs(other) > UNDONE * np.abs(move)) for other in neighbours]
    return np.asarray(back[0] | back[1])


def _against_jumping_market(excess: Array, step: Array) -> Array:
    """Return the differences; on days on which the whole market jumps, those from the market if smaller."""
    market = median_of_known(step, axis=1, least=MARKET_FUNDS)
    jumps = np.abs(market) > MARKET_SIGMAS * robust_deviation(market, axis=0)
    other = step - market[:, None]
    smaller = np.sign(excess) * np.maximum(np.minimum(np.abs(excess), other * np.sign(excess)), 0.0)
    return np.where(jumps[:, None], smaller, excess)


def _jumps_alone(step: Array) -> Mask:
    """Tell which moves are jumps of funds that have no similar funds, from their own deviation."""
    market = median_of_known(step, axis=1, least=2)[:, None]
    none = np.isnan(market)
    market = np.where(none, 0.0, market)
    many = (~np.isnan(step)).sum(axis=1, keepdims=True) >= MARKET_FUNDS
    least = np.maximum(JUMP_SIGMAS * robust_deviation(step, axis=0), JUMP_FALL)
    with np.errstate(invalid="ignore"):
        own = (np.maximum(step, step - market) < -least) & (none | (step < MARKET_MULTIPLE * market))
        return np.asarray(own | (np.abs(step - np.where(many, market, 0.0)) > JUMP_MOVE))
