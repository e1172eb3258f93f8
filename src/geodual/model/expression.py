"""Expressions: variables, parameters and constants, and atoms applied to them.

An expression is a node of an acyclic graph. It has a shape, proved `facts` and a written form. `graph`
computes values and derivatives.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import (
    SPD,
    Euclidean,
    Manifold,
    PositiveOrthant,
    Simplex,
    SkewSymmetric,
    Sphere,
    Symmetric,
    as_manifold,
)

from .atom import Atom
from .facts import Curvature, Facts, Geometry, Sign, Step, apply_rules, between_means
from .graph import Graph, nodes_of

OPERATORS: dict[str, Callable[..., Expression]] = {}
"""The implementations of Python's operators for expressions, filled in by `atoms`."""

_LONGEST_TEXT = 1000  # letters, enough for any reader
_numbers = itertools.count(1)
_EPS = float(np.finfo(float).eps)
_FLAT = (Euclidean, Symmetric, SkewSymmetric)
_CONVEX_SETS = (*_FLAT, SPD, PositiveOrthant, Simplex)
"""Manifolds that are also convex sets, where convexity along straight lines makes sense."""


class Expression(ABC):
    """A formula in variables, with a value, derivatives, and a proof of its curvature.

    Write expressions with operators (``+``, ``-``, ``*``, ``/``, ``**``, ``@``, ``[]``) and with the
    functions of `geodual.model`. A comparison with ``<=``, ``>=``, ``==``, ``<<`` or ``>>`` makes a
    constraint.

    Attributes
    ----------
    shape : tuple of int
        Shape of the value.
    symmetric : bool
        Whether the value is a symmetric matrix; these expressions are compared in the Löwner order.
    value : array or None
        The value at the current values of the variables; None if a variable has no value.

    See Also
    --------
    Variable : The unknown of a problem.
    Problem : Minimizes an expression subject to constraints.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> cost = gm.log_det(X) + gm.trace(gm.inv(X))
    >>> print(cost)
    log_det(X) + trace(inv(X))
    >>> cost.is_convex(), cost.is_convex("euclidean")
    (True, False)
    """

    __array_ufunc__ = None  # so that numpy leaves operators with arrays to this class
    __hash__ = object.__hash__

    atom: Atom | None = None
    args: tuple[Expression, ...] = ()

    def __init__(self, shape: tuple[int, ...], symmetric: bool = False) -> None:
        self.shape = shape
        self.symmetric = symmetric
        self._facts: dict[Geometry, Facts] = {}

    @property
    def ndim(self) -> int:
        """Number of axes of the value."""
        return len(self.shape)

    @property
    def value(self) -> Any:
        """The value at the current values of the variables; None if a variable has no value."""
        leaves = {id(leaf): leaf.held for leaf in nodes_of([self]) if isinstance(leaf, Leaf)}
        if any(held is None for held in leaves.values()):
            return None
        graph = Graph([self], [])
        known: dict[int, Any] = {k: leaves[id(graph.nodes[k])] for k in graph.other_leaves()}
        return graph.at([], known).outputs()[0]

    def facts(self, geometry: Geometry = "geodesic") -> Facts:
        """Return the facts proved about the expression along geodesics, or along straight lines."""
        if geometry not in self._facts:
            for node in nodes_of([self]):
                if geometry not in node._facts:
                    node._facts[geometry] = node._derive(geometry)
        return self._facts[geometry]

    def argument_facts(self, geometry: Geometry) -> list[Facts]:
        """Return the facts about the arguments; empty for a leaf."""
        return []

    @abstractmethod
    def _derive(self, geometry: Geometry) -> Facts:
        """Return the facts, given those of the arguments."""

    def is_convex(self, geometry: Geometry = "geodesic") -> bool:
        """Return whether the expression is proved to be convex.

        Parameters
        ----------
        geometry : {"geodesic", "euclidean"}
            Whether along the geodesics of the manifolds, or along straight lines.
        """
        return self.facts(geometry).plain.curvature.is_convex

    def is_concave(self, geometry: Geometry = "geodesic") -> bool:
        """Return whether the expression is proved to be concave.

        Parameters
        ----------
        geometry : {"geodesic", "euclidean"}
            Whether along the geodesics of the manifolds, or along straight lines.
        """
        return self.facts(geometry).plain.curvature.is_concave

    def is_affine(self, geometry: Geometry = "geodesic") -> bool:
        """Return whether the expression is proved to be affine.

        Parameters
        ----------
        geometry : {"geodesic", "euclidean"}
            Whether along the geodesics of the manifolds, or along straight lines.
        """
        return self.facts(geometry).plain.curvature.is_affine

    def variables(self) -> list[Variable]:
        """Return the variables of the expression, in order of first appearance."""
        return [node for node in nodes_of([self]) if isinstance(node, Variable)]

    @property
    def T(self) -> Expression:
        """The transpose."""
        return self if self.symmetric or self.ndim < 2 else OPERATORS["T"](self)

    def __add__(self, other: Any) -> Expression:
        return OPERATORS["+"](self, other)

    def __radd__(self, other: Any) -> Expression:
        return OPERATORS["+"](other, self)

    def __neg__(self) -> Expression:
        return -1.0 * self

    def __sub__(self, other: Any) -> Expression:
        return self + -1.0 * as_expression(other)

    def __rsub__(self, other: Any) -> Expression:
        return as_expression(other) + -1.0 * self

    def __mul__(self, other: Any) -> Expression:
        return OPERATORS["*"](self, other)

    def __rmul__(self, other: Any) -> Expression:
        return OPERATORS["*"](other, self)

    def __truediv__(self, other: Any) -> Expression:
        divisor = as_expression(other)
        if isinstance(divisor, Constant):
            return OPERATORS["*"](self, Constant(1.0 / divisor.array))
        return OPERATORS["*"](self, divisor**-1)

    def __rtruediv__(self, other: Any) -> Expression:
        return OPERATORS["*"](other, self**-1)

    def __pow__(self, exponent: float) -> Expression:
        return OPERATORS["**"](self, exponent)

    def __matmul__(self, other: Any) -> Expression:
        return OPERATORS["@"](self, other)

    def __rmatmul__(self, other: Any) -> Expression:
        return OPERATORS["@"](other, self)

    def __getitem__(self, index: Any) -> Expression:
        return OPERATORS["[]"](self, index)

    def __le__(self, other: Any) -> Constraint:
        return Constraint(self, as_expression(other), "<=")

    def __ge__(self, other: Any) -> Constraint:
        return Constraint(as_expression(other), self, "<=")

    def __lshift__(self, other: Any) -> Constraint:
        return Constraint(self, as_expression(other), "<<")

    def __rshift__(self, other: Any) -> Constraint:
        return Constraint(as_expression(other), self, "<<")

    __rlshift__, __rrshift__ = __rshift__, __lshift__

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]
        return Constraint(self, as_expression(other), "==")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("A number has no length.")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"Expression({self})"

    def __str__(self) -> str:
        texts: dict[int, str] = {}
        for node in nodes_of([self]):
            text = node.written(*(texts[id(arg)] for arg in node.args))
            # Repeated parts are written repeatedly: without a limit, texts could double at every step.
            texts[id(node)] = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"
        return texts[id(self)]

    @abstractmethod
    def written(self, *args: str) -> str:
        """Format the expression, given its formatted arguments."""


