"""Find jumps: what a fund does beside the funds that move like it, and what chance does not explain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

from ...language import phrase
from ...panel import Finding

LEAST_MOVE = 0.008  # a smaller share of the NAV hardly changes a result: a bond fund earns it in a quarter
DOUBT = 0.10  # share by which an expected move may be wrong: on a day of large moves, funds differ more
UNDONE = 0.5  # a move is taken back if the move before or after undoes more than this share of it
OWN = 0.5  # share of the difference from similar funds that must be a move of the fund itself
SPLIT = 0.40  # a larger move, up or down, is that of a split: it halves or doubles a NAV
MARKET_FUNDS = 10  # the median of this many funds is a market
MARKET_SIGMAS = 8.0  # the market jumps if it moves by more than this many of its robust standard deviations

Mask = NDArray[np.bool_]
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
_NEAR = 20  # rows before and after a day that show how lively a fund is at the time
_LEAST_NEAR = 10
_MEAN_SIZE = 0.8  # mean of |z| for a standard normal z
BLOCK = 512  # number of funds compared with all others at a time, to limit memory

Indices = NDArray[np.intp]
FALSE_SHARE = 0.25  # share of the funds found that may be there by chance, on average
RANK = 5  # of the value of a fund that shows its usual extremes: a few errors do not change it
LEAST_VALUES = 30  # with fewer moves, a fund does not show its usual extremes
FUNDS_ALIKE = 150  # funds that are judged together; fewer do not show the shape of a tail
FEW_FUNDS = 30  # with fewer funds, the tail is taken to be
USUAL_TAIL = 4.0  # that of Chinese funds 2012–2016 and of Indian funds 2006–2025: P(ratio > r) ~ r⁻⁴
THIN_TAIL = 20.0  # no tail is thinner; that of normal values over ten years is r⁻¹⁴


_DAILY = (
    phrase("A one-day move of {move:+.1%}"),
    phrase("A one-day move of {move:+.1%}, {n:+.1f} points against similar funds"),
)
_SPARSE = (
    phrase("A one-{row} move of {move:+.1%}"),
    phrase("A one-{row} move of {move:+.1%}, {n:+.1f} points against similar funds"),
)


def inspect_jumps(funds: Any, step: Array, days: NDArray[Any], row: str = "day") -> Iterator[Finding]:
    """Return the jumps of each fund; `step` holds the returns, row × fund, and `days` one day more.

    `row` says what a row stands for, such as "month". Windows are counted in rows: a comparison with other
    funds needs as many, however far apart they are.
    """
    if not step.size:
        return
    from_peers, scale = _compare_with_peers(step)
    alone = np.isnan(from_peers)
    market = np.nan_to_num(median_of_known(step, axis=1, least=2))[:, None]
    expected = np.where(alone, market, from_peers)
    scale = np.where(alone, robust_deviation(step, axis=0), scale)
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
        message = _describe(step[worst, at], against, bool(wrong[worst, at]), row)
        yield Finding("jump", True, funds[at], days[rows[0] + 1], len(rows), message)


def _describe(move: float, excess: float, wrong: bool, row: str) -> str:
    alone, beside = _DAILY if row == "day" else _SPARSE
    text = phrase(alone if np.isnan(excess) else beside, row=row, move=move, n=100.0 * excess)
    if wrong:
        return phrase("{move}, is taken back at once; it looks like a wrong value.", move=text)
    return phrase("{move}; if it is a distribution or a split, use adjusted NAVs.", move=text)


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
    neighbors = np.vstack([edge, move[:-1]]), np.vstack([move[1:], edge])
    back = [(other * move < 0.0) & (np.abs(other) > UNDONE * np.abs(move)) for other in neighbors]
    return np.asarray(back[0] | back[1])


def _taken_back(size: Array) -> Array:
    """Return how much of each move the next takes back, in scales; negative if it goes on instead."""
    smaller = np.minimum(np.abs(size[:-1]), np.abs(size[1:]))
    return np.asarray(-np.sign(size[:-1]) * np.sign(size[1:]) * smaller)


def _both_days(pairs: Mask) -> Mask:
    edge = np.zeros((1, pairs.shape[1]), dtype=bool)
    return np.asarray(np.vstack([pairs, edge]) | np.vstack([edge, pairs]))


def _compare_with_peers(step: Array) -> tuple[Array, Array]:
    """Compare the returns of all funds, day × fund, with the funds that move like each.

    Return what these expect, and the robust standard deviation of the difference, larger at times and on days
    on which funds differ more; NaN if too few are known. The comparison is made window by window, about a
    year each, because funds change what they hold.

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
    return expected, scale


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
    """Return what other residuals predict of each residual, by a ridge regression; 0 if nothing."""
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
    yield from (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


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


def beyond_chance(values: Array, chance: Array, spread: Array) -> Mask:
    """Return which values are larger than chance explains.

    Each value is divided by the fifth largest chance value of its fund. How large such ratios get by chance
    is seen in the funds that are about as volatile: their largest chance values, divided by their fifth
    largest values, have a median and a 90 % quantile, which give a tail, which gives a p-value. The limit for
    p-values is that of Benjamini and Hochberg: of the funds found, about a quarter at most are found by
    chance. In a clean table that is less than one fund in four tables.

    Parameters
    ----------
    values : array of shape (n_days, n_funds)
        What is judged, in units of its usual size.
    chance : array of shape (n_days, n_funds)
        What chance alone makes and would be distributed like the values: those of the other sign, or the
        values themselves if only few of them are not chance.
    spread : array of shape (n_funds,)
        How volatile funds are.
    """
    found = np.zeros(values.shape, dtype=bool)
    usual = _ranked(chance)
    judged = np.flatnonzero(((values != 0.0).sum(axis=0) >= LEAST_VALUES) & (usual > 0.0))
    if not len(judged):
        return found
    with np.errstate(over="ignore"):
        ratio = np.maximum(values[:, judged], 0.0) / usual[judged]
        other = chance[:, judged].max(axis=0) / np.maximum(_ranked(values)[judged], np.finfo(float).tiny)
    p = np.ones(ratio.shape)
    order = np.argsort(spread[judged], kind="stable")
    for alike in np.array_split(order, max(1, len(order) // FUNDS_ALIKE)):
        p[:, alike] = _p_values(ratio[:, alike], other[alike])
    # A small table is judged as strictly as one of 150 funds.
    allowed = FALSE_SHARE * np.arange(1, len(judged) + 1) / max(len(judged), FUNDS_ALIKE)
    found[:, judged] = p <= max(allowed[np.sort(p.min(axis=0)) <= allowed], default=-1.0)
    return found


def _p_values(ratio: Array, other: Array) -> Array:
    """Return the probability that the largest of the ratios of a fund is as large as each, by chance.

    If values are independent with the tail r⁻ᵃ, the largest exceeds r times the fifth largest of as many
    others with the probability 1 − (1 + r⁻ᵃ)⁻⁵. A factor before r⁻ᵃ and the power a are fitted.
    """
    factor, power = 1.0, USUAL_TAIL
    if len(other) >= FEW_FUNDS:
        low, high = ((1.0 - share) ** (-1.0 / RANK) - 1.0 for share in (0.1, 0.5))
        middle, large = np.log(np.quantile(other, [0.5, 0.9]))
        power = np.log(high / low) / max(large - middle, np.log(high / low) / THIN_TAIL)
        power /= 1.0 + 2.0 / np.sqrt(len(other))  # one standard error less: few funds must not thin the tail
        factor = low * np.exp(power * large)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(-np.expm1(-RANK * np.log1p(factor * ratio**-power)))


def _ranked(values: Array) -> Array:
    """Return the fifth largest value of each fund; 0 if it is not positive, or if there are fewer values."""
    if len(values) < RANK:
        return np.zeros(values.shape[1])
    at = len(values) - RANK
    return np.asarray(np.maximum(np.partition(values, at, axis=0)[at], 0.0))
