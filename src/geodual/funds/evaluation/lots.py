"""Units of funds in lots, first in first out: what was bought when decides what its sale costs."""

from __future__ import annotations

from collections import deque

import numpy as np

from geodual.arrays import Array


class Lots:
    """The lots of one portfolio, by position of the fund.

    Parameters
    ----------
    n_funds : int
        Number of funds.

    Attributes
    ----------
    units : array of shape (n_funds,)
        Units held of each fund.
    """

    def __init__(self, n_funds: int) -> None:
        self.units: Array = np.zeros(n_funds)
        self._queues: list[deque[tuple[int, float]]] = [deque() for _ in range(n_funds)]

    def buy(self, fund: int, row: int, units: float) -> None:
        """Add a lot that was bought on a row."""
        self._queues[fund].append((row, units))
        self.units[fund] += units

    def oldest(self, fund: int, units: float) -> list[tuple[int, float]]:
        """Return the lots that a sale of some units takes: the row of purchase and the units of each."""
        taken, left = [], units
        for row, size in self._queues[fund]:
            if left <= 0.0:
                break
            taken.append((row, min(size, left)))
            left -= size
        return taken

    def sell(self, fund: int, units: float) -> None:
        """Take units from the oldest lots; a sale of all units leaves nothing behind."""
        queue, left = self._queues[fund], units
        if units >= self.units[fund]:
            queue.clear()
            self.units[fund] = 0.0
            return
        while left > 0.0 and queue:
            row, size = queue.popleft()
            if size > left:
                queue.appendleft((row, size - left))
            left -= size
        self.units[fund] -= units
