"""Bounds on the entries of x, as constraints whose derivatives only select and scatter entries."""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as brief
from typing import Any

import numpy as np

from geodual.arrays import Array, Indices
from geodual.manifolds import Manifold
from geodual.manifolds.frame import Point, Vector

from .constraint import Constraint, FlatConstraint
from .trees import leaves, mapped

_SYMMETRIC = 1e-12  # relative difference of a random point and its transpose that counts as rounding error


class Layout:
    """The order of the entries of a point when they are joined into one vector.

    Parameters
    ----------
    example : Point
        Any point.

    Attributes
    ----------
    size : int
        Number of entries.
    """

    def __init__(self, example: Point) -> None:
        # Arrays of the right shapes that use no memory.
        self._structure = mapped(lambda part: np.broadcast_to(0.0, np.shape(part)), example)
        self._shapes = [leaf.shape for leaf in leaves(self._structure)]
        self._ends = np.cumsum([np.prod(shape, dtype=int) for shape in self._shapes])
        self.size = int(self._ends[-1])

    def joined(self, x: Vector) -> Array:
        """Return the entries of a point or an ambient vector as one vector."""
        if isinstance(x, np.ndarray):  # the common case, and this is called at every trial point
            return np.asarray(x).ravel()
        pieces: list[Array] = []
        mapped(lambda _, part: pieces.append(np.ravel(part)), self._structure, x)
        return np.concatenate(pieces)

    def shaped(self, entries: Array) -> Vector:
        """Return a vector of entries with the structure of a point."""
        if isinstance(self._structure, np.ndarray):
            return entries.reshape(self._structure.shape)
        pieces = iter(np.split(entries, self._ends[:-1]))
        return mapped(lambda leaf: next(pieces).reshape(leaf.shape), self._structure)

    def place(self, k: int) -> str:
        """Return the name of entry k, for messages."""
        part = int(np.searchsorted(self._ends, k, side="right"))
        first = 0 if part == 0 else int(self._ends[part - 1])
        index = tuple(int(i) for i in np.unravel_index(k - first, self._shapes[part]))
        entry = f"entry {index[0] if len(index) == 1 else index}"
        return entry if len(self._shapes) == 1 else f"{entry} of part {part}"

    def mirrored(self, example: Point) -> Indices:
        """Return the position of each entry's mirror image on symmetric matrices, otherwise its own."""
        partners = np.arange(self.size)
        for part, end in zip(leaves(example), self._ends, strict=True):
            if _is_symmetric(part):
                inside = slice(end - part.size, end)
                partners[inside] = partners[inside].reshape(part.shape).swapaxes(-1, -2).ravel()
        return partners


def _is_symmetric(part: Any) -> bool:
    """Return whether a random point is a symmetric matrix or a stack of them."""
    if np.ndim(part) < 2 or part.shape[-1] != part.shape[-2]:
        return False
    difference = np.abs(part - part.swapaxes(-1, -2)).max(initial=0.0)
    return bool(difference <= _SYMMETRIC * np.abs(part).max(initial=0.0))


class EntryConstraint:
    """The constraints b − x[k] for some entries and x[k] − b for others, with their derivatives.

    Parameters
    ----------
    layout : Layout
        Where the entries are.
    low, high : array of int
        The entries k with b − x[k] and those with x[k] − b, each in increasing order.
    levels : array of shape (m,)
        b of each constraint; those of `low` come first.
    """

    def __init__(self, layout: Layout, low: Indices, high: Indices, levels: Array) -> None:
        self._layout, self._split = layout, len(low)
        self._entries = np.concatenate([low, high])
        self._low, self._high = _as_slice(low), _as_slice(high)
        self._levels = np.where(np.arange(len(levels)) < self._split, levels, -levels)

    def block(self) -> Constraint:
        """Return the constraints as a block for solvers."""
        return Constraint(
            self.value, self.jacobian_product, self.directional, self.hessian_product, self.gradients
        )

    def value(self, x: Point) -> Array:
        """Return c(x)."""
        return np.asarray(self.directional(x, x) + self._levels)

    def jacobian_product(self, x: Point, w: Array) -> Vector:
        """Return Σ wₖ ∇cₖ(x)."""
        sums = np.zeros(self._layout.size)
        sums[self._high] = w[self._split :]
        sums[self._low] -= w[: self._split]  # an entry may have both bounds
        return self._layout.shaped(sums)

    def directional(self, x: Point, u: Vector) -> Array:
        """Return Dc(x)[u]."""
        entries, slopes = self._layout.joined(u), np.empty(len(self._levels))
        np.negative(entries[self._low], out=slopes[: self._split])
        slopes[self._split :] = entries[self._high]
        return slopes

    def hessian_product(self, x: Point, w: Array, u: Vector) -> Vector:
        """Return 0: the constraints are linear."""
        return self._layout.shaped(np.zeros(self._layout.size))

    def gradients(self, x: Point, indices: Indices) -> Sequence[Vector]:
        """Return the gradients of some of the constraints."""
        return [self._gradient(k) for k in indices]

    def _gradient(self, k: int) -> Vector:
        unit = np.zeros(self._layout.size)
        unit[self._entries[k]] = -1.0 if k < self._split else 1.0
        return self._layout.shaped(unit)


