"""Units of funds in lots, first in first out: what was bought when decides what its sale costs."""

from __future__ import annotations

from collections import deque

import numpy as np

from geodual.arrays import Array, Indices


class Lots:
    """The units of one portfolio, by position of the fund, in lots by row of purchase.

    Parameters
    ----------
    n_funds : int
        Number of funds.
    dated : bool
        Whether to remember the lots. They are not needed if sales cost nothing, and thousands of funds take
        long to remember.

    Attributes
    ----------
    units : array of shape (n_funds,)
        Units held of each fund.
    """

    def __init__(self, n_funds: int, *, dated: bool = True) -> None:
        self.units: Array = np.zeros(n_funds)
        self._queues: list[deque[tuple[int, float]]] = [deque() for _ in range(n_funds)] if dated else []

    def buy(self, funds: Indices, row: int, units: Array) -> None:
        """Add units of some funds, one lot per fund, that were bought on a row."""
        if self._queues:
            for fund, size in zip(funds.tolist(), units.tolist(), strict=True):
                self._queues[fund].append((row, size))
        self.units[funds] += units

    def oldest(self, fund: int, units: float) -> list[tuple[int, float]]:
        """Return the lots that a sale of some units takes: the row of purchase and the units of each."""
        taken, left = [], units
        for row, size in self._queues[fund]:
            if left <= 0.0:
                break
            taken.append((row, min(size, left)))
            left -= size
        return taken

    def sell(self, funds: Indices, units: Array) -> None:
        """Take units of some funds from their oldest lots; a sale of all units leaves nothing behind."""
        held = self.units[funds]
        left = np.where(units >= held, 0.0, held - units)
        if self._queues:
            for fund, size, rest in zip(funds.tolist(), units.tolist(), left.tolist(), strict=True):
                self._take(self._queues[fund], size if rest else np.inf)
        self.units[funds] = left

    @staticmethod
    def _take(queue: deque[tuple[int, float]], units: float) -> None:
        while units > 0.0 and queue:
            row, size = queue.popleft()
            if size > units:
                queue.appendleft((row, size - units))
            units -= size
