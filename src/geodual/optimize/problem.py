"""Problems min f(x) + Σ gᵢ(cᵢ(x)) over a manifold; constraints and bounds are such terms, too.

Users write a `Problem`. Methods see a `ConstraintVector`: all constraints as one vector, and points with
their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices
from geodual.manifolds import Frame, Manifold, as_manifold
from geodual.manifolds.frame import Point, Vector

from .automatic import DataDerivatives, JoinedConstraint, Joint, PreparedFunctions
from .bounds import Bounds
from .constraint import INSTALL_JAX, Constraint, as_cost, as_vector, blocks_of, check_function, parts_of
from .functions import LinearMap, NonPositive, Zero
from .term import PlacedFunction, Term, check_terms, is_constraint, term_block
from .trees import added, as_data, mapped, pairing, same_structure, scaled, total


class Problem:
    """A problem: minimize f(x) + Σ gᵢ(cᵢ(x)) over a manifold, with constraints and bounds.

    Each gᵢ is a function with a proximal operator, such as a norm or a cone, and each cᵢ is smooth. The most
    common terms have short forms: h(x) ≤ 0, g(x) = 0 and lower ≤ x ≤ upper.

    All derivatives are Euclidean and have the structure of a point; the manifold converts them. Check
    handwritten derivatives with `check_gradient`, or use `Problem.from_jax` or `Problem.from_torch` for
    automatic ones.

    Parameters
    ----------
    manifold : Manifold
        The manifold of x; pymanopt manifolds are adapted.
    cost : callable
        ``cost(x)`` returns the number f(x).
    gradient : callable
        ``gradient(x)`` returns the Euclidean gradient of f.
    hessian_product : callable, optional
        ``hessian_product(x, u)`` returns ∇²f(x)[u]. Without it, finite differences of gradients are used.
    inequalities : callable, Constraint or sequence of them, optional
        h: each block returns a vector (or a number) whose entries must all be ≤ 0.
    jacobian_product : callable or sequence of callables, optional
        For inequalities given as plain functions: ``jacobian_product(x, w)`` returns Σₖ wₖ ∇hₖ(x), where w
        has one weight per entry of h.
    equalities : callable, Constraint or sequence of them, optional
        g: all entries must be 0.
    equality_jacobian_product : callable or sequence of callables, optional
        For equalities given as plain functions: ``equality_jacobian_product(x, w)`` returns Σⱼ wⱼ ∇gⱼ(x).
    lower, upper : float or array, optional
        Bounds on the entries of x: a number for all entries, or numbers with the structure of a point. On a
        product, pass a tuple with one part per factor, and None for a part without bounds. Use -inf and inf
        for an entry without bounds. Entries with equal bounds become equalities. The start need not satisfy
        the bounds, and they need no derivatives. The result has their multipliers.
    terms : sequence of Term, optional
        Terms gᵢ(cᵢ(x)) of the cost: ``terms=[Term(L1(0.1))]`` makes entries of x zero.
    geodesically_convex : bool
        Declare that cost and inequalities are convex along geodesics, and that equalities and maps of terms
        are affine. The result then bounds how much less other points can cost, if the declaration is true:
        `minimize` checks it on a few random geodesics, which can refute but not prove it. On a Hadamard
        manifold, the declaration refers to the whole manifold. On others, such as a sphere, only constants
        are convex everywhere: there it refers to a geodesically convex part that contains all points with
        h(x) ≤ 0.

    Attributes
    ----------
    manifold : Manifold
        The manifold.
    inequalities, equalities : tuple of Constraint
        One block per given function or block.
    terms : tuple of Term
        The terms.
    bounds : object or None
        The bounds `lower` and `upper` with the structure of a point; None if there are none.
    blocks : tuple of Constraint
        The blocks that solvers evaluate: inequalities, bounds, equalities, entries with equal bounds, and the
        maps of terms. Functions with automatic derivatives are joined into one block of inequalities and one
        of equalities. Terms that are inequalities or equalities are grouped with these.
    n_inequality_blocks, n_equality_blocks : int
        Number of `blocks` that are inequalities and equalities.
    term_blocks : tuple of int
        The position of each term in `blocks`.
    data : any
        The data of the functions, from `from_jax`, `from_torch` or `from_family`; None otherwise.
    automatic : bool
        Whether the derivatives are automatic.
    joint : object or None
        Evaluates cost and automatic constraints together; None if they are evaluated separately.
    by_data : object or None
        Derivatives with respect to the data; None if they are not automatic.

    See Also
    --------
    minimize : Solves it.
    check_gradient : Checks its derivatives.
    check_convexity : Searches for geodesics that refute convexity.
    Constraint : A block of constraints with more derivatives.
    Term : A function with a proximal operator, applied to a smooth map.
    geodual.model.Problem : Problems as formulas, with derivatives and proofs of convexity.

    Examples
    --------
    The matrix of determinant 1 that is closest to A in the Frobenius norm:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import Problem, minimize
    >>> A = np.diag([4.0, 1.0])
    >>> problem = Problem(
    ...     SPD(2),
    ...     cost=lambda x: 0.5 * np.sum((x - A) ** 2),
    ...     gradient=lambda x: x - A,
    ...     equalities=lambda x: np.linalg.slogdet(x)[1],
    ...     equality_jacobian_product=lambda x, w: w[0] * np.linalg.inv(x),
    ... )
    >>> result = minimize(problem, np.eye(2))
    >>> result.success, round(float(np.linalg.det(result.x)), 6)
    (True, 1.0)

    The unit vector with nonnegative entries that is closest to a given one:

    >>> from geodual.manifolds import Sphere
    >>> a = np.array([3.0, -1.0, 4.0])
    >>> problem = Problem(Sphere(3), lambda x: -a @ x, gradient=lambda x: -a, lower=0.0)
    >>> result = minimize(problem, np.full(3, 3**-0.5))
    >>> np.round(np.abs(result.x), 6).tolist(), np.round(result.lower_multipliers, 6).tolist()
    ([0.6, 0.0, 0.8], [0.0, 1.0, 0.0])
    """

    def __init__(
        self,
        manifold: Manifold | Any,
        cost: Callable[[Point], float],
        gradient: Callable[[Point], Vector] | None = None,
        hessian_product: Callable[[Point, Vector], Vector] | None = None,
        *,
        inequalities: Any = None,
        jacobian_product: Any = None,
        equalities: Any = None,
        equality_jacobian_product: Any = None,
        lower: Any = None,
        upper: Any = None,
        terms: Sequence[Term] | None = None,
        geodesically_convex: bool = False,
    ) -> None:
        if gradient is None:
            raise ValueError(
                f"`gradient` is missing: pass the Euclidean gradient of the cost, or {INSTALL_JAX}."
            )
        check_function(cost, "cost")
        check_function(gradient, "gradient")
        self.manifold = as_manifold(manifold)
        self.cost = cost
        self.gradient = gradient
        self.hessian_product = hessian_product
        self.geodesically_convex = bool(geodesically_convex)
        h = blocks_of(inequalities, jacobian_product, "inequalities", "jacobian_product")
        g = blocks_of(equalities, equality_jacobian_product, "equalities", "equality_jacobian_product")
        self.inequalities, self.equalities = parts_of(h), parts_of(g)
        self.terms = check_terms(terms)
        own = [term_block(term, self.manifold, k) for k, term in enumerate(self.terms)]
        h += tuple(b for b, term in zip(own, self.terms, strict=True) if type(term.function) is NonPositive)
        g += tuple(b for b, term in zip(own, self.terms, strict=True) if type(term.function) is Zero)
        rest = tuple(b for b, term in zip(own, self.terms, strict=True) if not is_constraint(term))
        self.bounds = None if lower is None and upper is None else Bounds(self.manifold, lower, upper)
        if self.bounds is not None:
            h, g = h + self.bounds.inequalities, g + self.bounds.equalities
        self.blocks, self.n_inequality_blocks, self.n_equality_blocks = h + g + rest, len(h), len(g)
        self.term_blocks = tuple(_position(block, self.blocks) for block in own)
        self.automatic = False
        self.data: Any = None
        self.joint: Joint | None = None
        self.by_data: DataDerivatives | None = None
        self._bind: Callable[[Any], Self]

    @classmethod
    def from_jax(
        cls,
        manifold: Manifold | Any,
        cost: Callable[..., Any],
        *,
        inequalities: Any = None,
        equalities: Any = None,
        lower: Any = None,
        upper: Any = None,
        terms: Sequence[Term] | None = None,
        geodesically_convex: bool = False,
        data: Any = None,
    ) -> Self:
        """Build a problem from functions written with `jax.numpy`; all derivatives are automatic.

        Functions run in double precision. Compilation takes most of the time of a small solve, so:

        - A list of functions is compiled as one vector. One function that returns a vector is faster still.
        - Pass numbers that change as `data`: `with_data` replaces them without compiling again. Other numbers
          that a function uses are compiled into it.
        - Problems built from the same function objects share compiled code, unless such a number has changed.
          The code is cached as long as the functions exist; a lambda in a loop is a new object each time.

        Under automatic differentiation, functions of eigenvalues, such as the distance between SPD matrices,
        have NaN second derivatives at repeated eigenvalues; for the distance, use
        `geodual.optimize.autodiff.spd_half_squared_distance`.

        Parameters
        ----------
        manifold : Manifold
            The manifold of x. On a product, functions receive x as a tuple.
        cost : callable
            ``cost(x)``, or ``cost(x, data)`` if there are data, returns a scalar.
        inequalities, equalities : callable or sequence of callables, optional
            Each takes the same arguments as `cost` and returns a vector (or a scalar).
        terms : sequence of Term, optional
            Terms gᵢ(cᵢ(x)); each map takes the same arguments as `cost` and returns an array.
        lower, upper, geodesically_convex : any, optional
            Bounds and a declaration of convexity; see `Problem`.
        data : any, optional
            An array or number, or a tuple or dictionary of them. It is copied and passed to all functions.

        Returns
        -------
        Problem
            The problem with all first and second derivatives.

        Examples
        --------
        The smallest x that satisfies A x ≥ b, for two vectors b:

        >>> import numpy as np
        >>> from geodual.manifolds import Euclidean
        >>> from geodual.optimize import Problem, minimize
        >>> A = np.array([[1.0, 1.0]])
        >>> problem = Problem.from_jax(Euclidean(2), lambda x, data: x @ x,
        ...                            inequalities=lambda x, data: data["b"] - data["A"] @ x,
        ...                            data={"A": A, "b": np.array([2.0])})
        >>> np.round(minimize(problem, np.zeros(2)).x, 6).tolist()
        [1.0, 1.0]
        >>> other = problem.with_data({"A": A, "b": np.array([6.0])})  # compiles nothing
        >>> np.round(minimize(other, np.zeros(2)).x, 6).tolist()
        [3.0, 3.0]
        """
        try:  # jax is an extra, and slow to import
            from .autodiff import JAX
        except ImportError as error:
            raise ImportError("Problem.from_jax needs jax: pip install 'geodual[jax]'.") from error
        functions = PreparedFunctions(JAX, cost, inequalities, equalities, check_terms(terms))
        return cls._automatic(
            functions, manifold, data, lower=lower, upper=upper, geodesically_convex=geodesically_convex
        )

    @classmethod
    def from_torch(
        cls,
        manifold: Manifold | Any,
        cost: Callable[..., Any],
        *,
        inequalities: Any = None,
        equalities: Any = None,
        lower: Any = None,
        upper: Any = None,
        terms: Sequence[Term] | None = None,
        geodesically_convex: bool = False,
        data: Any = None,
    ) -> Self:
        """Build a problem from functions written with torch; all derivatives are automatic.

        Functions run in double precision on the CPU. Create tensors of type ``torch.float64``, or pass them
        as `data`, which converts them. `torch.autograd` must be able to differentiate all operations twice.

        Parameters
        ----------
        manifold : Manifold
            The manifold of x. On a product, functions receive x as a tuple.
        cost : callable
            ``cost(x)``, or ``cost(x, data)`` if there are data, returns a scalar.
        inequalities, equalities : callable or sequence of callables, optional
            Each takes the same arguments as `cost` and returns a vector (or a scalar).
        terms : sequence of Term, optional
            Terms gᵢ(cᵢ(x)); each map takes the same arguments as `cost` and returns an array.
        lower, upper, geodesically_convex : any, optional
            Bounds and a declaration of convexity; see `Problem`.
        data : any, optional
            An array, tensor or number, or a tuple or dictionary of them. It is copied and passed to all
            functions as tensors.

        Returns
        -------
        Problem
            The problem with all first and second derivatives.
        """
        from .torch_autodiff import torch_engine  # slow to import

        functions = PreparedFunctions(torch_engine(), cost, inequalities, equalities, check_terms(terms))
        return cls._automatic(
            functions, manifold, data, lower=lower, upper=upper, geodesically_convex=geodesically_convex
        )

    @classmethod
    def from_family(cls, build: Callable[[Any], Problem], data: Any) -> Problem:
        """Build a problem from data by a function, so that `with_data` can replace the data.

        With it, `Result.derivative`, `jvp` and `vjp` work for handwritten problems, by finite differences of
        gradients, constraints and the prox of terms with respect to the data.

        Parameters
        ----------
        build : callable
            ``build(data)`` returns a `Problem`. Its manifold and number of constraints must not depend on the
            data; everything else may, including bounds and functions of terms.
        data : any
            An array or number, or a tuple or dictionary of them.

        Returns
        -------
        Problem
            ``build(data)`` with its data.

        Examples
        --------
        How the shrunken mean of (3, 0.5) changes with the weight of the l1 norm:

        >>> import numpy as np
        >>> from geodual.manifolds import Euclidean
        >>> from geodual.optimize import L1, Problem, Term, minimize
        >>> a = np.array([3.0, 0.5])
        >>> def build(weight):
        ...     return Problem(Euclidean(2), lambda x: 0.5 * np.sum((x - a) ** 2), gradient=lambda x: x - a,
        ...                    terms=[Term(L1(weight))])
        >>> result = minimize(Problem.from_family(build, 1.0), np.zeros(2))
        >>> (np.round(result.derivative().x, 6) + 0.0).tolist()
        [-1.0, 0.0]
        """
        data = as_data(data)
        # Pass numbers as numbers: functions of terms, for example, do not accept arrays of dimension 0.
        problem = copy(build(mapped(lambda leaf: leaf if leaf.ndim else leaf.item(), data)))
        if not isinstance(problem, Problem):
            raise TypeError(f"`build` must return a `Problem`, got {type(problem).__name__}.")
        problem.data, problem.by_data = data, None
        problem._bind = partial(cls.from_family, build)
        return problem

    def with_derivatives_by_data(
        self, data: Any, by_data: DataDerivatives, build: Callable[[Any], Self]
    ) -> Self:
        """Return the problem with data and the derivatives with respect to them, for modeling languages.

        Parameters
        ----------
        data : any
            An array or number, or a tuple or dictionary of them.
        by_data : object
            Its `tangent` and `cotangent` are derivatives with respect to the data; blocks of constraints are
            identified by their attribute `group`.
        build : callable
            ``build(data)`` returns the problem with other data.

        Returns
        -------
        Problem
            A new problem; this one does not change.
        """
        problem = copy(self)
        problem.data, problem.by_data, problem._bind = as_data(data), by_data, build
        return problem

    def with_data(self, data: Any) -> Self:
        """Return the problem with other data, for `from_jax`, `from_torch` and `from_family`.

        Compiled code is reused: if the shapes and types of all arrays are the same, nothing is compiled.

        Parameters
        ----------
        data : any
            The new data, with the structure of the old ones; shapes may differ.

        Returns
        -------
        Problem
            A new problem; this one does not change.
        """
        if self.data is None:
            raise ValueError(
                "This problem has no data; build it with Problem.from_jax(..., data=...) or "
                "Problem.from_family(build, data)."
            )
        if not same_structure(data, self.data):
            raise ValueError(
                "`data` must have the structure of the original data of the problem: the same tuples "
                "and the same keys."
            )
        return self._bind(data)

    @classmethod
    def _automatic(cls, functions: PreparedFunctions, manifold: Any, data: Any, **settings: Any) -> Self:
        data = as_data(data)
        arguments = functions.bound(data)
        joint, by_data = arguments.pop("joint"), arguments.pop("by_data")
        problem = cls(manifold, **arguments, **settings)
        problem.automatic, problem.data, problem.joint, problem.by_data = True, data, joint, by_data
        problem._bind = partial(cls._automatic, functions, manifold, **settings)
        return problem


def _position(block: Constraint, blocks: tuple[Constraint, ...]) -> int:
    return next(k for k, other in enumerate(blocks) if other is block)


@dataclass(frozen=True, slots=True)
class EvaluatedPoint:
    """A point with its cost and constraints, so that nothing is computed twice.

    Your own methods get one as their start, create others by ``constraints.evaluate(x)``, and yield them in
    an `Update`.

    Attributes
    ----------
    frame : Frame
        The frame at the point.
    cost : float
        f(x), without terms.
    constraints : array of shape (m,)
        c(x): inequalities h(x), equalities g(x), and the maps of terms.
    x : Point
        The point.

    See Also
    --------
    ConstraintVector : Its `evaluate` returns evaluated points.
    Update : What methods yield.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import ConstraintVector, Problem
    >>> problem = Problem(SPD(2), lambda x: -np.linalg.slogdet(x)[1], gradient=lambda x: -np.linalg.inv(x),
    ...                   inequalities=lambda x: np.trace(x) - 6.0,
    ...                   jacobian_product=lambda x, w: w[0] * np.eye(2))
    >>> point = ConstraintVector(problem, np.eye(2)).evaluate(np.diag([1.0, 3.0]))
    >>> round(point.cost, 6), point.constraints.tolist()
    (-1.098612, [-2.0])
    """

    frame: Frame
    cost: float
    constraints: Array

    @property
    def x(self) -> Point:
        """The point."""
        return self.frame.point


class Weighted(NamedTuple):
    """Weights of all constraints, grouped for `ConstraintVector` by how their blocks are evaluated."""

    together: list[Array]
    apart: list[tuple[Constraint, Array]]


class ConstraintVector:
    """All constraints and the maps of all terms as one vector c(x), as methods see them.

    Each part of the vector has a function with a proximal operator: first that of {z ≤ 0} for inequalities,
    then that of {0} for equalities, then those of the terms.

    Parameters
    ----------
    problem : Problem
        The problem.
    x : Point
        Any point; the constraints are evaluated there once to count them.

    Attributes
    ----------
    problem : Problem
        The problem.
    size : int
        Number m of entries.
    n_inequalities, n_equalities : int
        Number of inequalities, which come first, and of equalities, which come next.
    is_equality : array of shape (m,)
        Whether each entry is an equality.
    terms : tuple
        The functions of all terms, with the parts on which they act.
    functions : tuple
        The functions other than inequalities and equalities.
    tail : slice
        Positions of the maps of these terms.
    is_separable : bool
        Whether all functions act on each entry separately.

    See Also
    --------
    Lagrangian : Combines cost and constraints into one function.
    EvaluatedPoint : What `evaluate` returns.
    Problem : The problem as users write it.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import ConstraintVector, Problem
    >>> problem = Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x,
    ...                   inequalities=lambda x: 1.0 - x, jacobian_product=lambda x, w: -w,
    ...                   equalities=lambda x: x[0] - x[1],
    ...                   equality_jacobian_product=lambda x, w: w[0] * np.array([1.0, -1.0]))
    >>> constraints = ConstraintVector(problem, np.zeros(2))
    >>> constraints.size, constraints.is_equality.tolist()
    (3, [False, False, True])
    >>> constraints.value(np.array([3.0, 0.0])).tolist()
    [-2.0, 1.0, 3.0]
    >>> constraints.nonnegative(np.array([-1.0, 2.0, -3.0])).tolist()
    [0.0, 2.0, -3.0]
    """

    def __init__(self, problem: Problem, x: Point) -> None:
        self.problem = problem
        sizes = [len(block(x)) for block in problem.blocks]
        ends = np.cumsum(sizes, dtype=int)
        self._slices = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        self.size = int(sum(sizes))
        n_first = problem.n_inequality_blocks + problem.n_equality_blocks
        self.n_inequalities = int(sum(sizes[: problem.n_inequality_blocks]))
        self.n_equalities = int(sum(sizes[problem.n_inequality_blocks : n_first]))
        self.tail = slice(self.n_inequalities + self.n_equalities, self.size)
        entries = np.arange(self.size)
        self.is_equality = (entries >= self.n_inequalities) & (entries < self.tail.start)
        self._only_inequalities = self.n_inequalities == self.size
        self._zeros = slice(self.n_inequalities, self.tail.start)
        self.terms = tuple(
            PlacedFunction(term.function, self._slices[k], problem.blocks[k].shape(x))
            for term, k in zip(problem.terms, problem.term_blocks, strict=True)
        )
        self.functions = tuple(term for term in self.terms if term.part.start >= self.tail.start)
        self.is_separable = all(function.is_separable for function in self.functions)
        # Blocks evaluated together with the cost, in the order of `joint`, and other blocks.
        joined = [(b.group, k) for k, b in enumerate(problem.blocks) if isinstance(b, JoinedConstraint)]
        self._together = [k for group, k in sorted(joined) if group is not None and problem.joint]
        self._apart = [k for k in range(len(sizes)) if k not in self._together]
        # Gradients of blocks without `directional`, at the last point where they were needed.
        self._rows_at: Point = None
        self._rows: dict[int, Sequence[Vector]] = {}

    @property
    def bounded_entries(self) -> Indices:
        """Position in x of the entry that each constraint bounds; −1 if it is not a bound."""
        bounds, entries = self.problem.bounds, np.full(self.size, -1)
        if bounds:
            entries[: self.tail.start] = bounds.positions(self.n_inequalities, self.n_equalities)
        return entries

    def evaluate(self, x: Point) -> EvaluatedPoint:
        """Return `x` with its frame, cost and constraints."""
        problem, frame = self.problem, self.problem.manifold.frame(x)
        if problem.joint is None:
            return EvaluatedPoint(frame, as_cost(problem.cost(x)), self.value(x))
        cost, vectors = problem.joint.values(x)
        return EvaluatedPoint(frame, as_cost(cost), self._value(x, vectors))

    def value(self, x: Point) -> Array:
        """Return c(x)."""
        return self._value(
            x, self.problem.joint.values(x)[1] if self._together and self.problem.joint else ()
        )

    def _value(self, x: Point, vectors: Sequence[Array]) -> Array:
        """Return c(x), given the vectors of the blocks evaluated together."""
        together = dict(zip(self._together, vectors, strict=True))
        blocks = enumerate(self.problem.blocks)
        values = _joined([as_vector(together[k]) if k in together else block(x) for k, block in blocks])
        if len(values) != self.size:
            raise ValueError(
                f"The constraints returned {len(values)} numbers, but {self.size} at the start; "
                "return vectors of the same length everywhere."
            )
        return values

    def nonnegative(self, y: Array) -> Array:
        """Return the multipliers with negative ones of inequalities replaced by 0."""
        if self._only_inequalities:
            return np.maximum(y, 0.0)
        cut = np.array(y)
        np.maximum(y[: self.n_inequalities], 0.0, out=cut[: self.n_inequalities])
        return cut

    def prox(self, z: Array, t: Array | float) -> Array:
        """Return the point p that minimizes t g(p) + ½ ‖p − z‖² for the functions g of all parts.

        For t = 0, it is the nearest point at which all functions are finite.
        """
        p = np.minimum(z, 0.0)
        p[self._zeros] = 0.0
        for function in self.functions:
            p[function.part] = function.prox(z, t)
        return p

    def prox_derivative(self, z: Array, t: Array | float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        free = np.asarray(z <= 0.0, dtype=float)
        free[self._zeros] = 0.0
        derivatives = [(function.part, function.prox_derivative(z, t)) for function in self.functions]

        def derivative(u: Array) -> Array:
            image = free * u
            for part, along in derivatives:
                image[part] = along(u)
            return image

        return derivative

    def with_fixed_multipliers(self, w: Array, x: Point) -> ConstraintVector:
        """Keep only the terms, with f + ⟨w, c⟩ over inequalities and equalities as the cost."""
        problem, n = copy(self.problem), self.problem.n_inequality_blocks + self.problem.n_equality_blocks
        head = np.where(np.arange(self.size) < self.tail.start, w, 0.0)
        weighted = self.weighted(head)
        problem.joint = None
        problem.cost = lambda x: as_cost(self.problem.cost(x)) + float(head @ self.value(x))
        problem.gradient = lambda x: self.lagrangian_gradient(x, 1.0, head)
        if self.problem.hessian_product is None or any(b.hessian_product is None for b, _ in weighted.apart):
            problem.hessian_product = None
        else:
            problem.hessian_product = lambda x, u: self.lagrangian_hessian(x, 1.0, weighted)(u)
        problem.terms = tuple(term for term in problem.terms if not is_constraint(term))
        problem.blocks, problem.bounds = problem.blocks[n:], None
        problem.n_inequality_blocks = problem.n_equality_blocks = 0
        problem.term_blocks = tuple(range(len(problem.blocks)))
        return ConstraintVector(problem, x)

    def term_cost(self, p: Array) -> float:
        """Return the sum of g(p) over all terms; 0 if all are constraints that hold at p."""
        return sum(function.value(p) for function in self.functions)

    def total_cost(self, point: EvaluatedPoint) -> float:
        """Return the cost with all terms, taken at the nearest values of their maps where they are finite."""
        if not self.functions:
            return point.cost
        return point.cost + self.term_cost(self.prox(point.constraints, 0.0))

    def derivative(self, x: Point, u: Vector) -> Array:
        """Return Dc(x)[u]; gradients formed for lack of `directional` are cached while `x` is the same."""
        return _joined([self._block_derivative(k, x, u) for k in range(len(self._slices))])

    def _block_derivative(self, k: int, x: Point, u: Vector) -> Array:
        block = self.problem.blocks[k]
        if block.directional is not None:
            return block.derivative(x, u)
        # Compare identity, not entries: conjugate gradients call this many times with the same object.
        if self._rows_at is not x:
            self._rows_at, self._rows = x, {}
        if k not in self._rows:
            size = self._slices[k].stop - self._slices[k].start
            self._rows[k] = block.rows(x, np.arange(size))
        return np.array([pairing(row, u) for row in self._rows[k]])

    def weighted(self, w: Array) -> Weighted:
        """Return the weights of the blocks evaluated together, and of other blocks with nonzero weights."""
        parts = self.split(w)
        # In numpy, counting is faster than `any`.
        blocks = [(self.problem.blocks[k], parts[k]) for k in self._apart if np.count_nonzero(parts[k])]
        return Weighted([parts[k] for k in self._together], blocks)

    def lagrangian_gradient(self, x: Point, cost_weight: float, w: Array) -> Vector:
        """Return the Euclidean gradient of a f + ⟨w, c⟩."""
        problem, weighted = self.problem, self.weighted(w)
        terms = [block.jacobian_product(x, part) for block, part in weighted.apart]
        if problem.joint is not None:
            terms.append(problem.joint.gradient(x, cost_weight, weighted.together))
        elif cost_weight or not terms:  # if no term is left, 0 · ∇f is a zero with the structure of a point
            terms.append(scaled(cost_weight, problem.gradient(x)))
        return total(terms)

    def lagrangian_hessian(
        self, x: Point, cost_weight: float, weighted: Weighted, stiff: list[Array] | None = None
    ) -> Callable[[Vector], Vector | None]:
        """Return u ↦ the Euclidean Hessian of a f + ⟨w, c⟩ times u, for functions with second derivatives.

        The product is None if there are none. `weighted` is the result of ``weighted(w)``. With `stiff`, the
        result of ``split(s)``, Jᵀ diag(s) J u is added, where the rows of J are the gradients of the
        constraints. What does not depend on u is computed once for many products.
        """
        problem, joint, weight = self.problem, self.problem.joint, 1.0
        products: list[Callable[[Vector], Vector]] = []
        if joint is not None:
            given = self.split(np.zeros(self.size)) if stiff is None else stiff
            own = [given[k] for k in self._together]
            products.append(lambda u: joint.hessian(x, cost_weight, weighted.together, own, u)[0])
        elif cost_weight and problem.hessian_product is not None:
            products.append(partial(problem.hessian_product, x))
            weight = cost_weight
        products += [
            partial(b.hessian_product, x, part) for b, part in weighted.apart if b.hessian_product is not None
        ]
        if stiff is not None:
            active = [k for k in self._apart if np.count_nonzero(stiff[k])]
            products += [self._stiff_product(k, x, stiff[k]) for k in active]
        return partial(_sum_of, weight, products)

    def _stiff_product(self, k: int, x: Point, stiffness: Array) -> Callable[[Vector], Vector]:
        """Return u ↦ Jᵀ diag(s) J u, where J belongs to one block."""
        block = self.problem.blocks[k]
        return lambda u: block.jacobian_product(x, stiffness * self._block_derivative(k, x, u))

    def gradient_without_hessian(self, x: Point, cost_weight: float, weighted: Weighted) -> Vector | None:
        """Return the Euclidean gradient of all parts without second derivatives; None if there are none."""
        terms = [b.jacobian_product(x, part) for b, part in weighted.apart if b.hessian_product is None]
        if cost_weight and self.problem.hessian_product is None:
            terms.append(scaled(cost_weight, self.problem.gradient(x)))
        return total(terms) if terms else None

    def adjoint(self, x: Point, w: Array) -> list[Vector]:
        """Return terms whose sum is Σₖ wₖ ∇cₖ(x)."""
        return [block.jacobian_product(x, part) for block, part in self._parts(w)]

    def gradients(self, x: Point, indices: NDArray[np.intp]) -> list[Vector]:
        """Return ∇cₖ(x) for k in `indices`, given in increasing order."""
        rows: list[Vector] = []
        for block, part in zip(self.problem.blocks, self._slices, strict=True):
            within = indices[(indices >= part.start) & (indices < part.stop)] - part.start
            rows.extend(block.rows(x, within) if within.size else ())
        return rows

    def split(self, values: Array) -> list[Array]:
        """Return the parts of a vector that belong to each block."""
        return [values[part] for part in self._slices]

    def _parts(self, w: Array) -> list[tuple[Constraint, Array]]:
        return [(block, w[part]) for block, part in zip(self.problem.blocks, self._slices, strict=True)]


def _joined(parts: list[Array]) -> Array:
    if len(parts) == 1:  # the common case, and this is called at every trial point
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0)


def _sum_of(weight: float, products: list[Callable[[Vector], Vector]], u: Vector) -> Vector | None:
    """Return the sum of all products with `u`, the first times a weight, in new memory."""
    if not products:
        return None
    result = scaled(weight, products[0](u))
    for product in products[1:]:  # one by one: a function may reuse the memory of its last result
        result = added(result, product(u))
    return result