def _as_slice(indices: Indices) -> Indices | slice:
    """Return a slice, which is much faster, if the indices are a range, as for bounds on all entries."""
    if len(indices) and indices[-1] - indices[0] == len(indices) - 1:
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


def all_entries(manifold: Manifold, name: str) -> FlatConstraint:
    """Return x itself as a block, for terms without a map.

    Parameters
    ----------
    manifold : Manifold
        The manifold; one random point shows the structure of points.
    name : str
        Name of the term, for messages.
    """
    example = manifold.random_point(np.random.default_rng(0))
    _spread(0.0, example, manifold, name, -np.inf)  # rejects complex entries, and quotients
    layout = Layout(example)
    every = np.arange(layout.size)
    entries = EntryConstraint(layout, every[:0], every, np.zeros(layout.size))
    shape = np.shape(example) if isinstance(example, np.ndarray) else (layout.size,)
    derivatives = (entries.jacobian_product, entries.directional, entries.hessian_product, entries.gradients)
    return FlatConstraint(entries.value, *derivatives, original_shape=lambda x: shape)


class Bounds:
    """The bounds lower ≤ x ≤ upper on the entries of x, as passed to `Problem`.

    Only finite bounds are constraints. If both bounds of an entry are equal, it has one equality instead of
    two inequalities. An entry of a symmetric matrix and its mirror image count as one, with the tighter
    bounds of the two.

    Parameters
    ----------
    manifold : Manifold
        The manifold; one random point shows the structure of points.
    lower, upper : any
        The bounds, as in `Problem`.

    Attributes
    ----------
    lower, upper : Vector
        The bounds with the structure of a point; ±inf for no bound.
    inequalities, equalities : tuple of Constraint
        At most one block each.
    """

    def __init__(self, manifold: Manifold, lower: Any, upper: Any) -> None:
        example = manifold.random_point(np.random.default_rng(0))
        self._layout = Layout(example)
        self._partners = self._layout.mirrored(example)
        low = _spread(lower, example, manifold, "lower", -np.inf)
        high = _spread(upper, example, manifold, "upper", np.inf)
        low, high = np.maximum(low, low[self._partners]), np.minimum(high, high[self._partners])
        self._check_order(low, high)
        self.lower, self.upper = self._layout.shaped(low), self._layout.shaped(high)
        first = np.arange(self._layout.size) <= self._partners
        self._fixed = np.flatnonzero(first & (low == high))
        self._low = np.flatnonzero(first & np.isfinite(low) & (low < high))
        self._high = np.flatnonzero(first & np.isfinite(high) & (low < high))
        levels = np.concatenate([low[self._low], high[self._high]])
        self.inequalities = self._blocks(self._low, self._high, levels)
        self.equalities = self._blocks(self._fixed[:0], self._fixed, low[self._fixed])

    def _check_order(self, low: Array, high: Array) -> None:
        if (low > high).any():
            k = int(np.flatnonzero(low > high)[0])
            raise ValueError(
                f"`lower` must not exceed `upper`, got {low[k]:g} > {high[k]:g} at {self._layout.place(k)}; "
                "exchange them, or use -inf and inf for no bound."
            )

    def _blocks(self, low: Indices, high: Indices, levels: Array) -> tuple[Constraint, ...]:
        return (EntryConstraint(self._layout, low, high, levels).block(),) if levels.size else ()

    def positions(self, n_inequalities: int, n_equalities: int) -> Indices:
        """Return the entry of x that each constraint of the problem bounds; −1 if it is not a bound.

        Parameters
        ----------
        n_inequalities, n_equalities : int
            Total numbers of constraints of the problem; the bounds come last.
        """
        bounded = np.concatenate([self._low, self._high])
        parts = ((n_inequalities, bounded), (n_equalities, self._fixed))
        return np.concatenate([np.append(np.full(n - len(own), -1), own) for n, own in parts])

    def multipliers(self, inequalities: Array, equalities: Array) -> tuple[Vector, Vector]:
        """Return the multipliers of the lower and the upper bounds, with the structure of a point.

        They are at least 0, and 0 where there is no bound. The Euclidean gradient of the bounds' part of the
        Lagrangian is the upper multipliers minus the lower ones. So on symmetric matrices, an entry and its
        mirror image have half of the multiplier each.

        Parameters
        ----------
        inequalities, equalities : array
            The multipliers of all constraints of the problem; those of the bounds come last.
        """
        n = len(inequalities) - len(self._low) - len(self._high)
        low, high = np.zeros(self._layout.size), np.zeros(self._layout.size)
        low[self._low], high[self._high] = np.split(inequalities[n:], [len(self._low)])
        fixed = equalities[len(equalities) - len(self._fixed) :]
        # x = b has one multiplier; its sign shows which of the two bounds is active.
        low[self._fixed], high[self._fixed] = np.maximum(-fixed, 0.0), np.maximum(fixed, 0.0)
        low, high = (0.5 * (part + part[self._partners]) for part in (low, high))
        return self._layout.shaped(low), self._layout.shaped(high)


