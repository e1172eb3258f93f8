"""Check a solver's claims about terms g(c(x)) by values of g alone.

The multiplier y of a term must be a subgradient of g at p, the value of the term: g(w) ≥ g(p) + ⟨y, w − p⟩
for all w. We test this at many w, near and far, and along coordinates. p must equal c(x) up to the tolerance,
and no neighbor of x may be lower. Nothing from the solver is used; prox operators serve only to find
neighbors to try, and points w where g is finite, which its value confirms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

LENGTHS = (1e-3, 1.0, 1e3)  # of steps to the points w, relative to the size of p
TRIES = 20  # random directions of each length
_DIFFERENCE = 1e-6  # step of differences of a prox, which is piecewise smooth
_STILL = 1e-3  # eigenvalue of the derivative of a prox below which the prox does not move


def flat(x: Any) -> Array:
    """Return all entries of a point as one vector."""
    if isinstance(x, (tuple, list)):
        return np.concatenate([flat(part) for part in x])
    return np.ravel(np.asarray(x))


def map_value(term: Any, x: Any) -> Array:
    """Return c(x) of a term, in its shape."""
    if term.map is not None:
        return np.asarray(term.map.value(x))
    return flat(x) if isinstance(x, (tuple, list)) else np.asarray(x)


@dataclass(frozen=True)
class TermAnswer:
    """A solver's claims about a term, with the quantities to test them.

    Attributes
    ----------
    function : Function
        g.
    c, p, y : array
        c(x), the value p of the term, and its multiplier.
    unit, cost_unit : float
        Units of c and of the cost.
    """

    function: Any
    c: Array
    p: Array
    y: Array
    unit: float
    cost_unit: float

    @property
    def distance(self) -> float:
        """Distance of c(x) from p, in units of c; infinite if g is infinite at p."""
        away = float(np.abs(self.c - self.p).max(initial=0.0)) / self.unit
        return away if np.isfinite(self.function.value(self.p)) else np.inf

    @property
    def excess(self) -> float:
        """The largest g(p) + ⟨y, w − p⟩ − g(w) over points w, in units of the cost and the distance to w."""
        at_p, greatest = self.function.value(self.p), 0.0
        for w in self._points():
            step = w - self.p
            gap = at_p + float(np.sum(self.y * step)) - self.function.value(w)
            way = 1.0 + float(np.linalg.norm(step)) / self.unit
            greatest = max(greatest, gap / (self.cost_unit * way))
        return greatest

    def _points(self) -> Iterator[Array]:
        rng = np.random.default_rng(0)
        size = max(float(np.abs(self.p).max(initial=0.0)), self.unit)
        units = np.eye(self.p.size).reshape(-1, *self.p.shape)
        steps = [*units, *(-units), *rng.standard_normal((TRIES, *self.p.shape)), self.y, -self.y, -self.p]
        for length in LENGTHS:
            for step in steps:
                w = self.p + length * size * step
                yield w
                yield self.function.prox(w, 0.0)  # a point at which constraints hold

    @cached_property
    def normals(self) -> Array:
        """An orthonormal basis, as rows, of the directions in which g has a kink or an edge at p."""
        t = self.unit**2 / self.cost_unit
        z, step = self.p + t * self.y, _DIFFERENCE * self.unit

        def moved(u: Array) -> Array:
            ahead, back = (self.function.prox(z + s * u, t) for s in (step, -step))
            return np.ravel(ahead - back) / (2.0 * step)

        units = np.eye(self.p.size).reshape(-1, *self.p.shape)
        slopes = np.array([moved(u) for u in units]).reshape(self.p.size, self.p.size)
        values, vectors = np.linalg.eigh(0.5 * (slopes + slopes.T))
        return np.asarray(vectors[:, values < _STILL].T)

    def off(self, c: Array) -> Array:
        """Return the distance of c, along the normals, from the points where g has the same kinks as at p."""
        t = self.unit**2 / self.cost_unit
        return np.asarray(self.normals @ np.ravel(c - self.function.prox(c + t * self.y, t)))

    def cost_at(self, c: Array) -> float:
        """Return g(c); if infinite, g at the nearest point plus twice the price of the distance."""
        value = float(self.function.value(c))
        if np.isfinite(value):
            return value
        q = self.function.prox(c, 0.0)
        return float(self.function.value(q)) + 2.0 * float(np.linalg.norm(self.y) * np.linalg.norm(c - q))

    @property
    def cost(self) -> float:
        """g(p) plus the price of the distance from p to c(x), which the tolerance allows."""
        return float(self.function.value(self.p) + np.sum(self.y * (self.c - self.p)))
