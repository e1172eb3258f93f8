"""What an atom is: an operation on arrays with its derivatives, and rules about how it bends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from .facts import Facts, Rule, Sign

Tangents = Sequence[Any]
"""How each argument changes, an array each; None for one that does not."""


class Atom(ABC):
    """An operation on arrays, with first and second derivatives and rules of convexity.

    Derive from this class to add an atom of your own; `docs/add_an_atom.md` is a guide. All methods get the
    arguments as arrays, and `memo`, which is what `forward` kept for its derivatives.

    Attributes
    ----------
    name : str
        How the atom is written.
    by_entries : bool
        Whether the atom compares its arguments entry by entry, symmetric matrices as well, unless its value
        is one.

    See Also
    --------
    Rule : A claim about how an atom bends.

    Examples
    --------
    The softplus function log(1 + exp(x)) is convex and grows:

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
        """Return whether the value is a symmetric matrix, given which arguments are."""
        return False

    @abstractmethod
    def forward(self, *args: Array) -> tuple[Array, Any]:
        """Return the value, and what its derivatives need."""

    @abstractmethod
    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        """Return how the value changes if the arguments change by `tangents`."""

    @abstractmethod
    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        """Return the gradient of ⟨weights, value⟩ with respect to argument k."""

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        """Return how `pullback` changes if the arguments change by `tangents`; None for an affine atom."""
        return None

    def sign(self, *args: Facts) -> Sign:
        """Return the sign of the value: of its eigenvalues if it is symmetric, of its entries otherwise."""
        return Sign.UNKNOWN

    def rules(self, *args: Facts) -> Sequence[Rule]:
        """Return the rules that hold for arguments with these facts."""
        return ()

    def rate(self, *args: Facts) -> float | None:
        """Return a bound on the rates, if the value is a positive sum of exponentials along geodesics."""
        return None

    def third(self, *args: Facts) -> float | None:
        """Return M such that −M φ″ ≤ φ‴ ≤ M φ″ along all geodesics of unit speed; None if none is known."""
        return None

    def modulus(self, *args: Facts) -> dict[object, float]:
        """Return by how much the value is strongly convex in each variable."""
        return {}

    def isometry(self, *args: Facts) -> object:
        """Return the variable of which the value is an isometric image, up to a constant; None if none is."""
        return None

    def text(self, *args: str) -> str:
        """Return how the atom is written."""
        return f"{self.name}({', '.join(args)})"


class Linear(Atom):
    """An atom that is linear in its one argument.

    Subclasses give `apply` and its transpose `adjoint`.
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
        assert tangents[0] is not None  # an atom is asked only if an argument changes
        return self.apply(tangents[0])

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return self.adjoint(weights, np.shape(args[0]))


class Bilinear(Atom):
    """An atom that is linear in each of its two arguments.

    Subclasses give `apply`, and `adjoint`, its transpose with respect to one argument.
    """

    @abstractmethod
    def apply(self, a: Array, b: Array) -> Array:
        """Return the value."""

    @abstractmethod
    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        """Return the gradient of ⟨weights, value⟩ in argument k, given the other one."""

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