def _spread(given: Any, example: Point, manifold: Any, name: str, none: float) -> Array:
    """Return one bound per entry, given one for all entries or one per part of a product."""
    if isinstance(example, dict):
        return _spread(_in_order(given, list(example), name), tuple(example.values()), manifold, name, none)
    if not isinstance(example, (tuple, list)):
        return _of_array(given, example, manifold, name, none)
    if not isinstance(given, (tuple, list)) and np.ndim(given) == 0:  # None counts as a number here
        given = [given] * len(example)
    if not isinstance(given, (tuple, list)) or len(given) != len(example):
        found = f"{len(given)} parts" if isinstance(given, (tuple, list)) else type(given).__name__
        raise ValueError(
            f"`{name}` must be a number or a tuple of {len(example)} parts, one per factor, got {found}; use "
            "None for a part without bounds."
        )
    parts = zip(given, example, manifold.factors, strict=True)
    return np.concatenate([_spread(part, x, factor, name, none) for part, x, factor in parts])


def _in_order(given: Any, keys: list[Any], name: str) -> Any:
    """Return the bounds of the parts of a named product, in the order of the names."""
    if not isinstance(given, dict):
        return given
    unknown = [key for key in given if key not in keys]
    if unknown:
        raise ValueError(f"`{name}` has the unknown key {unknown[0]!r}; those of a point are {keys}.")
    return tuple(given.get(key) for key in keys)


def _of_array(given: Any, example: Array, manifold: Any, name: str, none: float) -> Array:
    """Return one bound per entry of an array."""
    shape = np.shape(example)
    if given is None:
        return np.full(int(np.prod(shape)), none)
    try:
        bound = np.broadcast_to(np.asarray(given, dtype=float), shape).ravel()
    except (TypeError, ValueError):
        raise ValueError(
            f"`{name}` must be a number or an array of numbers of shape {shape}, like a point, got "
            f"{brief(given)}."
        ) from None
    if np.isnan(bound).any() or (bound == -none).any():
        wrong = bound[np.isnan(bound) | (bound == -none)][0]
        raise ValueError(f"`{name}` must not hold {wrong}; use {none} for an entry without bound.")
    if np.isfinite(bound).any():
        _check_entries(example, manifold, name)
    return np.asarray(bound)


def _check_entries(example: Any, manifold: Any, name: str) -> None:
    """Raise an error if entries are complex, or if several arrays represent one point."""
    if np.iscomplexobj(example):
        raise ValueError(f"`{name}` needs real entries, but those of {manifold} are complex; leave it out.")
    if manifold.quotient:
        raise ValueError(
            f"`{name}` cannot bound a point of {manifold}, a quotient: many arrays with different entries "
            "represent one point. Use a manifold whose points are arrays, such as Stiefel, not Grassmann."
        )