class Application(Expression):
    """An atom applied to arguments.

    Parameters
    ----------
    atom : Atom
        The operation.
    *args : Expression or array
        Its arguments.
    """

    def __init__(self, atom: Atom, *args: Any) -> None:
        self.atom, self.args = atom, tuple(map(as_expression, args))
        shape = atom.shape(*(arg.shape for arg in self.args))
        super().__init__(shape, atom.is_symmetric(*(arg.symmetric for arg in self.args)))

    def written(self, *args: str) -> str:
        assert self.atom is not None
        return self.atom.text(*args)

    def argument_facts(self, geometry: Geometry) -> list[Facts]:
        """Return the facts about the arguments, as the atom compares them."""
        assert self.atom is not None
        args = [arg.facts(geometry) for arg in self.args]
        return [arg.by_entries for arg in args] if self.atom.by_entries and not self.symmetric else args

    def _derive(self, geometry: Geometry) -> Facts:
        atom, args = self.atom, self.argument_facts(geometry)
        assert atom is not None
        sign = atom.sign(*args)
        entries = Sign.UNKNOWN if self.symmetric else sign
        if all(arg.is_constant for arg in args):
            return _constant_facts(sign, entries, None, self.symmetric)
        rules = atom.rules(*args)
        plain, log = apply_rules(rules, args, "plain"), apply_rules(rules, args, "log")
        plain, log = between_means(plain, log, sign)
        rate, third = atom.rate(*args), atom.third(*args)
        if plain.curvature.is_affine:
            third = 0.0
        elif third is None and not self.symmetric:
            third = rate
        modulus = atom.modulus(*args) if plain.curvature.is_convex else {}
        return Facts(
            sign, entries, plain, log, rate, third, modulus, atom.isometry(*args), is_matrix=self.symmetric
        )


