"""Compare each step of a fund with the funds that move like it: what they expect, and how closely they agree.

The comparison is made window by window, about a year each, because funds change what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

_WINDOW = 250  # rows, about a year
_LEAST_ROWS = 60  # rows that a fund needs in a window
_PEERS = 9  # funds whose median is expected first
_LEAST_PEERS = 5  # with fewer values on a day, nothing is expected
_LEAST_CORRELATION = 0.3
_SAME = 0.999  # a larger correlation is that of a share class, which pays out on the same day
_PEERS_IN_STYLE = 30  # funds on whose residuals the residual of a fund is regressed
_SAME_STYLE = 0.9  # share classes have a larger correlation of residuals
_RIDGE = 0.5  # keeps the regression on so many funds from explaining chance
_LEAST_SPREAD = 1e-6  # funds that follow their peers exactly must not divide by zero
_CAP = 4.0  # standard deviations at which values are cut off, so that errors in the data have no weight
_CAP_ALIKE = 2.0  # the same when funds with alike residuals are looked for
_NEAR = 20  # rows before and after a day that tell how lively a fund is at the time
_LEAST_NEAR = 10
_MEAN_SIZE = 0.8  # mean of |z| for a standard normal z
_BLOCK = 512  # number of funds compared with all others at a time, to limit memory

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PeerComparison:
    """What the funds that move like it expect of each fund on each day; NaN if too few are known.

    Parameters
    ----------
    expected : array of shape (n_steps, n_funds)
        Expected returns.
    scale : array of shape (n_steps, n_funds)
        Robust standard deviation of the difference, larger at times and on days on which funds differ more.
    """

    expected: Array
    scale: Array


def compare_with_peers(step: Array) -> PeerComparison:
    """Compare the returns of all funds, day × fund, with those of their peers.

    First, the median of the 9 most correlated funds is expected, each scaled by its regression coefficient.
    What remains is regressed on what remains of the 30 funds whose remainders are most alike.
    """
    expected, scale = np.full(step.shape, np.nan), np.full(step.shape, np.nan)
    n_windows = max(1, round(len(step) / _WINDOW))
    for rows in np.array_split(np.arange(len(step)), n_windows):
        known = ~np.isnan(step[rows])
        enough = np.flatnonzero(known.sum(axis=0) >= _LEAST_ROWS)
        moves = np.ascontiguousarray(step[np.ix_(rows, enough)].T)
        lively = _spread(moves) > 0.0
        funds = enough[lively]
        if len(funds) > _LEAST_PEERS:
            here = np.ix_(rows, funds)
            found, spread = _compare(moves[lively])
            expected[here], scale[here] = found.T, spread.T
    return PeerComparison(expected, scale)


def _compare(moves: Array) -> tuple[Array, Array]:
    """Return expected returns and the scale of the difference for one window, fund × day."""
    sigma = _spread(moves)[:, None]
    z, cut, known = moves / sigma, _cut(moves / sigma), ~np.isnan(moves)
    peers, alike = _find_peers(cut, _PEERS, _SAME)
    expected = np.full(moves.shape, np.nan)
    for block in _blocks(len(moves)):
        others = cut[peers[block]]
        size = np.square(others) @ known[block, :, None].astype(others.dtype)
        slope = (others @ cut[block, :, None]) / np.maximum(size, 1e-12)
        slope[alike[block] < _LEAST_CORRELATION] = np.nan
        from_peers = z[peers[block]] * (slope * sigma[block, None])
        expected[block] = median_of_known(from_peers, axis=1, least=_LEAST_PEERS)
    expected += _expect_style(moves - expected)
    return expected, _scale_of(moves - expected, peers)


def _expect_style(residual: Array) -> Array:
    """Return what other residuals tell of each residual, by a ridge regression; 0 if they tell nothing."""
    spread = np.maximum(_spread(residual)[:, None], _LEAST_SPREAD)
    z = _cut(residual / spread)
    known = (~np.isnan(residual)).astype(z.dtype)
    # A single day must not decide who is alike, or a payment finds the funds that fell on the day by chance.
    calm = np.clip(z, -_CAP_ALIKE, _CAP_ALIKE)
    peers, alike = _find_peers(calm, _PEERS_IN_STYLE, _SAME_STYLE, either_sign=True)
    told = np.zeros(residual.shape)
    for block in _blocks(len(z)):
        # In a small table the fund itself and its share classes are among its peers, with a correlation of 0.
        others = z[peers[block]] * known[block, None] * (alike[block, :, None] != 0.0)
        gram = others @ others.transpose(0, 2, 1)
        at = np.arange(gram.shape[1])
        gram[:, at, at] += np.float32(_RIDGE) * np.maximum(known[block].sum(axis=1, keepdims=True), 1.0)
        solved = np.linalg.inv(gram) @ others  # faster than a solve, and the ridge makes it safe
        weights = others @ z[block][:, :, None]
        # The value of the day itself must not pull its expectation: the usual formula for leaving it out.
        fitted, leverage = (solved * weights).sum(axis=1), (solved * others).sum(axis=1)
        told[block] = (fitted - leverage * z[block]) / (1.0 - leverage)
    return told * np.where(np.isnan(spread), 0.0, spread)


def _scale_of(residual: Array, peers: Indices) -> Array:
    """Return the scale of each residual: that of its fund, raised while the fund or its peers are lively."""
    spread = np.maximum(_spread(residual)[:, None], _LEAST_SPREAD)
    known = ~np.isnan(residual)
    size = np.abs(_cut(residual / spread))
    lively = np.ones(residual.shape)
    for block in _blocks(len(size)):
        on_day = size[peers[block]].sum(axis=1), known[peers[block]].sum(axis=1), _LEAST_PEERS
        at_time = _sum_near(size[block]), _sum_near(known[block].astype(size.dtype)), _LEAST_NEAR
        for total, count, least in (on_day, at_time):
            mean = np.where(count >= least, total / np.maximum(count, 1), 0.0)
            lively[block] = np.maximum(lively[block], mean / _MEAN_SIZE)
    return spread * lively


def _sum_near(values: Array) -> Array:
    """Return the sums over the rows near each row, without the row itself; rows are along the last axis."""
    n_rows = values.shape[1]
    total = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=float)], axis=1)
    row = np.arange(n_rows)
    to_end, to_start = total[:, np.minimum(row + _NEAR + 1, n_rows)], total[:, np.maximum(row - _NEAR, 0)]
    return np.asarray(to_end - to_start - values)


def _find_peers(
    cut: NDArray[np.float32], count: int, limit: float, either_sign: bool = False
) -> tuple[Indices, Array]:
    """Return the other funds that are most correlated with each fund, and the correlations.

    Unknown values count as 0, so funds with few days in common are hardly correlated. A correlation above the
    limit is replaced by 0.
    """
    unit = cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True), np.float32(1e-12))
    count = min(count, len(unit) - 1)
    peers, alike = np.empty((len(unit), count), dtype=np.intp), np.empty((len(unit), count))
    for block in _blocks(len(unit)):
        correlation = unit[block] @ unit.T
        correlation[np.arange(len(correlation)), np.arange(len(correlation)) + block.start] = np.inf
        correlation[correlation > limit] = 0.0
        rank = np.abs(correlation) if either_sign else correlation
        peers[block] = np.argpartition(-rank, count - 1, axis=1)[:, :count]
        alike[block] = np.take_along_axis(correlation, peers[block], axis=1)
    return peers, alike


def _cut(scaled: Array) -> NDArray[np.float32]:
    """Return values cut off at the cap, 0 where unknown, in single precision for speed."""
    return np.nan_to_num(np.clip(scaled, -_CAP, _CAP)).astype(np.float32)


def _blocks(n: int) -> Iterator[slice]:
    yield from (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


def _spread(values: Array) -> Array:
    """Return robust standard deviations along the rows of an array."""
    return robust_deviation(values, axis=1)


def robust_deviation(values: Array, axis: int) -> Array:
    """Return the median deviation from the median, scaled to the standard deviation of a normal variable."""
    middle = np.expand_dims(median_of_known(values, axis), axis)
    return 1.4826 * median_of_known(np.abs(values - middle), axis)


def median_of_known(values: Array, axis: int, least: int = 1) -> Array:
    """Return medians that ignore NaN, much faster than `nanmedian`; NaN for fewer than `least` values."""
    ordered: Any = np.sort(values, axis=axis)  # NaN last
    count = (~np.isnan(values)).sum(axis=axis, keepdims=True)
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[axis] - 1)
    low, high = (np.take_along_axis(ordered, at, axis=axis) for at in (low, high))
    return np.where(count >= least, 0.5 * (low + high), np.nan).squeeze(axis)
