"""Factors that depend on a fund's whole history: EMA, RSI, MACD.

They skip missing values: on a missing day the factor is missing and its state does not change, and the change
across a gap counts as one change. Where no value is missing, they agree with TA-Lib.

The start of the history is forgotten slowly: after 3w values the seed still weighs about e⁻⁴ = 2 % in an EMA
of window w, and e⁻² = 14 % in an RSI.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array


class GaplessHistory:
    """The values of each fund without gaps, and the positions of the decision days among them.

    Parameters
    ----------
    nav : array of shape (n_days, n_funds)
        NAVs, NaN where there is none.
    rows : array of int, of shape (n_decisions,)
        The decision days, as rows of `nav`.

    Attributes
    ----------
    nav : array of shape (n_days, n_funds)
        The values of each fund without gaps, the first one in row 0; NaN after the last one.
    """

    def __init__(self, nav: Array, rows: NDArray[np.intp]) -> None:
        present = ~np.isnan(nav)
        # Move the values of each fund up over its gaps; transposed, since masks go through arrays row by row.
        closed = np.full(nav.T.shape, np.nan)
        closed[np.arange(len(nav)) < present.sum(axis=0)[:, None]] = nav.T[present.T]
        self.nav = np.ascontiguousarray(closed.T)
        # Row of the value on each decision day; −1 where a fund has none.
        self._row = np.where(present[rows], present.cumsum(axis=0)[rows] - 1, -1)

    @cached_property
    def moves(self) -> Array:
        """Rises and falls from one value to the next, both as positive numbers: (n_days − 1, 2, n_funds)."""
        change = np.diff(self.nav, axis=0)
        return np.stack([np.maximum(change, 0.0), np.maximum(-change, 0.0)], axis=1)

    def at_decisions(self, x: Array) -> Array:
        """Return the values of x on the decision days of each fund: (n_decisions, n_funds).

        x may have fewer rows than `nav`: the first rows, where it is not yet defined, are then left out.
        """
        row = self._row - (len(self.nav) - len(x))
        if not len(x):
            return np.full(row.shape, np.nan)
        return np.where(row >= 0, x[np.maximum(row, 0), np.arange(x.shape[1])], np.nan)


def ema(history: GaplessHistory, w: int) -> Array:
    """Return EMA_w(P)_t/P_t − 1 with α = 2/(w+1), defined from value w−1 on."""
    nav = history.at_decisions(history.nav)
    return (history.at_decisions(average(history.nav, w)) - nav) / nav


def rsi(history: GaplessHistory, w: int) -> Array:
    """Return Wilder's relative strength index 100·G/(G+L), defined from value w on; 0 for a flat fund.

    G and L are the gains and losses of P, each smoothed with α = 1/w.
    """
    moves = smooth(history.moves, w, 1.0 / w)
    gain, loss = history.at_decisions(moves[:, 0]), history.at_decisions(moves[:, 1])
    return np.where(gain + loss == 0.0, 0.0, 100.0 * gain / (gain + loss))


def macd(history: GaplessHistory, w: int) -> Array:
    """Return the MACD histogram (DIF − EMA_s(DIF))/P_t with DIF = EMA_f(P) − EMA_w(P), from value w+s−2 on.

    f = round(12w/26) and s = round(9w/26), in the proportions of the usual 12, 26 and 9. As in TA-Lib, the
    seeds of both averages end at value w−1.
    """
    fast, signal = min(max(2, round(12 * w / 26)), w), _signal_window(w)
    # Starting w − fast values later, the fast average has its first value on the same day as the slow one.
    difference = average(history.nav[w - fast :], fast) - average(history.nav, w)
    histogram = difference[signal - 1 :] - average(difference, signal)
    return history.at_decisions(histogram) / history.at_decisions(history.nav)


def macd_values_needed(w: int) -> int:
    """Return the number of values that MACD over w days needs."""
    return w + _signal_window(w) - 1


def _signal_window(w: int) -> int:
    return max(1, round(9 * w / 26))


def average(x: Array, w: int) -> Array:
    """Return the exponential moving average over w rows: `smooth` with α = 2/(w+1)."""
    return smooth(x, w, 2.0 / (w + 1.0))


def smooth(x: Array, w: int, alpha: float) -> Array:
    r"""Return the exponential average along the first axis, seeded with the mean of the first w rows.

    .. math:: s_{w-1} = \frac1w \sum_{i<w} x_i, \qquad s_t = s_{t-1} + α (x_t - s_{t-1}).

    Parameters
    ----------
    x : array of shape (n, …)
        Values.
    w : int
        Number of rows in the seed.
    alpha : float
        Weight of the latest value.

    Returns
    -------
    array of shape (max(n − w + 1, 0), …)
        The averages from row w−1 on.
    """
    result = np.empty((max(len(x) - w + 1, 0), *x.shape[1:]))
    if len(result):
        # The mean as x₀ plus a mean difference: exact for a constant series. A running sum adds in the same
        # order for any number of funds, which `mean` does not.
        result[0] = x[0] + (x[:w] - x[0]).cumsum(axis=0)[-1] / w
    step = np.empty(x.shape[1:])  # one buffer for all steps
    for value, before, after in zip(x[w:], result[:-1], result[1:], strict=True):
        np.subtract(value, before, out=step)
        step *= alpha
        np.add(before, step, out=after)
    return result