def apply(atom: Atom, *args: Any) -> Expression:
    """Apply your own atom to arguments.

    Parameters
    ----------
    atom : Atom
        The operation.
    *args : Expression or array
        Its arguments.

    Returns
    -------
    Expression
        The value.

    See Also
    --------
    Atom : Base class of your own atoms.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> print(gm.apply(gm.log_det(X).atom, gm.inv(X)))
    log_det(inv(X))
    """
    return Application(atom, *args)


class Leaf(Expression):
    """A leaf of the graph, with its own value."""

    def __init__(self, shape: tuple[int, ...], symmetric: bool, name: str) -> None:
        super().__init__(shape, symmetric)
        self.name = name
        self.held: Array | None = None

    def written(self, *args: str) -> str:
        return self.name


class Variable(Leaf):
    """An unknown on a manifold.

    Parameters
    ----------
    manifold : Manifold
        The manifold of its values.
    name : str, optional
        Its name in formulas, and its key in points of problems with several variables.
    center, radius : array and float, optional
        On a `Sphere`, a ball that contains the variable. Functions on a sphere are convex at most within a
        hemisphere, so proofs need it. Problems add it as a constraint.

    Attributes
    ----------
    manifold : Manifold
        The manifold.
    name : str
        The name.
    value : array or None
        The solution, after a problem with this variable is solved. Set it to choose the start of a solve.

    See Also
    --------
    Parameter : A constant that may change between solves.
    Constant : Fixed numbers.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(3), name="X")
    >>> X.shape, X.symmetric
    ((3, 3), True)
    """

    def __init__(
        self,
        manifold: Manifold | Any,
        name: str = "",
        *,
        center: Any = None,
        radius: float | None = None,
    ) -> None:
        self.manifold = as_manifold(manifold)
        point = self.manifold.random_point(np.random.default_rng(0))
        if not isinstance(point, np.ndarray):
            raise TypeError(f"A variable on {self.manifold} has several parts; use one variable per part.")
        if np.iscomplexobj(point):
            raise TypeError(f"Points of {self.manifold} are complex, which expressions do not support.")
        super().__init__(
            point.shape, isinstance(self.manifold, (SPD, Symmetric)), name or f"x{next(_numbers)}"
        )
        self.ball = self._check_ball(center, radius)

    def _check_ball(self, center: Any, radius: Any) -> tuple[Array, float] | None:
        if center is None and radius is None:
            return None
        if not isinstance(self.manifold, Sphere):
            raise ValueError("`center` and `radius` are for variables on a `Sphere`; use a constraint.")
        if center is None or radius is None or not 0.0 < float(radius) < 0.5 * np.pi:
            raise ValueError("Give both `center` and `radius`, with a radius between 0 and π/2.")
        return self.manifold.check_point(center), float(radius)

    @property
    def value(self) -> Any:
        """The value; set it to choose the start of a solve."""
        return self.held

    @value.setter
    def value(self, value: Any) -> None:
        self.held = None if value is None else self.manifold.check_point(value)

    def _derive(self, geometry: Geometry) -> Facts:
        manifold = self.manifold
        sign = Sign.POSITIVE if isinstance(manifold, (SPD, PositiveOrthant, Simplex)) else Sign.UNKNOWN
        entries = Sign.UNKNOWN if self.symmetric else sign
        affine = own = Step(Curvature.AFFINE, "a variable")
        flat = isinstance(manifold, _FLAT)
        if flat or (geometry == "euclidean" and isinstance(manifold, _CONVEX_SETS)):
            plain, log = between_means(affine, Step(), sign)
            kept = self if flat else None
            return Facts(
                sign, entries, plain, log, third=0.0, isometry=kept, own=own, is_matrix=self.symmetric
            )
        if isinstance(manifold, (SPD, PositiveOrthant)):
            reason = "a variable, whose geodesics are geometric means"
            plain, log = between_means(Step(), Step(Curvature.AFFINE, reason, needs="log"), sign)
            return Facts(
                sign, entries, plain, log, rate=1.0, isometry=self, own=own, is_matrix=self.symmetric
            )
        reason = f"the entries of a point of {manifold} are not convex along its geodesics"
        return Facts(sign, entries, Step(reason=reason), Step(reason=reason), isometry=self, own=own)


