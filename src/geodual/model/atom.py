"""Base classes of atoms: operations on arrays with derivatives and rules of convexity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from .facts import Facts, Rule, Sign

Tangents = Sequence[Any]
"""The change of each argument, as an array; None if it does not change."""


class Atom(ABC):
    """An operation on arrays, with first and second derivatives and rules of convexity.

    Derive from this class to add your own atom; `docs/add_an_atom.md` is a guide. All methods receive the
    arguments as arrays, and `memo`: what `forward` stored for the derivatives.

    Attributes
    ----------
    name : str
        Name of the atom in formulas.
    by_entries : bool
        Whether the atom compares its arguments entry by entry, even symmetric matrices, unless its value is a
        symmetric matrix.

    See Also
    --------
    Rule : A claim about the curvature of an atom.
    apply : Applies an atom to arguments.

    Examples
    --------
    The softplus function log(1 + exp(x)) is convex and increasing:

    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> x = gm.Variable(Euclidean(2), name="x")
    >>> loss = gm.sum(gm.logistic(x))
    >>> loss.atom.name, loss.args[0].atom.name, loss.is_convex()
    ('sum', 'logistic', True)
    """

    name: str = ""
    by_entries: bool = False

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the value; by default that of the first argument."""
        return shapes[0]

    def is_symmetric(self, *symmetric: bool) -> bool:
        """Return whether the value is a symmetric matrix, given whether each argument is."""
        return False

    @abstractmethod
    def forward(self, *args: Array) -> tuple[Array, Any]:
        """Return the value, and a memo for the derivatives."""

    @abstractmethod
    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        """Return the change of the value if the arguments change by `tangents`."""

    @abstractmethod
    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        """Return the gradient of ⟨weights, value⟩ with respect to argument k."""

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        """Return the change of `pullback` if the arguments change by `tangents`; None for an affine atom."""
        return None

    def sign(self, *args: Facts) -> Sign:
        """Return the sign of the value: of its eigenvalues if it is symmetric, otherwise of its entries."""
        return Sign.UNKNOWN

    def rules(self, *args: Facts) -> Sequence[Rule]:
        """Return the rules that hold for arguments with these facts."""
        return ()

    def rate(self, *args: Facts) -> float | None:
        """Return a bound on the rates if the value is a positive sum of exponentials along geodesics."""
        return None

    def third(self, *args: Facts) -> float | None:
        """Return M with −M φ″ ≤ φ‴ ≤ M φ″ along all geodesics of unit speed; None if unknown."""
        return None

    def modulus(self, *args: Facts) -> dict[object, float]:
        """Return the modulus of strong convexity in each variable."""
        return {}

    def isometry(self, *args: Facts) -> object:
        """Return the variable whose isometric image is the value, up to a constant; None if there is none."""
        return None

    def text(self, *args: str) -> str:
        """Format the atom with its arguments."""
        return f"{self.name}({', '.join(args)})"


class Linear(Atom):
    """An atom that is linear in its only argument.

    Subclasses define `apply` and its transpose `adjoint`.
    """

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """Return the value."""

    @abstractmethod
    def adjoint(self, weights: Array, shape: tuple[int, ...]) -> Array:
        """Return the transpose applied to `weights`; `shape` is that of the argument."""

    def forward(self, *args: Array) -> tuple[Array, Any]:
        return self.apply(args[0]), None

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        assert tangents[0] is not None  # only called if an argument changes
        return self.apply(tangents[0])

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return self.adjoint(weights, np.shape(args[0]))


class Bilinear(Atom):
    """An atom that is linear in each of two arguments.

    Subclasses define `apply` and `adjoint`, its transpose with respect to one argument.
    """

    @abstractmethod
    def apply(self, a: Array, b: Array) -> Array:
        """Return the value."""

    @abstractmethod
    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        """Return the gradient of ⟨weights, value⟩ with respect to argument k, given the other one."""

    def forward(self, *args: Array) -> tuple[Array, Any]:
        return self.apply(*args), None

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        first, second = tangents
        total: Any = 0.0
        if first is not None:
            total = self.apply(first, args[1])
        if second is not None:
            total = total + self.apply(args[0], second)
        return np.asarray(total)

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return self.adjoint(k, args[1 - k], weights, np.shape(args[k]))

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        other = tangents[1 - k]
        return None if other is None else self.adjoint(k, other, weights, np.shape(args[k]))