class Constant(Leaf):
    """An array of numbers, with an optional name.

    Parameters
    ----------
    value : array or number
        The numbers.
    name : str, optional
        Its name in formulas.

    See Also
    --------
    Parameter : Numbers that may change between solves.
    Variable : An unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> A = gm.Constant(np.eye(2), name="A")
    >>> print(gm.log_det(A + gm.Constant(np.eye(2))))
    log_det(A + [2x2])
    """

    def __init__(self, value: Any, name: str = "") -> None:
        array = _finite(value, name or "A constant")
        symmetric = array.ndim == 2 and _is_symmetric(array)
        if symmetric:
            array = 0.5 * (array + array.T)
        super().__init__(array.shape, symmetric, name or _numbers_as_text(array))
        self.array = self.held = array

    @property
    def value(self) -> Array:
        """The numbers."""
        return self.array

    def _derive(self, geometry: Geometry) -> Facts:
        entries = _sign_of(self.array.min(initial=np.inf), self.array.max(initial=-np.inf), 0.0)
        sign = _loewner_sign(self.array) if self.symmetric else entries
        return _constant_facts(sign, entries, self.array, self.symmetric)


class Parameter(Leaf):
    """A constant that may change between solves; results can be differentiated with respect to it.

    A proof must hold for every value, so declare the sign if the proof needs it.

    Parameters
    ----------
    *shape : int
        Shape of the value; empty for a number.
    name : str, optional
        Its name in formulas.
    value : array, optional
        The initial value.
    nonneg, pos : bool
        Declare that all entries are nonnegative, or positive.
    PSD : bool
        Declare that the value is a symmetric positive semidefinite matrix.

    Attributes
    ----------
    value : array or None
        The current value. A value that contradicts a declaration raises an error.

    See Also
    --------
    Constant : Fixed numbers.
    Variable : An unknown.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> x, weight = gm.Variable(Euclidean(2), name="x"), gm.Parameter(name="w", nonneg=True, value=2.0)
    >>> (weight * gm.sum_squares(x)).is_convex()
    True
    """

    def __init__(
        self,
        *shape: int,
        name: str = "",
        value: Any = None,
        nonneg: bool = False,
        pos: bool = False,
        PSD: bool = False,
    ) -> None:
        if PSD and not (len(shape) == 2 and shape[0] == shape[1]):
            raise ValueError(f"A parameter with PSD=True must be a square matrix, got the shape {shape}.")
        super().__init__(tuple(shape), PSD, name or f"p{next(_numbers)}")
        self.nonneg, self.pos, self.PSD = nonneg, pos, PSD
        if value is not None:
            self.value = value

    @property
    def value(self) -> Any:
        """The current value."""
        return self.held

    @value.setter
    def value(self, value: Any) -> None:
        array = _finite(value, f"The parameter {self.name}")
        if array.shape != self.shape:
            raise ValueError(f"The parameter {self.name} has the shape {self.shape}, got {array.shape}.")
        if (self.nonneg and (array < 0.0).any()) or (self.pos and (array <= 0.0).any()):
            kind = "positive" if self.pos else "nonnegative"
            raise ValueError(f"The parameter {self.name} is declared {kind}, got {array.min():g}.")
        if self.PSD and not (_is_symmetric(array) and _loewner_sign(array).is_nonnegative):
            raise ValueError(f"The parameter {self.name} is declared positive semidefinite, but is not.")
        self.held = array

    def _derive(self, geometry: Geometry) -> Facts:
        entries = Sign.POSITIVE if self.pos else Sign.NONNEGATIVE if self.nonneg else Sign.UNKNOWN
        sign = Sign.NONNEGATIVE if self.PSD else entries
        return _constant_facts(sign, entries, None, self.symmetric)


@dataclass(frozen=True, eq=False)
class Constraint:
    """A comparison of two expressions: entry by entry, or of symmetric matrices in the Löwner order.

    Attributes
    ----------
    left, right : Expression
        Both sides.
    relation : {"<=", "==", "<<"}
        The kind of comparison; ``left << right`` means that ``right - left`` is positive semidefinite.

    See Also
    --------
    Problem : Takes a list of constraints.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> x = gm.Variable(PositiveOrthant(2), name="x")
    >>> print(1.0 <= x[0] * x[1])
    1 <= x[0] * x[1]
    """

    left: Expression
    right: Expression
    relation: Literal["<=", "==", "<<"]

    def __post_init__(self) -> None:
        sides = self.left, self.right
        matrices = self.left.symmetric, self.right.symmetric
        if self.relation == "<<" and matrices != (True, True):
            raise TypeError("`<<` and `>>` compare symmetric matrices; use `<=` for entries.")
        if self.relation == "<=" and any(side.symmetric and not isinstance(side, Constant) for side in sides):
            raise TypeError(
                "Compare symmetric matrices with `<<` or `>>` (the difference is positive semidefinite), or "
                "their entries one by one."
            )
        if self.left.shape != self.right.shape and () not in (self.left.shape, self.right.shape):
            raise ValueError(
                f"Both sides of a constraint need equal shapes, got {self.left.shape} and {self.right.shape}."
            )

    def __bool__(self) -> bool:
        raise TypeError(
            "A constraint has no truth value; write two constraints instead of a <= x <= b, and compare "
            "expressions for identity with `is`."
        )

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


def as_expression(value: Any) -> Expression:
    """Convert numbers and arrays to constants; return expressions unchanged."""
    return value if isinstance(value, Expression) else Constant(value)


def _constant_facts(sign: Sign, entries: Sign, numbers: Array | None, is_matrix: bool) -> Facts:
    step, rate = Step(Curvature.CONSTANT, "it has no variables"), None
    log = Step()
    if sign.is_nonnegative:
        log, rate = step, 0.0
    return Facts(sign, entries, step, log, rate, 0.0, numbers=numbers, own=step, is_matrix=is_matrix)


def on_convex_set(variable: Variable) -> bool:
    """Return whether the manifold of a variable is also a convex set."""
    return isinstance(variable.manifold, _CONVEX_SETS)


def _finite(value: Any, owner: str) -> Array:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{owner} must be an array of numbers, got {type(value).__name__}.") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{owner} must be finite, got NaN or infinite entries; replace them.")
    return array


def _is_symmetric(a: Array) -> bool:
    if a.shape[0] != a.shape[1]:
        return False
    return bool(np.abs(a - a.T).max(initial=0.0) <= 8.0 * a.shape[0] * _EPS * np.abs(a).max(initial=0.0))


def _loewner_sign(a: Array) -> Sign:
    """Return the sign of the eigenvalues of a symmetric matrix, up to their rounding errors."""
    eigenvalues = np.linalg.eigvalsh(a)
    size = float(np.abs(eigenvalues).max(initial=0.0))
    return _sign_of(eigenvalues[0], eigenvalues[-1], 8.0 * len(a) * _EPS * size)


def _sign_of(least: float, most: float, error: float) -> Sign:
    if least > error:
        return Sign.POSITIVE
    if most < -error:
        return Sign.NEGATIVE
    return Sign.NONNEGATIVE if least >= -error else Sign.NONPOSITIVE if most <= error else Sign.UNKNOWN


def _numbers_as_text(array: Array) -> str:
    return f"{float(array):g}" if array.ndim == 0 else f"[{'x'.join(map(str, array.shape))}]"
